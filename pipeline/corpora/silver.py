"""Silver trees: which of a parser's own trees are good enough to train the next parser on.

The paper's semi-supervised parser trains on trees that other parsers agreed on or were sure of.
For those without such trees, a parser trained on the treebank alone parses raw text, and what is
kept is decided here. All functions are pure: lists in, positions out.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pipeline.corpora.linearise import linearise
from pipeline.corpora.trees import Tree, leaves


def select_confident(
    trees: Sequence[Tree],
    log_probs: Sequence[float],
    n_symbols: Sequence[int],
    *,
    share: float,
    repairs: Sequence[Counter[str]] | None = None,
    known: Iterable[Tree] = (),
) -> list[int]:
    """Positions of the trees to keep, ascending.

    The rule: (1) a tree that needed a repair goes, one over a sentence of `known` trees (those of
    the treebank, dev and test included), and every copy of one sentence but the first; (2) the
    rest stand in classes by number of words: 1-2, 3-4, 5-8, 9-16, and so on, twice as wide each;
    (3) of each class the best `share`, rounded up, by log-probability for each symbol
    (`log_probs[i] / n_symbols[i]`, eos counted) is kept. Without (2) short sentences, which are
    the easy ones, would crowd out the others, and the next parser would learn nothing about long
    ones.
    Equal confidence: the earlier tree first. Raises ValueError unless 0 < share <= 1.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share of trees to keep must be above 0 and at most 1: {share}")
    assert len(trees) == len(log_probs) == len(n_symbols)
    classes: dict[int, list[int]] = defaultdict(list)
    seen: set[tuple[str, ...]] = {tuple(leaves(tree)) for tree in known}
    for index, tree in enumerate(trees):
        words = tuple(leaves(tree))
        if words in seen or (repairs is not None and repairs[index]):
            continue
        seen.add(words)
        classes[length_class(len(words))].append(index)
    kept: list[int] = []
    for indices in classes.values():
        indices.sort(key=lambda i: (-log_probs[i] / n_symbols[i], i))
        kept += indices[: math.ceil(share * len(indices))]
    return sorted(kept)


def length_class(n_words: int) -> int:
    """0 for 1-2 words, 1 for 3-4, 2 for 5-8, 3 for 9-16, and so on."""
    return max(0, (n_words - 1).bit_length() - 1)


def agreeing(first: Sequence[Tree], second: Sequence[Tree]) -> list[int]:
    """Positions where two parsers gave the same brackets, whatever their tags.

    The stronger test of confidence, at twice the cost: two models of different seeds seldom make
    the same error. Both must have parsed the same sentences. Raises ValueError if not.
    """
    if len(first) != len(second):
        raise ValueError(f"parsers gave different numbers of trees: {len(first)} and {len(second)}")
    kept = []
    for index, (one, other) in enumerate(zip(first, second, strict=True)):
        if leaves(one) != leaves(other):
            raise ValueError(f"tree {index + 1}: the parsers read different words")
        if linearise(one, tags="drop") == linearise(other, tags="drop"):
            kept.append(index)
    return kept
