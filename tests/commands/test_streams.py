"""Every command that reads text takes a file, a stream and standard input, each read once."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.files import read_text

PROJECT = Path(__file__).resolve().parents[2]
LINES = b"the red fox\na big dog\nbig house\n"
OTHER = b"the red fox\na small dog\nthe house\n"


@pytest.fixture
def stream(tmp_path):
    """Make a FIFO that gives these bytes to whoever opens it first, and nothing to the next."""
    writers = []

    def make(content: bytes) -> str:
        path = tmp_path / f"fifo{len(writers)}"
        os.mkfifo(path)

        def write() -> None:
            with contextlib.suppress(BrokenPipeError):
                path.write_bytes(content)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writers.append((path, writer))
        return str(path)

    yield make
    for path, writer in writers:
        if writer.is_alive():  # nobody opened it
            with open(path, "rb"):
                writer.join()


def given(kind: str, content: bytes, stream, tmp_path: Path) -> tuple[str, bytes]:
    """The name of such an input, and what stands on standard input."""
    if kind == "file":
        path = tmp_path / f"text{len(list(tmp_path.iterdir()))}"
        path.write_bytes(content)
        return str(path), b""
    return (stream(content), b"") if kind == "stream" else ("-", content)


def call(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pipeline", *arguments]
    return subprocess.run(command, cwd=PROJECT, input=stdin, capture_output=True, timeout=500)


KINDS = ["file", "stream", "-"]


@pytest.mark.parametrize("hypotheses", KINDS)
@pytest.mark.parametrize("references", KINDS)
def test_score_reads_each_once_and_states_what_it_read(hypotheses, references, stream, tmp_path):
    if hypotheses == references == "-":
        pytest.skip("an error: the next test")
    first, stdin = given(hypotheses, LINES, stream, tmp_path)
    second, more = given(references, OTHER, stream, tmp_path)
    texts = ("--hypotheses", first, "--references", second)
    result = call(
        "score", *texts, "--languages", "en-de", "--json", "--resamples", "0", stdin=stdin or more
    )
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["reference_sha256"] == hashlib.sha256(OTHER).hexdigest()
    assert data["systems"][0]["hypotheses_sha256"] == hashlib.sha256(LINES).hexdigest()
    assert data["systems"][0]["lines"] == 3


def test_score_of_trees_from_streams(stream):
    tree = b"(S (NP (NN a)) (VP (VB b)))\n"
    for form in ("--json", "--evalb"):
        texts = ("--hypotheses", stream(tree), "--references", stream(tree))
        result = call("score", *texts, "--trees", form, "--resamples", "0")
        assert result.returncode == 0, result.stderr
        assert b"100" in result.stdout


def test_a_process_substitution():
    shell = (
        f'{sys.executable} -m pipeline score --hypotheses <(printf "%s\\n" "a b c d e")'
        ' --references <(printf "%s\\n" "a b c d e") --languages en-de --json --resamples 0'
    )
    result = subprocess.run(["bash", "-c", shell], cwd=PROJECT, capture_output=True, timeout=500)
    assert result.returncode == 0, result.stderr
    digest = hashlib.sha256(b"a b c d e\n").hexdigest()
    assert json.loads(result.stdout)["reference_sha256"] == digest


@pytest.mark.parametrize("kind", ["stream", "-"])
def test_one_stream_for_both_is_an_error(kind, stream, tmp_path):
    name, stdin = given(kind, LINES, stream, tmp_path)
    texts = ("--hypotheses", name, "--references", name)
    result = call("score", *texts, "--languages", "en-de", stdin=stdin)
    assert result.returncode == 1
    said = {"stream": name, "-": "standard input"}[kind]
    message = f"score: can be read once only, write it to a file first: {said}\n"
    assert result.stderr.decode() == message


@pytest.mark.parametrize("content", [LINES, b"\xef\xbb\xbfa\r\nb\n\nc", b"", b"\n"])
def test_the_digest_is_that_of_the_bytes(content, stream, tmp_path):
    """Whatever is dropped on the way: a byte order mark, the end of the last line."""
    (tmp_path / "file").write_bytes(content)
    text = read_text(stream(content))
    assert text == read_text(tmp_path / "file")
    assert text.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_translate_parse_and_export(kind, stream, tmp_path, toy_model_folder, parser):
    name, stdin = given(kind, LINES, stream, tmp_path)
    result = call("translate", str(toy_model_folder), "--input", name, stdin=stdin)
    assert (result.returncode, result.stdout.count(b"\n")) == (0, 3)
    name, stdin = given(kind, LINES, stream, tmp_path)
    result = call("parse", str(parser), "--input", name, stdin=stdin)
    assert (result.returncode, result.stdout.count(b"\n")) == (0, 3)
    name, stdin = given(kind, LINES, stream, tmp_path)
    export = ("--format", "transformers", "--output", str(tmp_path / "exported"))
    result = call("export", str(toy_model_folder), *export, "--sentences", name, stdin=stdin)
    assert b"written: " in result.stderr
