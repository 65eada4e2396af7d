"""What no model needs to score: the source copied, and the translation of a similar sentence.

Both say how much of a corpus can be had without learning to translate; the corpus card shows them.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

K1, B = 1.2, 0.75  # the usual constants of BM25


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

    Similarity is BM25 over lower-cased words and pairs of neighbouring words, so that shared word
    order counts too.
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
    """Sentences by the terms they hold, each posting with its BM25 weight."""

    def __init__(self, sentences: Sequence[str]) -> None:
        postings: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        lengths = np.zeros(len(sentences))
        for number, sentence in enumerate(sentences):
            terms = Counter(_terms(sentence))
            lengths[number] = terms.total()
            for term, count in terms.items():
                numbers, counts = postings[term]
                numbers.append(number)
                counts.append(count)
        damping = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0))
        self._size = len(sentences)
        self._postings: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for term, (numbers, counts) in postings.items():
            where, count = np.array(numbers), np.array(counts, dtype=float)
            rarity = math.log(1 + (self._size - len(where) + 0.5) / (len(where) + 0.5))
            self._postings[term] = where, rarity * count * (K1 + 1) / (count + damping[where])

    def nearest(self, sentence: str) -> int:
        scores = np.zeros(self._size)
        for term in _terms(sentence):
            if term in self._postings:
                where, weights = self._postings[term]
                scores[where] += weights
        return int(scores.argmax())


def _terms(sentence: str) -> list[str]:
    words = sentence.lower().split()
    return words + [f"{first} {second}" for first, second in pairwise(words)]
