"""The corpus card's figures against plain counting, and its page."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.card import (
    count_words,
    length_histogram,
    sample_pairs,
    vocabulary_use,
)
from pipeline.results.card import markdown

IDS = st.lists(st.integers(0, 9), min_size=1, max_size=40)


@given(IDS, IDS)
def test_vocabulary_use_is_what_counting_says(first, second):
    use = vocabulary_use({"en": np.array(first), "de": np.array(second)}, vocab_size=10)
    assert use == {
        "vocab_size": 10,
        "en": len(set(first)),
        "de": len(set(second)),
        "both": len(set(first) & set(second)),
        "neither": 10 - len(set(first) | set(second)),
        "under_100_times": len(set(first) | set(second)),
    }


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 7))
def test_length_histogram_is_what_counting_says(lengths, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.corpora.card.BLOCK", block)
        facts = length_histogram(np.cumsum([0, *lengths]))
    counts = Counter(lengths)
    assert facts["counts"] == [counts[n] for n in range(max(lengths) + 1)]
    assert facts["longest"] == max(lengths)
    assert facts["mean"] == pytest.approx(np.mean(lengths), abs=0.00501)
    assert facts["up_to"][10] == sum(length <= 10 for length in lengths)
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert sum(length <= facts[name] for length in lengths) >= share * len(lengths)
        assert sum(length < facts[name] for length in lengths) < share * len(lengths)


@pytest.mark.parametrize("n", [1, 9, 300])
def test_samples_are_pairs_of_the_same_line(tmp_path: Path, n):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, mark in zip(paths, "ab", strict=True):
        path.write_text("".join(f"{mark} \u2028 {number}\n" for number in range(1, n + 1)))
    pairs = sample_pairs(paths)
    assert len(pairs) == min(10, n)
    for pair in pairs:
        assert pair["text"] == [f"{mark} \u2028 {pair['line']}" for mark in "ab"]
    assert sample_pairs(paths) == pairs
    assert count_words(paths[0]) == 3 * n  # U+2028 is no white space to bytes


def test_the_page_holds_cursed_text_in_one_cell():
    text = ["a | b\u2028c `d` <e> *f* " + "x" * 400, "[g](h)\\"]
    counts = {"read": 3, "kept": 2, "dropped": {"empty": 1}, "parts": {"p": 3},
              "carriage_returns": {"en": 2, "de": 0}}  # fmt: skip
    tokens = {"src_tokens": 5, "tgt_tokens": 6, "src_unknown": 1, "tgt_unknown": 0}
    overlap = dict.fromkeys(
        ("sources", "sources_in_train", "targets", "targets_in_train", "train_pairs_in_it",
         "train_pairs_with_its_source", "train_pairs_with_its_target"), 0,
    )  # fmt: skip
    lengths = {"mean": 2.5, "median": 2, "p90": 3, "p99": 3, "longest": 3}
    facts = {
        "corpus": "toy",
        "sides": ["en", "de"],
        "splits": {"train": counts},
        "encoded": {"train": tokens},
        "words": {"en": 3, "de": 3},
        "tokens_per_word": {"en": 1.0, "de": 1.3},
        "lengths": {"en": lengths, "de": lengths},
        "subwords": {"model_type": "bpe", "byte_fallback": True, "n_symbols": 0},
        "learnt_from": {"drawn": 6, "lines": 6, "too_long": 0, "reserved": 0},
        "vocabulary_use": {"vocab_size": 9, "en": 1, "de": 2, "both": 1, "neither": 7,
                           "under_100_times": 2},
        "overlap": {"dev": overlap},
        "warnings": ["p: 3 lines, where 4 are published"],
        "sources": [{"path": "x", "sha256": "0" * 64, "splits": ["train"]}],
        "text_sha256": {"train.en": "1" * 64},
        "samples": [{"line": 7, "text": text}],
    }  # fmt: skip
    page = markdown(facts, title="Toy")
    row = next(line for line in page.split("\n") if line.startswith("| 7 |"))
    assert row.replace("\\|", "").count("|") == 4
    assert len(row) < 400
    returns = "carriage return: train.en 2."
    for expected in ("empty 1", "published", "0" * 64, "1" * 64, "# Toy", "1.3", returns):
        assert expected in page
