"""What no model needs to score: the source copied, and the translation of a similar sentence.

Both say how much of a corpus can be had without learning to translate; the corpus card shows them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def copy_source(sources: Sequence[str]) -> list[str]:
    """The hypotheses of a system that gives back its input."""
    return list(sources)


def nearest_sentence(
    sources: Sequence[str],
    *,
    train_sources: Sequence[str],
    train_targets: Sequence[str],
) -> list[str]:
    """For each source, the target of the most similar training source; ties go to the first.

    Similarity is Dice's coefficient, twice what two sentences share over what they have, of words
    and pairs of neighbouring words, lower-cased and weighted by rarity: order and length count.
    Raises ValueError if the training sides differ in length or are empty.
    """
    if len(train_sources) != len(train_targets) or not train_sources:
        raise ValueError(
            f"train_sources and train_targets must be equally many and not empty: "
            f"{len(train_sources)} and {len(train_targets)}"
        )
    index = _Index(train_sources)
    return [train_targets[index.nearest(source)] for source in sources]


class _Index:
    """Sentences by the terms they hold."""

    def __init__(self, sentences: Sequence[str]) -> None:
        postings: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for number, sentence in enumerate(sentences):
            for term, count in Counter(_terms(sentence)).items():
                numbers, counts = postings[term]
                numbers.append(number)
                counts.append(count)
        self._size = len(sentences)
        self._totals = np.zeros(self._size)  # weight of all terms of a sentence
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for term, (numbers, counts) in postings.items():
            where, count = np.array(numbers), np.array(counts, dtype=float)
            self._postings[term] = where, count
            self._totals[where] += self._rarity(len(where)) * count

    def nearest(self, sentence: str) -> int:
        shared = np.zeros(self._size)
        total = 0.0
        for term, count in Counter(_terms(sentence)).items():
            where, counts = self._postings.get(term, (np.array([], dtype=int), np.array([])))
            rarity = self._rarity(len(where))
            shared[where] += rarity * np.minimum(counts, count)
            total += rarity * count
        return int((shared / (self._totals + total)).argmax())

    def _rarity(self, sentences: int) -> float:
        """Inverse document frequency of a term that so many sentences hold."""
        return math.log(1 + (self._size + 0.5) / (sentences + 0.5))


def _terms(sentence: str) -> list[str]:
    words = sentence.lower().split()
    return words + [f"{first} {second}" for first, second in pairwise(words)]
