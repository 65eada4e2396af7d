"""Silver trees: the surest of every length, nothing repaired, nothing twice, nothing known."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.silver import (
    Parsed,
    agreeing,
    by_length,
    choose_sentences,
    length_class,
    read_columns,
    select_confident,
    words_of,
    write_columns,
)
from pipeline.corpora.trees import parse_tree
from pipeline.files import write_lines

REPAIRS = st.dictionaries(st.sampled_from(["unclosed", "no_output"]), st.integers(1, 9))


def row(log_prob: float, n_tokens: int, **repairs: int) -> Parsed:
    return Parsed(1, log_prob, n_tokens, Counter(repairs))


@given(
    parsed=st.lists(st.tuples(st.integers(1, 40), st.floats(-9, 0)), max_size=40),
    share=st.floats(0.01, 1.0),
)
def test_each_length_keeps_its_share_and_the_surest(parsed, share):
    sentences = [" ".join(f"w{i}.{k}" for k in range(size)) for i, (size, _) in enumerate(parsed)]
    rows = [row(each * (2 * size + 3), 2 * size + 3) for size, each in parsed]
    kept = select_confident(sentences, rows, share=share)
    assert kept == sorted(set(kept))
    confidence = [each.log_prob / each.n_tokens for each in rows]
    for name in {length_class(size) for size, _ in parsed}:
        inside = [i for i, (size, _) in enumerate(parsed) if length_class(size) == name]
        chosen = [i for i in inside if i in kept]
        assert len(chosen) == math.ceil(share * len(inside))
        others = [confidence[i] for i in inside if i not in kept]
        assert min(confidence[i] for i in chosen) >= max(others, default=-math.inf)


def test_classes_double_in_width():
    classes = [length_class(n) for n in range(1, 18)]
    assert classes == [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4]
    assert by_length(["a", "a b", "a b c", "a b c d e f g h"]) == {"2": 2, "4": 1, "8": 1}


def test_repaired_known_and_repeated_sentences_go():
    rows = [row(-1, 4), row(-1, 4, unclosed=1), row(-1, 4), row(-1, 4), row(-1, 4)]
    rows += [row(-1, 4, punctuation_tag=2), row(-1, 4, punctuation_tag=1, stray_close=1)]
    kept = select_confident(["a", "b", "c", "a", "d", "e", "f"], rows, share=1.0, known=["c"])
    assert kept == [0, 4, 5]  # a mended tag is no repair of brackets


LINES = st.lists(st.sampled_from(["", " ", "a", "a b", "A (b).", "x y z u v", "didn't"]))


@given(
    lines=LINES,
    max_sentences=st.integers(1, 8),
    max_words=st.none() | st.integers(1, 5),
    shards=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_shards_share_out_the_sentences_that_the_seed_draws(
    lines, max_sentences, max_words, shards, seed
):
    how = {
        "words_of": words_of("penn"), "max_sentences": max_sentences, "max_words": max_words,
        "seed": seed,
    }  # fmt: skip
    whole = choose_sentences(lines, **how)
    parts = [choose_sentences(lines, **how, shard=n, shards=shards) for n in range(shards)]
    assert sorted(pair for part in parts for pair in part) == whole
    assert all(" ".join(words_of("penn")(lines[n - 1])) == sentence for n, sentence in whole)
    sentences = [sentence for _, sentence in whole]
    assert len(set(sentences)) == len(sentences)
    fit = {
        " ".join(words)
        for words in map(words_of("penn"), lines)
        if words and (max_words is None or len(words) <= max_words)
    }
    assert set(sentences) <= fit
    assert len(sentences) == min(max_sentences, len(fit))


def test_words_given_keep_their_borders_and_no_bracket():
    assert words_of("given")("don't  (a) .") == ["don't", "-LRB-a-RRB-", "."]
    assert words_of("penn")("don't (a).") == ["do", "n't", "-LRB-", "a", "-RRB-", "."]


@given(st.lists(st.tuples(st.integers(1), st.floats(-1e9, 0), st.integers(1, 999), REPAIRS)))
def test_columns_come_back_as_they_were(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("columns") / "0.tsv"
    parsed = [Parsed(line, log_prob, n, Counter(repairs)) for line, log_prob, n, repairs in rows]
    write_columns(path, parsed)
    assert read_columns(path) == parsed


def test_another_table_is_refused_by_name(tmp_path):
    write_lines(tmp_path / "x.tsv", ["a\tb"])
    with pytest.raises(ValueError, match=r"x\.tsv: the first line must name the columns line"):
        read_columns(tmp_path / "x.tsv")


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_share_is_a_share(share):
    with pytest.raises(ValueError, match="share"):
        select_confident([], [], share=share)


def test_parsers_agree_where_their_brackets_do():
    first = [parse_tree("(S (NN a) (NP (NN b)))"), parse_tree("(S (NN a))")]
    second = [parse_tree("(S (XX a) (NP (VB b)))"), parse_tree("(NP (NN a))")]
    assert agreeing(first, second) == [0]
    with pytest.raises(ValueError, match="different numbers"):
        agreeing(first, second[:1])
    with pytest.raises(ValueError, match=r"tree 2: .*different words"):
        agreeing(first, [second[0], parse_tree("(NP (NN b))")])
