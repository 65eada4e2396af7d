"""The translate command as a person calls it."""

import io
import re
import shutil
import sys
from pathlib import Path

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


def test_precision_auto_says_once_what_it_took(call, model):
    for processes in ("1", "2"):
        code, lines, err = call(
            model, "--precision", "auto", "--processes", processes, given=b"a\n"
        )
        assert (code, len(lines)) == (0, 1)
        assert re.fullmatch(r"[\d:]+ precision auto, .*fp32 \d+.*; takes: (fp32|bf16|int8)\n", err)


def test_bf16_that_is_slow_here_is_one_warning(call, model, monkeypatch):
    rates = (("fp32", 58.0), ("bf16", 5.0))
    monkeypatch.setattr("pipeline.model.rates._product_rates", lambda kind, index: rates)
    code, lines, err = call(model, "--precision", "bf16", "--processes", "2", given=b"a dog\n")
    assert (code, len(lines)) == (0, 1)
    assert "warning, bf16 products run at 5 GFLOP/s here, fp32 at 58; take" in err
    assert err.count("\n") == 1


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
        (["MODEL", "--length-penalty", "inf"], "--length-penalty must be at most 10: inf"),
        (["MODEL", "--length-penalty", "1000"], "--length-penalty must be at most 10: 1000"),
        (["MODEL", "--beam-size", "100000"], "--beam-size must be at most 1000: 100000"),
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


def made(results, *models):
    """Model folders of the right names, with nothing in them."""
    for model in models:
        (results / model / "model").mkdir(parents=True)


def test_a_run_is_found_by_its_name(tmp_path):
    made(tmp_path, "demo/runs/base-seed1/average1", "demo/runs/base-seed1/average10")
    made(tmp_path, "demo/runs/base-seed1/average5", "demo/runs/base-seed1/average_old")
    made(tmp_path, "demo/runs/base-seedling/average1")
    for name in ("base", "base-seed1"):
        assert find_model(name, results=tmp_path).parent.name == "average10"
    with pytest.raises(ValueError, match=r"base-seed2 \(runs: base-seed1, base-seedling\)"):
        find_model("base-seed2", results=tmp_path)


@pytest.mark.parametrize("name", ["base", "base-seed3"])
def test_of_several_scales_one_must_be_named(tmp_path, name):
    """Also where an experiment's first seed is another in each: no scale wins by its seed."""
    made(tmp_path, *(f"demo/runs/base-seed{seed}/average1" for seed in (1, 3)))
    made(tmp_path, "lab/runs/base-seed3/average5", "lab/tables", "downloads/x")
    with pytest.raises(ValueError, match="give --scale demo or --scale lab, or") as caught:
        find_model(name, results=tmp_path)
    paths = str(caught.value).rpartition("folder: ")[2].split(", ")
    assert [find_model(path, results=tmp_path).is_dir() for path in paths] == [True, True]
    seed = {"base": {"demo": 1, "lab": 3}}.get(name, {"demo": 3, "lab": 3})
    for scale in ("demo", "lab"):
        found = find_model(name, results=tmp_path, scale=scale)
        assert found.parents[3] == tmp_path / scale
        assert found.parents[1].name == f"base-seed{seed[scale]}"
    for scale in ("labb", "downloads", "/tmp", ""):
        with pytest.raises(ValueError, match=r"--scale must be one that .* \(demo, lab\)"):
            find_model(name, results=tmp_path, scale=scale)


def test_results_of_one_scale_are_not_those_of_all(tmp_path, monkeypatch):
    made(tmp_path, "demo/runs/base-seed1/average1")
    said = f"give --results {tmp_path} --scale demo"
    monkeypatch.chdir(tmp_path / "demo")
    for results in (tmp_path / "demo", Path()):
        with pytest.raises(ValueError, match=said):
            find_model("base", results=results)


def test_a_line_far_too_long_is_named(call, model, tmp_path):
    """The toy model has max_positions 64. Line 1 has as many characters, but fewer tokens."""
    lines = ["house " * 15, "x " * 20, "", *["dog"] * 40, "x " * 50]
    (tmp_path / "text").write_text("\n".join(lines))
    for processes in ("1", "2"):
        code, out, err = call(model, "--input", tmp_path / "text", "--processes", processes)
        assert (code, len(out)) == (0, len(lines))
        assert re.fullmatch(r"warning, \d+ tokens, .*max_positions 64.*: line 44\n", err)


@pytest.mark.parametrize(
    "name", ["subwords.model", "config.json", "card.json", "model.safetensors"]
)
def test_a_damaged_file_of_the_model_is_one_line(call, model, tmp_path, name):
    damaged = shutil.copytree(model, tmp_path / "model")
    (damaged / name).write_text("{")
    code, out, err = call(damaged, given=b"a dog\n")
    assert (code, out) == (1, [])
    assert str(damaged / name) in err
    assert err.count("\n") == 1
