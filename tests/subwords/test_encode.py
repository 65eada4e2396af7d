"""Arrays hold what the vocabulary says, in order, however the work was cut and interrupted."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.corpus import Subwords
from pipeline.encoded import EOS_ID, EncodedSplit
from pipeline.files import write_json, write_lines
from pipeline.subwords import encode as module
from pipeline.subwords.encode import Encoder, encode_corpus
from pipeline.subwords.learn import learn
from pipeline.subwords.shards import shard_starts
from pipeline.subwords.vocabulary import Vocabulary

SIDES = ("en", "de")
LINES = ["a b c", "", "über \u2028 \r x", "line " * 30, " two  spaces ", "\u00a0", "ende"]


@pytest.fixture(scope="module")
def vocabulary_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    subwords = Subwords(model_type="bpe", vocab_size=300, max_sentences=99, seed=1)
    lines = [line for line in LINES * 3 if line]
    (folder / "subwords.model").write_bytes(
        learn(lines, n_pieces=300, subwords=subwords, corpus="toy")
    )
    return folder


def write_corpus(folder, n, *, other=None):
    for split, count in (("train", n), ("dev", 3), ("test", 1)):
        for shift, side in enumerate(SIDES):
            lines = [LINES[(i * (shift + 1)) % len(LINES)] for i in range(count)]
            write_lines(folder / f"{split}.{side}", lines)
    if other is not None:
        write_lines(folder / "train.de", other)


def check(text, output, vocabulary):
    for split in ("train", "dev", "test"):
        encoded = EncodedSplit.open(output / split)
        for side, read in zip(SIDES, (encoded.src, encoded.tgt), strict=True):
            lines = (text / f"{split}.{side}").read_bytes().decode().split("\n")[:-1]
            assert len(lines) == len(encoded)
            for index, line in enumerate(lines):
                assert read(index).tolist() == [*vocabulary.encode(line), EOS_ID]


@pytest.mark.parametrize(("threads", "shard_lines"), [(1, 1000), (2, 1000), (1, 3), (2, 4)])
def test_arrays_are_the_lines_however_they_are_cut(
    tmp_path, vocabulary_folder, threads, shard_lines
):
    write_corpus(tmp_path / "text", 13)
    facts = encode_corpus(
        tmp_path / "text",
        tmp_path / "encoded",
        sides=SIDES,
        encoder=Encoder(str(vocabulary_folder)),
        threads=threads,
        shard_lines=shard_lines,
    )
    check(tmp_path / "text", tmp_path / "encoded", Vocabulary.load(vocabulary_folder))
    train = facts["splits"]["train"]
    tokens = np.load(tmp_path / "encoded/train/src_tokens.npy")
    assert (tokens.dtype, len(tokens)) == (np.uint16, train["src_tokens"])
    assert train["pairs"] == 13
    assert {p.name for p in tmp_path.iterdir()} == {"text", "encoded"}


def test_the_result_does_not_depend_on_the_cut(tmp_path, vocabulary_folder):
    write_corpus(tmp_path / "text", 11)
    digests = [
        encode_corpus(
            tmp_path / "text",
            tmp_path / f"encoded{lines}",
            sides=SIDES,
            encoder=Encoder(str(vocabulary_folder)),
            threads=1,
            shard_lines=lines,
        )["splits"]
        for lines in (1, 2, 11, 99)
    ]
    assert all(digest == digests[0] for digest in digests)


def test_sides_of_different_length_are_an_error(tmp_path, vocabulary_folder):
    write_corpus(tmp_path / "text", 5, other=["x"] * 4)
    with pytest.raises(ValueError, match=r"train\.en has 5 lines, .*train\.de 4"):
        encode_corpus(
            tmp_path / "text",
            tmp_path / "encoded",
            sides=SIDES,
            encoder=Encoder(str(vocabulary_folder)),
            threads=1,
        )


@settings(max_examples=50)
@given(st.binary(max_size=60), st.integers(1, 5), st.integers(1, 9))
def test_shards_begin_at_lines(tmp_path_factory, data, lines_per_shard, block):
    path = tmp_path_factory.mktemp("shards") / "text"
    path.write_bytes(data)
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.subwords.shards.READ_BYTES", block)
        starts, n_lines = shard_starts(path, lines_per_shard=lines_per_shard)
    assert n_lines == len(lines)
    ends = [*starts[1:], len(data)]
    runs = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    assert b"".join(runs) == data
    assert [run.count(b"\n") for run in runs[:-1]] == [lines_per_shard] * (len(runs) - 1)
    assert len(runs) == max(1, -(-n_lines // lines_per_shard))


def test_a_failed_job_keeps_finished_shards_and_no_half_result(
    tmp_path, vocabulary_folder, monkeypatch
):
    write_corpus(tmp_path / "text", 20)
    calls = []
    whole = module.encode_shard

    def failing(shard, encoder, threads=1):
        calls.append(shard.stem.name)
        if len(calls) == 7:
            raise OSError("no space left")
        whole(shard, encoder, threads=threads)

    options = {"sides": SIDES, "encoder": Encoder(str(vocabulary_folder)), "threads": 1,
               "shard_lines": 4}  # fmt: skip
    monkeypatch.setattr(module, "encode_shard", failing)
    with pytest.raises(OSError, match="no space"):
        encode_corpus(tmp_path / "text", tmp_path / "encoded", **options)
    assert not list(tmp_path.glob("encoded/**/*.npy"))
    encode_corpus(tmp_path / "text", tmp_path / "encoded", **options)
    assert calls[6] == calls[7]
    assert len(set(calls[:6]) & set(calls[7:])) == len({"src-00000", "tgt-00000"} & set(calls[:6]))
    check(tmp_path / "text", tmp_path / "encoded", Vocabulary.load(vocabulary_folder))


def test_a_changed_text_finds_no_stale_shards(tmp_path, vocabulary_folder, monkeypatch):
    write_corpus(tmp_path / "text", 20)
    options = {"sides": SIDES, "encoder": Encoder(str(vocabulary_folder)), "threads": 1,
               "shard_lines": 4}  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(module, "_join", lambda *a: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            encode_corpus(tmp_path / "text", tmp_path / "encoded", **options)
    write_lines(tmp_path / "text/train.de", [f"new {number}" for number in range(20)])
    encode_corpus(tmp_path / "text", tmp_path / "encoded", **options)
    check(tmp_path / "text", tmp_path / "encoded", Vocabulary.load(vocabulary_folder))


def test_a_killed_step_goes_on_with_the_missing_shards(tmp_path, vocabulary_folder):
    write_corpus(tmp_path / "text", 3000)
    program = (
        "import sys, time; from pathlib import Path\n"
        "from pipeline.subwords import encode as m\n"
        "whole = m.encode_shard\n"
        "def slow(*a, **k):\n    whole(*a, **k); print('x', flush=True); time.sleep(0.05)\n"
        "m.encode_shard = slow\n"
        "f = Path(sys.argv[1])\n"
        "m.encode_corpus(f / 'text', f / 'encoded', sides=('en', 'de'), threads=1,"
        " encoder=m.Encoder(sys.argv[2]), shard_lines=100)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path), str(vocabulary_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(10):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "encoded/train/src_tokens.npy").exists()
    rest = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.count(b"x")
    assert rest <= 60 - 10 + 4  # dev and test have two each
    check(tmp_path / "text", tmp_path / "encoded", Vocabulary.load(vocabulary_folder))


def symbols_of(line):
    return line.split()


def test_tree_symbols_as_target(tmp_path, vocabulary_folder):
    folder = tmp_path / "vocabulary"
    folder.mkdir()
    (folder / "subwords.model").write_bytes((vocabulary_folder / "subwords.model").read_bytes())
    write_json(folder / "symbols.json", ["(S", ")S", "XX"])
    for split in ("train", "dev", "test"):
        write_lines(tmp_path / f"text/{split}.words", ["a b"])
        write_lines(tmp_path / f"text/{split}.trees", ["(S XX XX )S (NEW"])
    facts = encode_corpus(
        tmp_path / "text",
        tmp_path / "encoded",
        sides=("words", "trees"),
        encoder=Encoder(str(folder), symbols_of),
        threads=1,
    )
    encoded = EncodedSplit.open(tmp_path / "encoded/test")
    assert encoded.tgt(0).tolist() == [300, 302, 302, 301, 3, EOS_ID]
    assert facts["splits"]["train"]["tgt_unknown"] == 1
    assert facts["vocab_size"] == 303
    json.dumps(facts)
