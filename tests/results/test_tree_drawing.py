"""A drawing is valid SVG, shows every label and word once, and nothing in it overlaps."""

import re
from collections import defaultdict
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpora.trees import Tree, leaves, parse_tree, preorder
from pipeline.results.tree_drawing import text_width, tree_svg

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n()"), min_size=1, max_size=9
)
TREES = st.recursive(
    st.builds(lambda tag, word: Tree(tag, (word,)), NAMES, NAMES),
    lambda inner: st.builds(Tree, NAMES, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=10,
)


def texts(svg: str) -> list[tuple[str, float, float]]:
    """(text, middle, baseline) of every label and word."""
    root = ElementTree.fromstring(svg)
    return [
        (e.text or "", float(e.get("x", 0)), float(e.get("y", 0))) for e in root.iter(f"{SVG}text")
    ]


@settings(deadline=None)
@given(tree=TREES)
def test_every_label_and_word_is_shown_and_none_overlaps(tree):
    shown = texts(tree_svg(tree))
    expected = [node if isinstance(node, str) else node.label for node in preorder(tree)]
    valid = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert [text for text, _, _ in shown] == [valid.sub("\ufffd", name) for name in expected]
    rows = defaultdict(list)
    for text, x, y in shown:
        rows[y].append((x - text_width(text) / 2, x + text_width(text) / 2))
    for row in rows.values():
        row.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(row))


@settings(deadline=None)
@given(tree=TREES)
def test_no_line_crosses_a_label(tree):
    svg = tree_svg(tree)
    boxes = [(x, y - 5, text_width(text) / 2) for text, x, y in texts(svg)]  # middle, half width
    for path in ElementTree.fromstring(svg).iter(f"{SVG}path"):
        x = y = 0.0
        for command, numbers in re.findall("([MVHLq])([^MVHLq]*)", path.get("d", "")):
            values = [float(number) for number in numbers.split()]
            old = (x, y)
            if command in "ML":
                x, y = values
            elif command == "q":
                x, y = x + values[2], y + values[3]
            x, y = (
                (x, values[0]) if command == "V" else (values[0], y) if command == "H" else (x, y)
            )
            if command == "M":
                continue
            left, right, top, bottom = *sorted((old[0], x)), *sorted((old[1], y))
            for middle, level, half in boxes:
                beside = right < middle - half or left > middle + half
                assert beside or bottom < level - 8 or top > level + 8


def test_words_stand_on_one_line_in_their_order():
    tree = parse_tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")
    shown = texts(tree_svg(tree))
    bottom = max(y for _, _, y in shown)
    words = sorted((x, text) for text, x, y in shown if y == bottom)
    assert [text for _, text in words] == leaves(tree)


def test_lines_join_each_child_to_its_parent():
    tree = parse_tree("(S (NP (NN a)) (VP (VB b) (NP (NN c))))")
    root = ElementTree.fromstring(tree_svg(tree))
    paths = [path.get("d", "") for path in root.iter(f"{SVG}path")]
    inner = [node for node in preorder(tree) if isinstance(node, Tree)]
    assert [path.count("M") for path in paths] == [len(node.children) for node in inner]


def test_a_deep_tree_and_a_wide_one_are_drawn():
    deep = parse_tree("(A " * 3000 + "(NN x)" + ")" * 3000)
    wide = parse_tree("(S " + "(NN w)" * 400 + ")")
    for tree in (deep, wide):
        ElementTree.fromstring(tree_svg(tree))
