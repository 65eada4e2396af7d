"""The translate command as a person calls it."""

import io
import sys

import pytest

from pipeline.__main__ import main
from pipeline.commands.models import find_model


@pytest.fixture
def call(monkeypatch, capfdbinary):
    """Run it with bytes on standard input; gives exit code, lines on stdout, text on stderr."""

    def run(*arguments, given=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(["translate", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return code, out.decode().split("\n")[:-1], err.decode()

    return run


@pytest.fixture
def model(toy_model_folder):
    return toy_model_folder


LINES = ["the red fox", "", "a dog", " ", "x", "big house and small fox", "big dog"] * 5


def test_lines_in_order_blank_for_blank(call, model):
    code, lines, err = call(model, given="\n".join(LINES).encode())
    assert (code, err) == (0, "")
    assert len(lines) == len(LINES)
    for line, source in zip(lines, LINES, strict=True):
        assert bool(source.strip()) >= bool(line)
    assert lines[:7] == lines[7:14]


def test_from_a_file_and_several_processes(call, model, tmp_path):
    (tmp_path / "text").write_text("\n".join(LINES))
    once = call(model, "--input", tmp_path / "text")[1]
    assert once == call(model, "--input", tmp_path / "text", "--processes", "2")[1]


def test_nbest(call, model):
    code, lines, _ = call(model, "--nbest", "2", "--beam-size", "4", given=b"the fox\n\na dog\n")
    assert code == 0
    rows = [line.split("\t") for line in lines]
    assert [row[0] for row in rows] == ["1", "1", "2", "3", "3"]
    assert float(rows[0][1]) >= float(rows[1][1])
    assert rows[2] == ["2", "0.0000", ""]


def test_invalid_utf8_is_said_and_keeps_its_line(call, model):
    code, lines, err = call(model, given=b"the fox\n\xff\xfe dog\na\rb\n")
    assert (code, len(lines)) == (0, 3)
    assert "line 2" in err


def test_nothing_in_nothing_out(call, model):
    assert call(model) == (0, [], "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "no model folder and no run"),
        (["MODEL", "--languages", "en-fr"], "en-de"),
        (["MODEL", "--beam-size", "0"], "--beam-size must be at least 1: 0"),
        (["MODEL", "--nbest", "0"], "--nbest must be at least 1: 0"),
        (["MODEL", "--nbest", "5", "--beam-size", "2"], "--nbest must be at most --beam-size 2: 5"),
        (["MODEL", "--length-penalty", "nan"], "--length-penalty must be at least 0: nan"),
        (["MODEL", "--length-penalty", "-1"], "--length-penalty must be at least 0: -1"),
        (["MODEL", "--length-penalty", "inf"], "--length-penalty must be at least 0: inf"),
        (["MODEL", "--max-tokens", "0"], "--max-tokens must be at least 1: 0"),
        (["MODEL", "--device", "cuda:77"], "device"),
        (["MODEL", "--processes", "0"], "--processes"),
        (["MODEL", "--processes", "5000"], "--processes must be at most this machine's"),
        (["MODEL", "--input", "/no/such/file"], "translate: /no/such/file: No such file"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(call, model, arguments, words):
    arguments = [model if argument == "MODEL" else argument for argument in arguments]
    code, lines, err = call(*arguments, given=b"the fox\n")
    assert (code, lines) == (1, [])
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--beam-size", "four"], "--beam-size: invalid int value: 'four'"),
        (["--precision", "fp8"], "--precision: invalid choice: 'fp8' (choose from"),
        (["--beams", "4"], "unrecognized arguments: --beams 4"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_code_2(model, arguments, words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["translate", str(model), *arguments])
    assert caught.value.code == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_a_run_is_found_by_its_name(tmp_path):
    for scale, average in (("demo", 1), ("demo", 5)):
        (tmp_path / scale / "runs" / "base-seed1" / f"average{average}" / "model").mkdir(
            parents=True
        )
    assert find_model("base-seed1", results=tmp_path).parent.name == "average5"
    with pytest.raises(ValueError, match="base-seed1"):
        find_model("base-seed2", results=tmp_path)
    (tmp_path / "lab" / "runs" / "base-seed1" / "average1" / "model").mkdir(parents=True)
    with pytest.raises(ValueError, match="lab"):
        find_model("base-seed1", results=tmp_path)
