"""Pairs stay pairs: rules drop both sides or none, every rule is counted, and overlap is told."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.corpus import CorpusConfig, MaxDropped, TextCorpus
from pipeline.config.loading import load_corpus
from pipeline.corpora.prepare import first_of_each, prepare
from pipeline.corpora.sources import SourceFile, SourcePart, Sources, write_sources
from pipeline.files import iter_byte_lines

SIDES = ("en", "de")
HELD_OUT = [("dev source", "dev target")]
WORDS = st.text("ab \u00a0\r\u2028\t\x1c", max_size=12).map(str.encode)
LINE = st.one_of(WORDS, st.binary(max_size=4).map(lambda b: b.replace(b"\n", b"")))


def corpus(**changes):
    part = {"name": "p", "files": {"en": "x", "de": "x"}}
    data = {
        "name": "toy",
        "title": "toy",
        "kind": "translation",
        "languages": list(SIDES),
        "test_sets": {"dev": "d", "test": "t"},
        "source": {
            "kind": "files",
            "downloads": {"x": {"local": "x"}},
            "splits": {split: [part] for split in ("train", "dev", "test")},
        },
        "filters": {},
        "max_dropped": dict.fromkeys(MaxDropped.model_fields, 1.0),
        "subwords": {"model_type": "bpe", "vocab_size": 300, "max_sentences": 1000, "seed": 1},
    }
    return CorpusConfig.model_validate(data | changes)


def encoded(pairs):
    return [tuple(t if isinstance(t, bytes) else t.encode() for t in pair) for pair in pairs]


def sources(folder, **splits):
    """Raw files of the pairs of each split; dev and test have one pair unless given."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = {}
    for split, pairs in {"dev": HELD_OUT, "test": HELD_OUT, **splits}.items():
        sides = {}
        for index, side in enumerate(SIDES):
            path = folder / f"{split}.{side}"
            path.write_bytes(b"".join(pair[index] + b"\n" for pair in encoded(pairs)))
            sides[side] = SourceFile(path=str(path))
        listed[split] = (SourcePart(name=f"{split} part", sides=sides),)
    return Sources(step="download", corpus="toy", commit="unknown", splits=listed)


def run(folder, *, config=None, **splits):
    report = prepare(config or corpus(), sources(folder / "raw", **splits), folder / "text")
    kept = [list(iter_byte_lines(folder / "text" / f"train.{side}")) for side in SIDES]
    return report, list(zip(*kept, strict=True))


@settings(max_examples=30)  # each writes and syncs a corpus
@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=20), st.booleans(), st.booleans())
def test_what_is_kept_is_a_subsequence_of_pairs_and_the_counts_add_up(
    tmp_path_factory, pairs, duplicates, limits
):
    folder = tmp_path_factory.mktemp("law")
    filters = {"drop_duplicates": duplicates}
    filters |= {"max_words": 2, "max_ratio": 1.5, "drop_identical": True} if limits else {}
    pairs = [(b"a first", b"b first"), *pairs]  # something is always left
    report, kept = run(folder, config=corpus(filters=filters), train=pairs)
    train = report["splits"]["train"]
    assert train["read"] == len(pairs) == len(kept) + sum(train["dropped"].values())
    rest = iter(pairs)
    assert all(pair in rest for pair in kept)
    for pair in set(pairs) - set(kept):
        assert dropped_for_cause(pair, limits)
    if duplicates:
        assert len(set(kept)) == len(kept)


def dropped_for_cause(pair, limits):
    try:
        source, target = (side.decode() for side in pair)
    except UnicodeDecodeError:
        return True
    if not source.strip() or not target.strip():
        return True
    n, m = len(source.split()), len(target.split())
    return limits and (max(n, m) > 2 or max(n, m) > 1.5 * min(n, m) or source == target)


def test_each_rule_is_counted_under_its_name(tmp_path):
    filters = {
        "max_words": 5,
        "max_bytes": 100,
        "max_ratio": 2.0,
        "drop_identical": True,
        "drop_duplicates": True,
        "drop_test_overlap": True,
    }
    pairs = [
        ("good one", "gut eins"),
        ("", "one side only"),
        ("\u00a0 \t", "blank"),
        (b"\xff\xfe", "broken"),
        ("1 2 3 4 5 6", "1 2 3 4 5 6 x"),
        ("x" * 101, "y"),
        ("a b c d e", "a b"),
        ("OK", "OK"),
        ("dev source", "something else"),
        ("good one", "gut eins"),
        ("good one", "gut zwei"),
    ]
    report, kept = run(tmp_path, config=corpus(filters=filters), train=pairs)
    assert report["splits"]["train"]["dropped"] == {
        "invalid_utf8": 1,
        "empty": 2,
        "max_bytes": 1,
        "max_words": 1,
        "max_ratio": 1,
        "identical": 1,
        "test_overlap": 1,
        "duplicate": 1,
    }
    assert kept == encoded([pairs[0], pairs[-1]])


def test_without_filters_all_but_the_unusable_is_kept(tmp_path):
    pairs = [("a" * 100_000, "b"), ("OK", "OK"), ("OK", "OK"), ("dev source", "x"), ("", "x")]
    _, kept = run(tmp_path, train=pairs)
    assert kept == encoded(pairs[:-1])


def test_text_survives_byte_for_byte(tmp_path):
    pairs = [("a\rb\r\u2028d\x0b", "caf\u00e9 cafe\u0301\u00a0!\t\x1c\u0085 "), (" x ", "y\ufeff")]
    _, kept = run(tmp_path, train=pairs)
    assert kept == encoded(pairs)


def test_overlap_is_always_told(tmp_path):
    train = [("dev source", "dev target"), ("dev source", "other"), ("x", "dev target"), ("y", "z")]
    report, kept = run(tmp_path, train=train)
    assert len(kept) == 4
    assert report["overlap"]["dev"] == {
        "sources": 1,
        "sources_in_train": 1,
        "targets": 1,
        "targets_in_train": 1,
        "train_pairs_with_its_source": 2,
        "train_pairs_with_its_target": 2,
        "train_pairs_in_it": 1,
    }


def test_held_out_text_is_never_filtered_and_must_be_valid(tmp_path):
    dev = [("", "empty source"), ("same", "same"), ("same", "same")]
    report, _ = run(tmp_path / "a", train=[("a", "b")], dev=dev)
    assert report["splits"]["dev"]["kept"] == 3
    assert "1 pairs with an empty side" in report["warnings"][0]


@pytest.mark.parametrize(("take", "line"), [(None, 3), ((2, 3), 3)])
def test_a_held_out_line_that_is_not_utf8_is_named_by_its_place_in_the_raw_file(
    tmp_path, take, line
):
    pairs = [("a", "b"), ("c", "d"), ("e", b"b\xff")]
    raw = sources(tmp_path / "raw", train=[("a", "b")], test=pairs)
    part = raw.splits["test"][0].model_copy(update={"take": take})
    raw = raw.model_copy(update={"splits": {**raw.splits, "test": (part,)}})
    where = rf"toy, test: {tmp_path}/raw/test\.de, line {line}: not UTF-8 at byte 1 \(0xff\)"
    with pytest.raises(ValueError, match=where):
        prepare(corpus(), raw, tmp_path / "text")


def test_nothing_left_is_an_error_that_says_what_each_rule_dropped(tmp_path):
    said = r"toy: of 3 training pairs none is left; .*; dropped: empty 2, invalid_utf8 1$"
    with pytest.raises(ValueError, match=said):
        run(tmp_path, train=[("", ""), (" ", "a"), ("a", b"\xff")])


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_files_without_a_line_are_named(tmp_path, split):
    raw = tmp_path / "raw"
    said = rf"toy, {split}: {split} part has no line; .*: {raw}/{split}\.en and {raw}/{split}\.de$"
    with pytest.raises(ValueError, match=said):
        run(tmp_path, **{"train": [("a", "b")], split: []})


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_lines_that_end_in_a_carriage_return_are_counted_and_kept(tmp_path_factory, returns):
    folder = tmp_path_factory.mktemp("returns")
    pairs = [tuple("a\rb" + "\r" * ends for ends in pair) for pair in returns]
    report, kept = run(folder, train=pairs)
    assert kept == encoded(pairs)
    counts = [sum(side) for side in zip(*returns, strict=True)]
    assert report["splits"]["train"]["carriage_returns"] == dict(zip(SIDES, counts, strict=True))
    assert report["splits"]["dev"]["carriage_returns"] == {"en": 0, "de": 0}
    n = len(pairs)
    assert [warning.partition(" end in")[0] for warning in report["warnings"]] == [
        f"train, {folder}/raw/train.{side}: {count} of {n} lines"
        for side, count in zip(SIDES, counts, strict=True)
        if count > n / 2
    ]


def test_published_line_counts_warn_on_a_difference(tmp_path):
    raw = sources(tmp_path / "raw", train=[("a", "b")])
    part = raw.splits["train"][0].model_copy(update={"lines": 4_520_620})
    raw = raw.model_copy(update={"splits": {**raw.splits, "train": (part,)}})
    report = prepare(corpus(), raw, tmp_path / "text")
    assert report["warnings"] == ["train part: 1 lines, where 4,520,620 are published"]


def test_the_filtered_newstest2014_is_refused_by_its_count(tmp_path, project_folder):
    config = load_corpus(project_folder / "config" / "corpora" / "wmt14_ende.yaml")
    test = [(f"source {number}", f"target {number}") for number in range(2737)]
    raw = sources(tmp_path / "raw", train=[("a", "b")], test=test)
    with pytest.raises(ValueError, match=r"2,737 lines.*newstest2014 filtered.*refused.*3,003"):
        prepare(config, raw, tmp_path / "text")
    raw = sources(tmp_path / "raw", train=[("a", "b")], test=[*test, *test[:266]])
    assert prepare(config, raw, tmp_path / "text")["splits"]["test"]["kept"] == 3003


@given(st.lists(st.integers(0, 5), max_size=30))
def test_first_of_each(values):
    mask = first_of_each(np.array(values, dtype=np.uint64))
    assert [v for v, m in zip(values, mask, strict=True) if m] == list(dict.fromkeys(values))


def test_the_step_writes_text_and_report(tmp_path):
    raw = sources(tmp_path / "raw", train=[("a b", "c d")])
    listed = {split: list(parts) for split, parts in raw.splits.items()}
    write_sources(tmp_path / "sources.json", step="download", corpus="toy", splits=listed)
    part = corpus().model_dump_json(include=set(TextCorpus.model_fields))
    command = [sys.executable, "-m", "pipeline.steps.prepare"]
    command += ["--corpus", part, "--sources", str(tmp_path / "sources.json")]
    command += ["--output", str(tmp_path / "text"), "--report", str(tmp_path / "prepare.json")]
    subprocess.run(command, check=True)
    report = json.loads((tmp_path / "prepare.json").read_text())
    assert (report["step"], report["splits"]["train"]["kept"]) == ("prepare", 1)
    assert (tmp_path / "text" / "train.de").read_bytes() == b"c d\n"
