"""The parse command on a parser with random weights: whatever it says, whole trees come out."""

import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from xml.etree import ElementTree

import pytest

from pipeline.__main__ import main
from pipeline.corpora.trees import leaves, parse_tree
from pipeline.files import read_lines
from pipeline.inference.translator import Translator
from pipeline.model.folder import ModelFolder


def parse(monkeypatch, capfdbinary, text: str | bytes, *arguments) -> tuple[int, list[str], str]:
    data = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
    code = main(["parse", *map(str, arguments)])
    out, err = capfdbinary.readouterr()
    return code, out.decode().split("\n")[:-1], err.decode()


def test_text_in_trees_out(parser, monkeypatch, capfdbinary):
    text = "The dog (a big one) didn't bark.\n\nx is big\n"
    code, lines, log = parse(monkeypatch, capfdbinary, text, parser)
    assert code == 0
    assert lines[1] == ""
    words = "The dog -LRB- a big one -RRB- did n't bark ."
    assert [leaves(parse_tree(line)) for line in (lines[0], lines[2])] == [
        words.split(),
        ["x", "is", "big"],
    ]
    assert "sentences: 3" in log
    assert re.search(r"sentences repaired: \d(, punctuation_tag: \d+)?\n", log)


@pytest.mark.parametrize(
    ("favourite", "tags"),
    [
        *((favourite, "keep") for favourite in (None, "(S", ")S", "NN")),
        *((favourite, tags) for favourite in (None, "(S", "XX") for tags in ("drop", "words")),
    ],
)
def test_constrained_search_needs_no_repair_whatever_the_weights(
    favourite, tags, untrained_parser, tmp_path
):
    """2 extra tokens are the smallest limit that holds a tree. A lover of "(S" opens brackets
    until closing is forced."""
    translator = Translator(
        ModelFolder.open(untrained_parser(tmp_path, favourite, tags)), device="cpu"
    )
    lines = [" ".join(["dog"] * n_words) for n_words in (1, 2, 3, 7)]
    for extra in (2, 5, 40):
        decoding = translator.folder.decoding.model_copy(update={"max_extra_tokens": extra})
        results = translator.run(lines, decoding=decoding, max_tokens=200, n_best=3)
        for line, outputs in zip(lines, results, strict=True):
            assert outputs
            limit = len(translator.vocabulary.encode(line)) + 1 + extra
            for output in outputs:
                assert output.repairs.keys() <= {"punctuation_tag"}  # no bracket, no word
                assert leaves(parse_tree(output.text)) == line.split()
                assert output.n_tokens <= limit
            if favourite == "(S" and line == "dog dog dog dog dog dog dog":
                assert outputs[0].text.count("(S ") > (limit - 10) // 3


def test_words_in_are_the_words_out(parser, monkeypatch, capfdbinary):
    text = "don't  split(this) .\n"
    for search in ("--constrained", "--no-constrained"):
        arguments = (parser, "--tokens", search, "--beam-size", 2)
        code, lines, log = parse(monkeypatch, capfdbinary, text, *arguments)
        assert code == 0
        assert leaves(parse_tree(lines[0])) == ["don't", "split-LRB-this-RRB-", "."]
        alone = re.search(r"repaired: \d(, punctuation_tag: \d+)?\n", log) is not None
        assert alone == (search == "--constrained")


def test_bytes_that_are_not_utf_8_are_read_and_named(parser, monkeypatch, capfdbinary):
    code, lines, log = parse(monkeypatch, capfdbinary, b"x is\n\xff x\n", parser)
    assert code == 0
    assert leaves(parse_tree(lines[1])) == ["\ufffd", "x"]
    assert "not UTF-8, read with replacement characters: line 2" in log


def test_trees_come_before_the_input_ends(parser):
    """A reader sees the tree of the first line while the writer still has the pipe open."""
    command = [sys.executable, "-m", "pipeline", "parse", str(parser), "--tokens"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(b"x is\n")
        process.stdin.flush()
        assert leaves(parse_tree(process.stdout.readline().decode())) == ["x", "is"]
        process.stdin.write(b"the dog\n")
        process.stdin.close()
        assert leaves(parse_tree(process.stdout.read().decode())) == ["the", "dog"]
    assert process.returncode == 0


def test_files_and_a_drawing(parser, tmp_path, monkeypatch, capfdbinary):
    (tmp_path / "in.txt").write_bytes(b"x is\nthe dog barks\n")
    arguments = ("--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt")
    drawing = ("--drawing", tmp_path / "tree.svg", "--line", 2)
    code, lines, _ = parse(monkeypatch, capfdbinary, "", parser, *arguments, *drawing)
    assert (code, lines) == (0, [])
    assert leaves(parse_tree(read_lines(tmp_path / "out.txt")[1])) == ["the", "dog", "barks"]
    title = ElementTree.parse(tmp_path / "tree.svg").getroot()[0]
    assert title.text == "the dog barks"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("x\n", ["--drawing", "t.svg", "--line", "2"], "--line must be from 1 to the input's 1"),
        ("\n", ["--drawing", "t.svg"], "line 1 is blank"),
        ("x\n", ["--drawing", "t.svg", "--line", "0"], "--line must be at least 1: 0"),
        ("x\n", ["--line", "2"], "--line says which tree is drawn; give --drawing too: 2"),
        ("x\n", ["--beam-size", "2000"], "--beam-size must be at most 1000: 2000"),
        ("x\n", ["--beam-size", "0"], "--beam-size must be at least 1: 0"),
        ("x\n", ["--device", "abacus"], "device must be auto, cpu"),
    ],
)
def test_wrong_input_is_named(text, arguments, message, parser, tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    code, _, log = parse(monkeypatch, capfdbinary, text, parser, *arguments)
    assert code == 1
    assert message in log
    assert not list(tmp_path.iterdir())


def test_a_folder_that_holds_no_parser(tmp_path, monkeypatch, capfdbinary):
    code, _, log = parse(monkeypatch, capfdbinary, "x\n", tmp_path)
    assert code == 1
    assert "not a model folder" in log


@pytest.mark.parametrize(
    ("output", "said"), [("a.txt/t", "a.txt: is a file, not a folder"), (".", ".: is a folder")]
)
def test_an_output_that_cannot_be_is_named(
    output, said, parser, tmp_path, monkeypatch, capfdbinary
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").touch()
    code, _, log = parse(monkeypatch, capfdbinary, "x\n", parser, "--output", output)
    assert code == 1
    assert log.startswith(f"parse: {said}")


def test_the_input_is_not_overwritten(parser, tmp_path, monkeypatch, capfdbinary):
    text = tmp_path / "in.en"
    text.write_text("x is big\n")
    also = tmp_path / "also.en"
    also.symlink_to(text)
    arguments = (parser, "--input", text, "--output", also)
    code, _, log = parse(monkeypatch, capfdbinary, "", *arguments)
    assert code == 1
    assert f"--output must be another file than --input: {also}" in log
    assert text.read_text() == "x is big\n"


def test_a_parser_by_the_name_of_its_run_or_experiment(parser, tmp_path, monkeypatch, capfdbinary):
    for run in ("mine-seed10", "mine-seed2"):
        folder = tmp_path / "lab/runs" / run / "average5"
        folder.mkdir(parents=True)
    (folder / "model").symlink_to(parser)  # seed 2, the first
    (tmp_path / "lab/runs/mine-seed10/average5/model").mkdir()
    for name in ("mine", "mine-seed2"):
        arguments = (name, "--results", tmp_path)
        code, lines, log = parse(monkeypatch, capfdbinary, "x\n", *arguments)
        assert code == 0, log
        assert leaves(parse_tree(lines[0])) == ["x"]
    code, _, log = parse(monkeypatch, capfdbinary, "x\n", "yours", "--results", tmp_path)
    assert code == 1
    assert "no model folder and no run below" in log
