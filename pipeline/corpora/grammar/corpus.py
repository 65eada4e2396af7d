"""Corpora from the grammar: sizes and a seed in, splits of pairs or trees out.

Held-out splits come first and do not depend on the size of the training text; a larger training
split of the same seed begins with the smaller one. No sentence occurs twice in a corpus, and no
training sentence shares its template together with its content words with a held-out sentence.
"""

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pipeline.corpora.grammar import english, french, german
from pipeline.corpora.grammar.derive import (
    RELATIVE_BOOST,
    Node,
    binds_itself,
    content,
    derive,
    nesting,
    template,
)

HELD_OUT = ("test", "dev")
# share of sentences with a relative clause inside a relative clause
PROBE_SHARE = {"train": 0.03, "dev": 0.1, "test": 0.1}
MAX_WORDS = 16  # English tokens


class Sentence(NamedTuple):
    node: Node
    tree: english.Tree
    english: str


def generate_pairs(
    *, target_language: str, sizes: Mapping[str, int], seed: int
) -> dict[str, list[tuple[str, str]]]:
    """Pairs of English and German ("de") or French ("fr") sentences: raw, cased text.

    Raises ValueError for another language or a split without a known share of probes.
    """
    realisers = {"de": german, "fr": french}
    if target_language not in realisers:
        raise ValueError(
            f"target_language must be one of {', '.join(realisers)}, or null for trees: "
            f"{target_language!r}"
        )
    realiser = realisers[target_language]
    return {
        split: [(s.english, realiser.text(realiser.sentence(s.node))) for s in sentences]
        for split, sentences in generate(sizes=sizes, seed=seed).items()
    }


def generate_trees(*, sizes: Mapping[str, int], seed: int) -> dict[str, list[str]]:
    """English trees, one line each; `words_of` gives their words."""
    return {
        split: [english.brackets(s.tree) for s in sentences]
        for split, sentences in generate(sizes=sizes, seed=seed).items()
    }


def words_of(tree: str) -> str:
    """The words of a bracketed tree, joined by a space."""
    return " ".join(part.rstrip(")") for part in tree.split() if not part.startswith("("))


def generate(*, sizes: Mapping[str, int], seed: int) -> dict[str, list[Sentence]]:
    """The sentences of each split, in the order of `sizes`."""
    unknown = sorted(set(sizes) - set(PROBE_SHARE))
    if unknown:
        raise ValueError(f"sizes: splits are train, dev and test, not: {', '.join(unknown)}")
    texts: set[str] = set()
    held_out: set[tuple[str, tuple[str, ...]]] = set()
    splits: dict[str, list[Sentence]] = {}
    for split in (*HELD_OUT, "train"):
        splits[split] = []
        stream = _sentences(random.Random(f"{seed} {split}"), PROBE_SHARE[split])
        while len(splits[split]) < sizes.get(split, 0):
            sentence = next(stream)
            key = (template(sentence.node), content(sentence.node))
            if key in held_out or sentence.english in texts:
                continue
            if split in HELD_OUT:
                held_out.add(key)
            texts.add(sentence.english)
            splits[split].append(sentence)
    return {split: splits[split] for split in sizes}


def _sentences(rng: random.Random, probe_share: float) -> Iterator[Sentence]:
    while True:
        is_probe = rng.random() < probe_share
        while True:
            node = derive(rng, boost=RELATIVE_BOOST if is_probe else 1.0)
            if (nesting(node) >= 2) != is_probe or binds_itself(node):
                continue
            tree = english.sentence(node)
            words = english.words(tree)
            if len(words) <= MAX_WORDS:
                break
        yield Sentence(node, tree, english.text(words))
