"""Trees as sequences of symbols, after Vinyals et al. 2015, "Grammar as a Foreign Language".

    (S (NP XX XX )NP (VP XX )VP )S                  tags "drop": every word is the symbol XX
    (S (NP DT NN )NP (VP VBZ )VP )S                 tags "keep": every word is its tag
    (S (NP the dog )NP (VP barks )VP )S             tags "words": every word is itself

A symbol that begins with "(" opens a constituent, one that begins with ")" closes it, any other
stands for the next word of the sentence. (No word of a tree holds a round bracket.) In the
vocabulary a word that stands for itself is the first of its pieces: one token, as every symbol.
"""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import Literal

from pipeline.corpora.punctuation import agreeing_tag
from pipeline.corpora.trees import ROOT, UNTAGGED, Tree, leaves, preorder

Tags = Literal["keep", "drop", "words"]
UNKNOWN_LABEL = "X"
ALWAYS = (f"({ROOT}", f"){ROOT}", f"({UNKNOWN_LABEL}", f"){UNKNOWN_LABEL}", UNTAGGED)


def linearise(tree: Tree, *, tags: Tags, known: Container[str] | None = None) -> list[str]:
    """The symbols of a cleaned tree.

    With `known`, the symbols of a vocabulary, a constituent whose label the vocabulary lacks is
    written as X, and a tag that it lacks as XX: dev and test may hold labels that training never
    showed. (Gold trees for scoring keep their labels.)
    """
    symbols: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            symbols.append(node)
        elif node.is_preterminal:
            if tags == "words":
                symbols.append(_word(node))
            else:
                tag = UNTAGGED if tags == "drop" else node.label
                symbols.append(tag if known is None or tag in known else UNTAGGED)
        else:
            opening = f"({node.label}"
            label = node.label if known is None or opening in known else UNKNOWN_LABEL
            symbols.append(f"({label}")
            stack.append(f"){label}")
            for child in reversed(node.children):
                assert isinstance(child, Tree), "linearise takes trees that clean() returned"
                stack.append(child)
    return symbols


def _word(preterminal: Tree) -> str:
    (word,) = preterminal.children
    assert isinstance(word, str)
    return word


def symbol_inventory(trees: Iterable[Tree], *, tags: Tags) -> list[str]:
    """Every symbol that linearising cleaned `trees` (the training split) needs, sorted.

    Always among them: both brackets of TOP and of X, and XX, the stand-ins of `linearise` and
    `delinearise`; and with each opening bracket its closing one.
    """
    names: set[str] = set(ALWAYS)
    for tree in trees:
        for node in preorder(tree):
            if isinstance(node, str):
                continue
            if not node.is_preterminal:
                names.update((f"({node.label}", f"){node.label}"))
            elif tags == "keep":
                names.add(node.label)
    return sorted(names)


def delinearise(
    symbols: Sequence[str], words: Sequence[str], *, tags: Tags
) -> tuple[Tree, Counter[str]]:
    """A tree over exactly `words`, whatever `symbols` are, and how often each repair was needed.

    Read left to right; the k-th word symbol takes the k-th word. The repairs, by their names:

    no_output          no word symbol at all: a flat TOP over all words (nothing else is counted)
    foreign_symbol     not a symbol of trees ("" or a bracket without label): left out
    surplus_leaf       a word symbol after the last word: left out
    missing_leaf       a word that no symbol stands for: added at the end of the root
    stray_close        a closing bracket where nothing is open: left out
    wrong_close        a closing bracket of a label that is not open: closes the innermost one
    unclosed           a constituent still open where one around it closes, or at the end: closed
    empty_constituent  a constituent without words: left out
    several_roots      more than one tree, or words outside any: put under one TOP

    Well-formed symbols need none, and give back the cleaned tree (with XX as tags unless they are
    kept).
    Raises ValueError if `words` is empty: a tree has words.
    """
    if not words:
        raise ValueError("a tree needs at least one word; an empty sentence has no tree")
    top, used, repairs = _build(symbols, words, tags)
    if used == 0:
        flat = Tree(ROOT, (Tree(UNTAGGED, (word,)) for word in words))
        return flat, Counter({"no_output": 1})
    if len(top) > 1 or top[0].is_preterminal:
        repairs["several_roots"] += 1
        top = [Tree(ROOT, top)]
    if used < len(words):
        repairs["missing_leaf"] += len(words) - used
        rest = [Tree(UNTAGGED, (word,)) for word in words[used:]]
        top = [Tree(top[0].label, [*top[0].children, *rest])]
    return top[0], repairs


def mend_tags(tree: Tree) -> tuple[Tree, int]:
    """A tree with tags that agree with its words (`agreeing_tag`), and how many did not."""
    words, symbols = leaves(tree), linearise(tree, tags="keep")
    rest = iter(words)
    mended = [s if s[0] in "()" else agreeing_tag(s, next(rest)) for s in symbols]
    if mended == symbols:
        return tree, 0
    changed = sum(new != old for new, old in zip(mended, symbols, strict=True))
    return delinearise(mended, words, tags="keep")[0], changed


def _build(
    symbols: Sequence[str], words: Sequence[str], tags: Tags
) -> tuple[list[Tree], int, Counter[str]]:
    """The trees that `symbols` describe, the number of words in them, and repairs."""
    repairs: Counter[str] = Counter()
    labels: list[str] = []
    children: list[list[Tree]] = [[]]  # one list more than labels: the last is the innermost
    used = 0

    def close() -> None:
        label, inside = labels.pop(), children.pop()
        if inside:
            children[-1].append(Tree(label, inside))
        else:
            repairs["empty_constituent"] += 1

    for symbol in symbols:
        if symbol in ("", "(", ")"):
            repairs["foreign_symbol"] += 1
        elif symbol[0] == "(":
            labels.append(symbol[1:])
            children.append([])
        elif symbol[0] != ")":
            if used == len(words):
                repairs["surplus_leaf"] += 1
            else:
                tag = symbol if tags == "keep" else UNTAGGED
                children[-1].append(Tree(tag, (words[used],)))
                used += 1
        elif not labels:
            repairs["stray_close"] += 1
        elif symbol[1:] not in labels:
            repairs["wrong_close"] += 1
            close()
        else:
            while labels[-1] != symbol[1:]:
                repairs["unclosed"] += 1
                close()
            close()
    while labels:
        repairs["unclosed"] += 1
        close()
    return children[0], used, repairs
