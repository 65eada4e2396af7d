"""Linearising is undone exactly; and any symbols at all become a tree over exactly the words."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.linearise import delinearise, linearise, symbol_inventory
from pipeline.corpora.trees import (
    Tree,
    clean,
    leaves,
    parse_tree,
    preorder,
    read_trees,
    tagged_leaves,
    to_line,
)

SHARED = Path(os.environ.get("REATTEND_SHARED_DATA", "../shared/data"))
TREEBANKS = [
    pytest.param(SHARED / f"trees/{name}/{name}.{split}.mrg", id=f"{name}-{split}")
    for name in ("craft", "gum")
    for split in ("train", "dev")
]
EXAMPLE = "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
LABELS = st.sampled_from(["S", "NP", "VP", "TOP", "X"])
TAGS = st.sampled_from(["NN", "VBZ", "XX", "-LRB-", ",", "PRP$"])
SYMBOLS = st.one_of(
    LABELS.map("({}".format), LABELS.map("){}".format), TAGS, st.sampled_from(["", "(", ")"])
)


@st.composite
def cleaned_trees(draw) -> Tree:
    words = st.sampled_from(["a", "b", "-LRB-", "\u00a0", "XX", "S"])
    preterminals = st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, words)
    constituents = st.recursive(
        st.builds(Tree, LABELS, st.lists(preterminals, min_size=1, max_size=3)),
        lambda inner: st.builds(
            Tree, LABELS, st.lists(st.one_of(inner, preterminals), min_size=1, max_size=4)
        ),
        max_leaves=8,
    )
    return draw(constituents)


def without_tags(tree: Tree) -> Tree:
    """The oracle of tags "drop": a tag stands in a line after "(" and before a word."""
    tags = {id(node) for node in preorder(tree) if isinstance(node, Tree) and node.is_preterminal}

    def copy(node: Tree | str) -> Tree | str:
        if isinstance(node, str):
            return node
        return Tree("XX" if id(node) in tags else node.label, map(copy, node.children))

    result = copy(tree)
    assert isinstance(result, Tree)
    return result


def test_the_papers_example():
    tree = parse_tree(EXAMPLE)
    assert " ".join(linearise(tree, tags="keep")) == "(S (NP NNP )NP (VP VBZ (NP DT NN )NP )VP . )S"
    assert " ".join(linearise(tree, tags="drop")) == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    line = "(S (NP John )NP (VP has (NP a dog )NP )VP . )S"
    assert " ".join(linearise(tree, tags="words")) == line


@settings(max_examples=200)
@given(tree=cleaned_trees())
def test_linearising_is_undone_exactly(tree):
    words = leaves(tree)
    assert delinearise(linearise(tree, tags="keep"), words, tags="keep") == (tree, Counter())
    plain = without_tags(tree)
    assert delinearise(linearise(tree, tags="drop"), words, tags="drop") == (plain, Counter())
    assert delinearise(linearise(tree, tags="keep"), words, tags="drop") == (plain, Counter())
    assert delinearise(linearise(tree, tags="words"), words, tags="words") == (plain, Counter())


@pytest.mark.parametrize("file", TREEBANKS)
def test_every_tree_of_the_treebanks_comes_back(file):
    if not file.exists():
        pytest.skip(f"the shared treebanks are not there: {file}")
    for raw in read_trees(file):
        tree = clean(raw)
        words = leaves(tree)
        kept, dropped = linearise(tree, tags="keep"), linearise(tree, tags="drop")
        assert delinearise(kept, words, tags="keep") == (tree, Counter())
        again, repairs = delinearise(dropped, words, tags="drop")
        assert not repairs
        assert again == without_tags(tree)
        assert [tag for tag in kept if tag[0] not in "()"] == [t for _, t in tagged_leaves(tree)]
        themselves = linearise(tree, tags="words", known=frozenset(dropped))
        assert [word for word in themselves if word[0] not in "()"] == words
        assert delinearise(themselves, words, tags="words") == (again, repairs)


@settings(max_examples=500)
@given(
    symbols=st.lists(SYMBOLS, max_size=30),
    n_words=st.integers(1, 8),
    tags=st.sampled_from(["keep", "drop"]),
)
def test_any_symbols_become_a_cleaned_tree_over_exactly_the_words(symbols, n_words, tags):
    words = [f"w{index}" for index in range(n_words)]
    tree, repairs = delinearise(symbols, words, tags=tags)
    assert leaves(tree) == words
    assert parse_tree(to_line(tree)) == tree
    assert all(count > 0 for count in repairs.values())
    # A tree that was repaired is whole: written again, it needs no repair.
    again = linearise(tree, tags=tags)
    assert delinearise(again, words, tags=tags) == (tree, Counter())
    # Nothing is repaired in silence: without a count, the symbols were those of the tree.
    expected = [s if s[:1] in ("(", ")") or tags == "keep" else "XX" for s in symbols]
    assert (not repairs) == (expected == again)


@pytest.mark.parametrize(
    ("symbols", "line", "repairs"),
    [
        ("", "(TOP (XX a) (XX b))", {"no_output": 1}),
        ("(S (NP )NP )S", "(TOP (XX a) (XX b))", {"no_output": 1}),
        ("(S NN VB", "(S (NN a) (VB b))", {"unclosed": 1}),
        ("(S (NP NN (VP VB )S", "(S (NP (NN a) (VP (VB b))))", {"unclosed": 2}),
        ("(S NN VB )S )S )NP", "(S (NN a) (VB b))", {"stray_close": 2}),
        ("(S (NP NN )VP VB )S", "(S (NP (NN a)) (VB b))", {"wrong_close": 1}),
        ("(S (NP NN )NP )S", "(S (NP (NN a)) (XX b))", {"missing_leaf": 1}),
        ("(S NN VB NN NN )S", "(S (NN a) (VB b))", {"surplus_leaf": 2}),
        (
            "(S NN VB (NP NN )NP )S",
            "(S (NN a) (VB b))",
            {"surplus_leaf": 1, "empty_constituent": 1},
        ),
        ("(S NN (NP )NP VB )S", "(S (NN a) (VB b))", {"empty_constituent": 1}),
        ("(NP NN )NP (VP VB )VP", "(TOP (NP (NN a)) (VP (VB b)))", {"several_roots": 1}),
        ("NN VB", "(TOP (NN a) (VB b))", {"several_roots": 1}),
        ("NN", "(TOP (NN a) (XX b))", {"several_roots": 1, "missing_leaf": 1}),
        ("(S ( NN ) VB )S", "(S (NN a) (VB b))", {"foreign_symbol": 2}),
    ],
)
def test_each_kind_of_repair_is_counted_by_its_name(symbols, line, repairs):
    tree, counts = delinearise(symbols.split(), ["a", "b"], tags="keep")
    assert to_line(tree) == line
    assert counts == repairs


def test_symbols_that_are_no_symbols_are_left_out():
    tree, counts = delinearise(["(S", "", "NN", ")S"], ["a"], tags="keep")
    assert (to_line(tree), counts) == ("(S (NN a))", {"foreign_symbol": 1})


def test_no_words_no_tree():
    with pytest.raises(ValueError, match="at least one word"):
        delinearise(["(S", ")S"], [], tags="drop")


@given(trees=st.lists(cleaned_trees(), max_size=5), tags=st.sampled_from(["keep", "drop"]))
def test_the_inventory_holds_every_symbol_and_its_counterpart(trees, tags):
    inventory = symbol_inventory(trees, tags=tags)
    assert inventory == sorted(set(inventory)) == symbol_inventory(reversed(trees), tags=tags)
    for tree in trees:
        assert set(linearise(tree, tags=tags)) <= set(inventory)
    for symbol in inventory:
        if symbol[0] in "()":
            assert ("(" if symbol[0] == ")" else ")") + symbol[1:] in inventory
    if tags == "drop":
        assert [symbol for symbol in inventory if symbol[0] not in "()"] == ["XX"]


@given(train=st.lists(cleaned_trees(), max_size=2), dev=cleaned_trees())
def test_unknown_labels_are_written_with_the_stand_ins(train, dev):
    known = frozenset(symbol_inventory(train, tags="keep"))
    symbols = linearise(dev, tags="keep", known=known)
    assert set(symbols) <= known
    pairs = zip(symbols, linearise(dev, tags="keep"), strict=True)
    assert all(ours == true or ours in ("(X", ")X", "XX") for ours, true in pairs)
    assert delinearise(symbols, leaves(dev), tags="keep")[1] == Counter()


def test_deep_trees_need_no_call_stack():
    depth = 20_000
    tree = parse_tree("(A " * depth + "(NN x)" + ")" * depth)
    assert delinearise(linearise(tree, tags="keep"), ["x"], tags="keep") == (tree, Counter())
