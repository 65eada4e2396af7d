"""Files that the user gave: an edit is noticed, a touch reruns nothing, a statement is compared."""

import hashlib
import json
import os
from itertools import product

import pytest
import yaml

from pipeline.files import write_lines

TEXT = "results/tiny/corpora/tiny/text"
SOURCES = "results/tiny/corpora/tiny/sources.json"
SIDES, SPLITS = ("en", "de"), ("train", "dev", "test")


@pytest.fixture
def given(fresh):
    """The corpus `tiny` of six files below data_root, its text made."""
    for split, side in product(SPLITS, SIDES):
        lines = [f"{side} {split} {number}" for number in range(30)]
        write_lines(fresh.folder / "data" / f"{split}.{side}", lines)
    settings = yaml.safe_load((fresh.folder / "config/config.yaml").read_text())
    settings["data_root"] = "data"
    (fresh.folder / "config/config.yaml").write_text(yaml.safe_dump(settings))
    write_corpus(fresh)
    fresh.make(TEXT)
    assert not fresh.planned(TEXT)
    return fresh


def write_corpus(workspace, **stated):
    """stated: sha256 of a download."""
    path = workspace.folder / "config/corpora/tiny.yaml"
    corpus = yaml.safe_load(path.read_text())
    names = [f"{split}.{side}" for split, side in product(SPLITS, SIDES)]
    corpus["source"] = {
        "kind": "files",
        "downloads": {
            name: {"local": name} | ({"sha256": stated[name]} if name in stated else {})
            for name in names
        },
        "splits": {
            split: [{"name": "mine", "files": {side: f"{split}.{side}" for side in SIDES}}]
            for split in SPLITS
        },
    }
    path.write_text(yaml.safe_dump(corpus))


def said(workspace):
    result = workspace.run(TEXT)
    output = result.stdout + result.stderr
    assert result.returncode == 1, output
    assert "Traceback" not in output
    return output


def test_an_edit_is_noticed_whatever_its_time_and_size(given):
    path = given.folder / "data" / "train.de"
    old = path.stat()
    path.write_bytes(path.read_bytes().replace(b"de train 7\n", b"de train X\n"))
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns - 10**15))
    assert given.planned(TEXT) == {"download": 1, "prepare": 1}
    given.make(TEXT)
    listed = json.loads((given.folder / SOURCES).read_text())["splits"]["train"][0]["sides"]["de"]
    assert listed["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "de train X" in (given.folder / TEXT / "train.de").read_text()
    assert not given.planned(TEXT)


def test_a_new_time_alone_reruns_nothing(given):
    for split, side in product(SPLITS, SIDES):
        path = given.folder / "data" / f"{split}.{side}"
        path.write_bytes(path.read_bytes())
        os.utime(path)
    assert not given.planned(TEXT)
    given.make(TEXT)
    assert not given.planned(TEXT)


def test_a_deleted_file_is_missed_and_its_place_is_named(given):
    path = given.folder / "data" / "dev.en"
    path.unlink()
    assert given.planned(TEXT) == {"download": 1, "prepare": 1}
    assert "place the file at data/dev.en" in said(given)


def test_a_statement_is_compared_after_an_edit(given):
    path = given.folder / "data" / "train.en"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    write_corpus(given, **{"train.en": digest})
    given.make(TEXT)
    path.write_bytes(path.read_bytes() + b"one more\n")
    output = said(given)
    assert "data/train.en: not the file that the corpus needs" in output
    assert digest in output


def test_a_pair_that_is_dropped_is_told_on_the_terminal_once(given):
    path = given.folder / "data" / "train.de"
    path.write_bytes(path.read_bytes().replace(b"de train 7\n", b"\n"))
    output = given.make(TEXT)
    assert output.count("warning: ") == 1
    assert (
        "\nwarning: tiny: empty drops 1 of 30 training pairs, 3.33%; the first is data/" in output
    )
