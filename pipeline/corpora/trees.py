"""Constituency trees: reading bracketed treebanks of any layout, and cleaning them for parsing.

Nothing here recurses, so a tree may be as deep as its file. White space is the space, the tab, and
the ends of lines ("\\n", "\\r\\n"); every other character, a no-break space too, is part of a word.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO

from pipeline.files import iter_lines

ROOT = "TOP"
WRAPPERS = frozenset({"", "ROOT", "TOP", "S1"})
EMPTY_ELEMENT = "-NONE-"
UNTAGGED = "XX"
WORD = re.compile(r"[^ \t\r\n]+")
TOKEN = re.compile(r"[()]|[^ \t\r\n()]+")
UNWRITABLE = re.compile(r"[ \t\r\n()]")


class Tree:
    """A constituent or, if its only child is a word, a pre-terminal: label and children.

    label: a category or part-of-speech tag, "" for a bracket without one. children: Trees and
    words (str). Treat both as fixed: trees are compared and hashed by value.
    """

    __slots__ = ("children", "label")

    def __init__(self, label: str, children: Iterable["Tree | str"]) -> None:
        self.label = label
        self.children = tuple(children)

    @property
    def is_preterminal(self) -> bool:
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return list(_shape(self)) == list(_shape(other))

    def __hash__(self) -> int:
        return hash(tuple(_shape(self)))

    def __repr__(self) -> str:
        words = leaves(self)
        return f"<Tree {self.label}, {len(words)} words: {' '.join(words)[:60]!r}>"


def parse_tree(text: str) -> Tree:
    """The one tree that `text` holds. Raises ValueError if it is damaged, empty, or not alone."""
    trees = list(_scan(enumerate(text.split("\n"), start=1), "tree", None))
    if len(trees) != 1:
        raise ValueError(f"one tree expected, {len(trees)} found: {text[:60]!r}")
    return trees[0]


def read_trees(
    source: str | Path | IO[bytes],
    *,
    name: str | None = None,
    counts: Counter[str] | None = None,
) -> Iterator[Tree]:
    """Yield the trees of a treebank file or binary stream as they are written, not cleaned.

    Trees may span lines or share one. A tree without a single word, such as the "(())" of a parser
    that gave up, is skipped and counted as "empty" in `counts`; without `counts` it is an error.
    Raises ValueError naming file and line: text outside a tree, a stray or missing bracket, an
    empty tree, bytes that are not UTF-8. `name` stands for the file in them.
    """
    name = name or str(source)
    return _scan(enumerate(iter_lines(source, name=name), start=1), name, counts)


def clean(tree: Tree) -> Tree:
    """The tree that is learnt and scored: bare categories over the words of the sentence.

    Traces (-NONE-) go, and so do constituents left without a word; labels lose function tags and
    indices (`bare_label`); brackets without a label give their children to their parent; a word
    without a tag of its own gets XX. The root: wrappers ("", ROOT, TOP, S1) around one constituent
    are taken off; if one holds several children, or a word alone, it becomes TOP. So the root is
    never a pre-terminal. Chains of constituents with one child stay.
    Raises ValueError if no word is left.
    """
    top: list[Tree] = []
    stack = [("", iter((tree,)), top)]
    while stack:
        label, children, kept = stack[-1]
        for child in children:
            if isinstance(child, str):
                kept.append(Tree(UNTAGGED, (child,)))
                continue
            inside = child.children
            if len(inside) != 1 or not isinstance(inside[0], str):
                stack.append((bare_label(child.label), iter(inside), []))
                break
            if child.label != EMPTY_ELEMENT:
                kept.append(Tree(bare_label(child.label) or UNTAGGED, inside))
        else:
            stack.pop()
            if not stack:
                break
            parent = stack[-1][2]
            if label == "" and len(stack) > 1:
                parent.extend(kept)
            elif kept:
                parent.append(Tree(label, kept))
    if not top:
        raise ValueError(f"tree without words but traces: {' '.join(leaves(tree))[:60]!r}")
    return _with_one_root(top[0])


@cache
def bare_label(label: str) -> str:
    """The category before the first "-" or "=": NP-SBJ-1 gives NP, ADVP=2 ADVP.

    A label that begins with one of the two (-LRB-, -RRB-, -NONE-, --) is whole as it stands.
    """
    if label[:1] in ("-", "="):
        return label
    return label.partition("-")[0].partition("=")[0]


def to_line(tree: Tree) -> str:
    """The tree on one line; `parse_tree` gives it back.

    Raises ValueError for a word or label that holds white space or a bracket, or a word of no
    characters: the line could not be read again. Brackets in text are written -LRB- and -RRB-.
    """
    pieces: list[str] = []
    names: list[str] = []
    stack: list[Tree | str | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            pieces.append(")")
        elif isinstance(node, str):
            names.append(node)
            pieces.append(f" {node}")
        else:
            children = node.children
            # A word right after "(" would be taken for the label.
            if node.label or not children or isinstance(children[0], str):
                names.append(node.label)
            pieces.append(f" ({node.label}")
            stack.append(None)
            stack.extend(children[::-1])
    if "" in names or UNWRITABLE.search("".join(names)):
        wrong = next(name for name in names if name == "" or UNWRITABLE.search(name))
        raise ValueError(f"a word or label that no line of a tree can hold: {wrong!r}")
    return "".join(pieces)[1:]


def leaves(tree: Tree) -> list[str]:
    """The words, left to right."""
    words: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            words.append(node)
        else:
            stack.extend(node.children[::-1])
    return words


def tagged_leaves(tree: Tree) -> list[tuple[str, str]]:
    """(word, part-of-speech tag) for each word; the tag is XX where the word has none."""
    result = []
    stack: list[tuple[Tree | str, str]] = [(tree, UNTAGGED)]
    while stack:
        node, tag = stack.pop()
        if isinstance(node, str):
            result.append((node, tag))
        else:
            tag = node.label if node.is_preterminal else UNTAGGED
            stack.extend((child, tag) for child in reversed(node.children))
    return result


def split_words(line: str) -> list[str]:
    """The words of a line that holds the leaves of a tree, joined by spaces; [] if it is blank.

    str.split would also break words at no-break spaces and their kin.
    """
    return WORD.findall(line)


def preorder(tree: Tree) -> Iterator[Tree | str]:
    """Every node and word, a parent before its children, left to right."""
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Tree):
            stack.extend(reversed(node.children))


def _scan(
    lines: Iterable[tuple[int, str]], name: str, counts: Counter[str] | None
) -> Iterator[Tree]:
    labels: list[str | None] = []  # of open brackets; None until the label was read
    children: list[list[Tree | str]] = []
    begin, has_words = 0, False
    for number, line in lines:
        for token in TOKEN.findall(line):
            if token == "(":
                if not labels:
                    begin, has_words = number, False
                labels.append(None)
                children.append([])
            elif token != ")":
                if not labels:
                    raise ValueError(f"{name}, line {number}: text outside a tree: {token[:60]!r}")
                if labels[-1] is None and not children[-1]:
                    labels[-1] = token
                else:
                    children[-1].append(token)
                    has_words = True
            elif not labels:
                raise ValueError(f"{name}, line {number}: a closing bracket that opens nowhere")
            else:
                tree = Tree(labels.pop() or "", children.pop())
                if labels:
                    children[-1].append(tree)
                elif has_words:
                    yield tree
                elif counts is None:
                    raise ValueError(f"{name}, line {begin}: a tree without words")
                else:
                    counts["empty"] += 1
    if labels:
        raise ValueError(
            f"{name}, line {begin}: the tree that begins here lacks {len(labels)} closing "
            "bracket(s) at the end of the file; the file is cut off, or this tree damaged"
        )


def _with_one_root(tree: Tree) -> Tree:
    while tree.label in WRAPPERS and len(tree.children) == 1:
        child = tree.children[0]
        if isinstance(child, str) or child.is_preterminal:
            break
        tree = child
    if tree.is_preterminal:
        return Tree(ROOT, (tree,))
    return Tree(ROOT, tree.children) if tree.label in WRAPPERS else tree


def _shape(tree: Tree) -> Iterator[str | tuple[str, int]]:
    for node in preorder(tree):
        yield node if isinstance(node, str) else (node.label, len(node.children))
