import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.results.attention_heads import (
    distances,
    entropies,
    long_distance,
    merge_pieces,
    most_different,
    sharpest,
)


def maps(seed, n_heads, n):
    raw = np.random.default_rng(seed).random((n_heads, n, n)) ** 4
    return raw / raw.sum(axis=-1, keepdims=True)


def looking_at(targets, n):
    """One head that puts all weight of query q on key targets[q]."""
    head = np.zeros((n, n))
    head[np.arange(n), targets] = 1.0
    return head


PIECES = st.lists(st.sampled_from(["▁the", "▁law", "s", "ly", ",", "</s>", "▁a", "-"]), min_size=1)


@given(PIECES, st.integers(1, 3), st.integers(0, 99))
def test_maps_between_words_still_sum_to_one_and_lose_no_text(pieces, n_heads, seed):
    merged, words = merge_pieces(maps(seed, n_heads, len(pieces)), pieces)
    assert merged.shape == (n_heads, len(words), len(words))
    np.testing.assert_allclose(merged.sum(axis=-1), 1.0)
    assert "".join(words) == "".join(pieces).replace("▁", "")


def test_words_are_those_of_the_sentence():
    pieces = ["▁appli", "cation", ",", "▁its", "▁long", "-", "ish", ".", "</s>"]
    _, words = merge_pieces(maps(0, 2, len(pieces)), pieces)
    assert words == ["application", ",", "its", "long-ish", ".", "</s>"]


def test_merging_adds_keys_and_averages_queries():
    pieces = ["▁a", "▁b", "c"]
    raw = np.array([[[0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]])
    merged, _ = merge_pieces(raw, pieces)
    np.testing.assert_allclose(merged, [[[0.2, 0.8], [0.3, 0.7]]])


def test_distance_and_entropy_of_known_heads():
    both = np.stack([looking_at([0, 1, 2, 3], 4), np.full((4, 4), 0.25)])
    np.testing.assert_allclose(distances(both)[0], 0.0)
    np.testing.assert_allclose(distances(both)[1], [1.5, 1.0, 1.0, 1.5])
    np.testing.assert_allclose(entropies(both)[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(entropies(both)[1], 2.0)


def test_long_distance_finds_the_word_that_looks_far_but_no_punctuation():
    words = ["it", "is", "making", "more", "difficult", ".", "</s>"]
    head = looking_at([0, 1, 2, 3, 1, 0, 0], 7)  # "." and "</s>" look further still
    choice = long_distance(np.stack([head, head]), words)
    assert words[choice.query] == "difficult"
    assert choice.heads == (0, 1)
    assert long_distance(np.stack([head]), words, query=2).query == 2


def test_sharpest_heads_look_at_one_other_word():
    words = ["law", "its", "application", "</s>"]
    decided, itself, vague = looking_at([0, 0, 0, 0], 4), np.eye(4), np.full((4, 4), 0.25)
    choice = sharpest(np.stack([vague, itself, decided]), words, query=1)
    assert choice.heads == (2, 0)


def test_most_different_heads():
    near = looking_at([0, 1, 2], 3)
    far = looking_at([2, 0, 1], 3)
    choice = most_different(np.stack([near, 0.9 * near + 0.1 * far, far]))
    assert choice.heads == (0, 2)
    assert "1.00" in choice.reason


@pytest.mark.parametrize("n_heads", [1, 2])
def test_few_heads(n_heads):
    assert most_different(maps(1, n_heads, 3)).heads == tuple(range(n_heads))
