"""Silver trees: the surest of every length, nothing repaired, nothing twice, nothing known."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.silver import agreeing, length_class, select_confident
from pipeline.corpora.trees import Tree, leaves, parse_tree


def flat(words: list[str]) -> Tree:
    return Tree("S", (Tree("NN", (word,)) for word in words))


def unlike(sizes: list[int]) -> list[Tree]:
    return [flat([f"w{index}.{k}" for k in range(size)]) for index, size in enumerate(sizes)]


@given(
    parsed=st.lists(st.tuples(st.integers(1, 40), st.floats(-9, 0)), max_size=40),
    share=st.floats(0.01, 1.0),
)
def test_each_length_keeps_its_share_and_the_surest(parsed, share):
    trees = unlike([size for size, _ in parsed])
    n_symbols = [2 * size + 3 for size, _ in parsed]
    log_probs = [each * n for (_, each), n in zip(parsed, n_symbols, strict=True)]
    kept = select_confident(trees, log_probs, n_symbols, share=share)
    assert kept == sorted(set(kept))
    confidence = [total / n for total, n in zip(log_probs, n_symbols, strict=True)]
    for name in {length_class(size) for size, _ in parsed}:
        inside = [i for i, (size, _) in enumerate(parsed) if length_class(size) == name]
        chosen = [i for i in inside if i in kept]
        assert len(chosen) == math.ceil(share * len(inside))
        others = [confidence[i] for i in inside if i not in kept]
        assert min(confidence[i] for i in chosen) >= max(others, default=-math.inf)


def test_classes_double_in_width():
    classes = [length_class(n) for n in range(1, 18)]
    assert classes == [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4]


def test_repaired_known_and_repeated_sentences_go():
    trees = [flat(words) for words in (["a"], ["b"], ["c"], ["a"], ["d"])]
    repairs = [Counter(), Counter({"unclosed": 1}), Counter(), Counter(), Counter()]
    kept = select_confident(
        trees, [-1.0] * 5, [4] * 5, share=1.0, repairs=repairs, known=[parse_tree("(NP (NN c))")]
    )
    assert [leaves(trees[i]) for i in kept] == [["a"], ["d"]]
    assert kept == [0, 4]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_share_is_a_share(share):
    with pytest.raises(ValueError, match="share"):
        select_confident([], [], [], share=share)


def test_parsers_agree_where_their_brackets_do():
    first = [parse_tree("(S (NN a) (NP (NN b)))"), parse_tree("(S (NN a))")]
    second = [parse_tree("(S (XX a) (NP (VB b)))"), parse_tree("(NP (NN a))")]
    assert agreeing(first, second) == [0]
    with pytest.raises(ValueError, match="different numbers"):
        agreeing(first, second[:1])
    with pytest.raises(ValueError, match=r"tree 2: .*different words"):
        agreeing(first, [second[0], parse_tree("(NP (NN b))")])
