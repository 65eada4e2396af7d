"""Trees are read whatever their layout, cleaned by one rule, and written so that they come back."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.trees import (
    Tree,
    bare_label,
    clean,
    leaves,
    parse_tree,
    read_trees,
    split_words,
    tagged_leaves,
    to_line,
)

SHARED = Path(os.environ.get("REATTEND_SHARED_DATA", "../shared/data"))
TREEBANKS = [
    pytest.param(SHARED / f"trees/{name}/{name}.{split}.mrg", number, id=f"{name}-{split}")
    for name, split, number in [
        ("craft", "train", 18951),
        ("craft", "dev", 2780),
        ("gum", "train", 10224),
        ("gum", "dev", 1575),
    ]
]

# Anything but white space and brackets may stand in a word; a label begins no differently.
WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n()"), min_size=1, max_size=6
)


def trees(words=WORDS, labels=WORDS) -> st.SearchStrategy[Tree]:
    """Trees of any shape, bare words among constituents included, none without a word."""
    return st.recursive(
        st.builds(lambda label, word: Tree(label, (word,)), labels, words),
        lambda inner: st.builds(
            Tree, labels, st.lists(st.one_of(inner, words), min_size=1, max_size=4)
        ),
        max_leaves=12,
    )


@settings(max_examples=200)
@given(tree=trees())
def test_a_line_gives_the_tree_back(tree):
    assert parse_tree(to_line(tree)) == tree
    assert hash(parse_tree(to_line(tree))) == hash(tree)
    assert [word for word, _ in tagged_leaves(tree)] == leaves(tree)


@given(tree=trees())
def test_a_line_of_words_gives_the_words_back(tree):
    assert split_words(" ".join(leaves(tree))) == leaves(tree)
    assert split_words("\t" + "  ".join(leaves(tree)) + " \r") == leaves(tree)
    assert split_words(" ") == []


@given(tree=trees(), spaces=st.lists(st.sampled_from([" ", "\n", "\t", "\r\n", "  "]), min_size=3))
def test_white_space_around_brackets_changes_nothing(tree, spaces):
    wide = ""
    for index, piece in enumerate(to_line(tree).replace("(", " ( ").replace(")", " ) ").split(" ")):
        wide += piece + spaces[index % len(spaces)]
    assert parse_tree(wide) == tree


@given(tree=trees(), other=trees())
def test_trees_are_equal_exactly_if_their_lines_are(tree, other):
    assert (tree == other) == (to_line(tree) == to_line(other))
    assert tree != to_line(tree)


def test_layouts_of_one_treebank(tmp_path):
    """PITFALLS 27: an empty root, several lines, spaces before brackets, several trees a line."""
    file = tmp_path / "layouts.mrg"
    file.write_bytes(
        b"\xef\xbb\xbf\n( (S \r\n    (NP-SBJ (PRP I) )\r\n    (VP (VBP am) ) ))\r\n\n"
        b"(ROOT(S(NP-SBJ(PRP I))(VP(VBP am))))((S (NP (PRP I)) (VP (VBP am))))\n"
        b"(TOP\n(S\n(NP (PRP I))\n(VP\n(VBP am))))(S1 (S (NP (PRP I)) (VP (VBP am))))"
    )
    found = [to_line(clean(tree)) for tree in read_trees(file)]
    assert found == ["(S (NP (PRP I)) (VP (VBP am)))"] * 5


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("( (S (NP-SBJ-1 (PRP I)) (VP (VBP am))))", "(S (NP (PRP I)) (VP (VBP am)))"),
        ("(ROOT (S (NP=2 (PRP I)) (ADVP=1-TMP (RB now))))", "(S (NP (PRP I)) (ADVP (RB now)))"),
        ("(S (NP (-NONE- *)) (VP (VB go)))", "(S (VP (VB go)))"),
        ("(S (NP (NP (-NONE- *T*-1)) (SBAR (-NONE- 0))) (VP (VB go)))", "(S (VP (VB go)))"),
        ("(NP (-LRB- -LRB-) (NN x) (-RRB- -RRB-))", "(NP (-LRB- -LRB-) (NN x) (-RRB- -RRB-))"),
        (
            "(S (: --) (, ,) (NP (PRP$ my) (NN|NNS x)))",
            "(S (: --) (, ,) (NP (PRP$ my) (NN|NNS x)))",
        ),
        ("(S (S (VP (VB go))))", "(S (S (VP (VB go))))"),
        ("(ROOT (NP (NN x)) (. .))", "(TOP (NP (NN x)) (. .))"),
        ("((NP (NN x)) (. .))", "(TOP (NP (NN x)) (. .))"),
        ("((NP-SBJ (-NONE- *)) (NP (NN x)))", "(NP (NN x))"),
        ("(ROOT (NN x))", "(TOP (NN x))"),
        ("(NN x)", "(TOP (NN x))"),
        ("((TOP (ROOT (S (NN x) (NN y)))))", "(S (NN x) (NN y))"),
        ("(ROOT (S (-NONE- 0)) (NP (NN x)))", "(NP (NN x))"),
        ("(S ((NP (NN x)) (VP (VB go))))", "(S (NP (NN x)) (VP (VB go)))"),
        ("(S hello (NN x))", "(S (XX hello) (NN x))"),
        ("(S (NP) (VP (VB go)))", "(S (VP (VB go)))"),
        ("(S (NP two words))", "(S (NP (XX two) (XX words)))"),
    ],
)
def test_what_cleaning_does(raw, cleaned):
    assert to_line(clean(parse_tree(raw))) == cleaned


@given(
    tree=trees(labels=st.one_of(WORDS, st.sampled_from(["ROOT", "TOP", "S-1", "NP=2", "-LRB-"])))
)
def test_cleaning_keeps_the_words_and_is_done_once(tree):
    if all(tag == "-NONE-" for _, tag in tagged_leaves(tree)):
        return
    cleaned = clean(tree)
    kept = [word for word, tag in tagged_leaves(tree) if tag != "-NONE-"]
    assert leaves(cleaned) == kept
    assert clean(cleaned) == cleaned
    assert not cleaned.is_preterminal


def test_a_tree_of_traces_alone_is_refused():
    with pytest.raises(ValueError, match="without words"):
        clean(parse_tree("(S (NP (-NONE- *)))"))


@given(label=st.text(st.characters(codec="ascii", exclude_characters="-="), min_size=1))
def test_labels_lose_tags_and_indices_only(label):
    assert bare_label(label) == label
    assert bare_label(f"{label}-SBJ=2-1") == bare_label(f"{label}=2") == label
    assert bare_label(f"-{label}-") == f"-{label}-"


@pytest.mark.parametrize("word", ["a b", "a(", ")", "", "a\nb", "\t"])
def test_words_that_a_line_cannot_hold_are_refused(word):
    with pytest.raises(ValueError, match="no line of a tree can hold"):
        to_line(Tree("S", (Tree("NN", (word,)),)))


def test_a_bracket_without_label_needs_a_bracket_inside():
    assert to_line(Tree("", (Tree("NN", ("x",)),))) == "( (NN x))"
    with pytest.raises(ValueError, match="word or label"):
        to_line(Tree("", ("x",)))


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u0085", "\x0b", "\x1c", "\u3000"])
def test_other_white_space_is_part_of_a_word(space, tmp_path):
    tree = Tree("NP", (Tree("CD", (f"10{space}000",)), Tree("NN", ("x",))))
    file = tmp_path / "one.mrg"
    file.write_bytes(f"{to_line(tree)}\n".encode())
    assert list(read_trees(file)) == [tree]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"(S (NN a))\n\n(S (NN b)\n(S (NN c))\n", r"line 3: .* lacks 1 closing bracket"),
        (b"(S (NN a))\n(S (NP (NN", r"line 2: .* lacks 3 closing bracket"),
        (b"(S (NN a))\n(S (NN b)))\n", r"line 2: a closing bracket that opens nowhere"),
        (b"(S (NN a))\nb (S (NN c))\n", r"line 2: text outside a tree: 'b'"),
        (b"(S (NN a))\n(())\n", r"line 2: a tree without words"),
        (b"(S (NN a))\n()\n", r"line 2: a tree without words"),
        (b"(S (NN a))\n(S (NP))\n", r"line 2: a tree without words"),
        (b"(S (NN a))\n(S (NN \xe4pfel))\n", r"line 2: not UTF-8 at byte 7"),
        (b"(S (NN a\xe4))\n(S (NN b))\n", r"line 1: not UTF-8 at byte 8"),
    ],
)
def test_damage_is_named_by_file_and_line(data, message, tmp_path):
    file = tmp_path / "damaged.mrg"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=rf"damaged\.mrg, {message}"):
        list(read_trees(file))


def test_another_encoding_is_named(tmp_path):
    file = tmp_path / "wide.mrg"
    file.write_bytes("(S (NN a))\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"wide\.mrg: UTF-16, not UTF-8; convert it: iconv"):
        list(read_trees(file))


@given(tree=trees(), cut=st.integers(1, 10**6))
def test_a_tree_cut_anywhere_is_an_error_never_a_tree(tree, cut):
    line = to_line(tree)
    with pytest.raises(ValueError, match="closing bracket"):
        parse_tree(line[: 1 + cut % (len(line) - 1)])


@given(text=st.text("() \nab", max_size=30))
def test_any_text_is_a_tree_or_a_value_error(text):
    try:
        tree = parse_tree(text)
    except ValueError:
        return
    assert leaves(tree)
    assert parse_tree(" ".join(text.split())) == tree


def test_empty_trees_can_be_counted_instead(tmp_path):
    file = tmp_path / "silver.mrg"
    file.write_bytes(b"(())\n(S (NN a))\n( )\n")
    counts = Counter()
    assert len(list(read_trees(file, counts=counts))) == 1
    assert counts == {"empty": 2}


@pytest.mark.parametrize("text", ["(S (NN a)) (S (NN b))", "", " \n"])
def test_one_tree_means_one(text):
    with pytest.raises(ValueError, match="one tree expected"):
        parse_tree(text)


def test_a_tree_far_deeper_than_the_call_stack():
    depth = 50_000
    deep = parse_tree("(A " * depth + "(NN x)" + ")" * depth)
    assert leaves(deep) == ["x"]
    assert tagged_leaves(deep) == [("x", "NN")]
    assert clean(deep) == deep
    assert hash(clean(deep)) == hash(deep)
    assert parse_tree(to_line(deep)) == deep


def test_a_tree_of_four_hundred_words_and_one_of_many_more():
    for width in (400, 100_000):
        wide = parse_tree("(S " + " ".join(f"(NN w{index})" for index in range(width)) + ")")
        assert len(leaves(wide)) == width
        assert parse_tree(to_line(wide)) == wide


@pytest.mark.parametrize(("file", "number"), TREEBANKS)
def test_every_tree_of_the_treebanks_comes_back(file, number):
    if not file.exists():
        pytest.skip(f"the shared treebanks are not there: {file}")
    count = 0
    for raw in read_trees(file):
        tree = clean(raw)
        assert parse_tree(to_line(tree)) == tree
        assert clean(tree) == tree
        assert leaves(tree) == [w for w, tag in tagged_leaves(raw) if tag != "-NONE-"]
        count += 1
    assert count == number
