"""Section 5.1: which pairs each update sees; a pure function of the buckets, seed and epoch.

Updates are cut from a line of pairs on which like lengths stand together. To keep padding low on
both sides, the line runs through *strips*: the source lengths are cut into strips, and inside a
strip pairs are sorted by target length, upwards in one strip and downwards in the next. What is
random in each epoch: the borders of the strips, the order of pairs of the same strip and target
length, where the first update ends, and the order of the updates.
"""

from dataclasses import dataclass

import numpy as np

from pipeline.batching.buckets import Buckets

SMALLEST_SHARE = 0.5  # of tokens_per_step: no update is smaller, however a corpus divides


@dataclass(frozen=True)
class Epoch:
    """Update u sees the pairs order[bounds[u, 0]:bounds[u, 1]].

    order: pair ids, each once; bounds: int64 [updates, 2], in the order of training.
    """

    order: np.ndarray
    bounds: np.ndarray

    def __len__(self) -> int:
        """Number of updates."""
        return len(self.bounds)

    def update(self, index: int) -> np.ndarray:
        """int64 ids of the pairs of one update, neighbours of like lengths."""
        start, end = self.bounds[index]
        return self.order[start:end].astype(np.int64)


def plan_epoch(buckets: Buckets, *, tokens_per_step: int, seed: int, epoch: int) -> Epoch:
    """Deal each pair to one update of at most `tokens_per_step` tokens on its larger side.

    Tokens count eos, not padding. No pair may be longer than that (`Buckets.up_to`).
    """
    assert max(buckets.src.max(), buckets.tgt.max()) <= tokens_per_step
    rng = np.random.default_rng((seed, epoch))
    line = _line_of_buckets(buckets, tokens_per_step=tokens_per_step, rng=rng)
    bucket_of_pair = np.repeat(np.arange(len(buckets.src), dtype=np.uint32), buckets.sizes)
    position = np.arange(len(buckets), dtype=buckets.order.dtype)
    rng.shuffle(position)
    position = position[np.argsort(line[bucket_of_pair[position]], kind="stable")]
    bucket_of_pair = bucket_of_pair[position]
    bounds = _cut(
        [np.cumsum(side.astype(np.int32)[bucket_of_pair]) for side in (buckets.src, buckets.tgt)],
        tokens_per_step=tokens_per_step,
        first=SMALLEST_SHARE + (1 - SMALLEST_SHARE) * rng.random(),
    )
    return Epoch(buckets.order[position], bounds[rng.permutation(len(bounds))])


def _line_of_buckets(
    buckets: Buckets, *, tokens_per_step: int, rng: np.random.Generator
) -> np.ndarray:
    """Place of each bucket on the line: equal for the buckets whose pairs mix.

    With p updates' worth of tokens per unit of log source length, a strip as wide as
    1 / sqrt(p) wastes as much padding by its own width as by the spread of target lengths that
    the updates inside it still see.
    """
    larger = np.maximum(buckets.src, buckets.tgt) * buckets.sizes
    lengths = np.arange(1, int(buckets.src.max()) + 1)
    updates = np.bincount(buckets.src, weights=larger)[1:] / tokens_per_step
    strips = np.cumsum(np.sqrt(updates / lengths))
    strip = np.floor(strips + rng.random()).astype(np.int64)[buckets.src - 1]
    longest = int(buckets.tgt.max())
    key = strip * (longest + 1) + np.where(strip % 2, longest - buckets.tgt, buckets.tgt)
    place = np.unique(key, return_inverse=True)[1]
    return place.astype(np.uint16 if place.max() < 1 << 16 else np.uint32)  # sorts faster


def _cut(ends: list[np.ndarray], *, tokens_per_step: int, first: float) -> np.ndarray:
    """Cut a line of pairs into updates: int64 [updates, 2].

    ends: of the source and of the target, the tokens on the line up to the end of each pair.
    The first update takes the share `first` of the tokens, the last two share what is left.
    """

    def before(side: np.ndarray, pair: int) -> int:
        return int(side[pair - 1]) if pair else 0

    def take(start: int, tokens: int) -> int:
        return min(
            int(np.searchsorted(side, before(side, start) + tokens, side="right")) for side in ends
        )

    def tokens(start: int, end: int) -> list[int]:
        return [before(side, end) - before(side, start) for side in ends]

    cuts = [0, max(1, take(0, int(first * tokens_per_step)))]
    while cuts[-1] < len(ends[0]):
        cuts.append(take(cuts[-1], tokens_per_step))
    if len(cuts) > 2:
        start, middle, end = cuts[-3:]
        both = ends[0][start:end] + ends[1][start:end]
        half_of_all = sum(before(side, start) for side in ends) + sum(tokens(start, end)) / 2
        half = start + 1 + int(np.searchsorted(both, half_of_all))
        small = max(tokens(middle, end)) < SMALLEST_SHARE * tokens_per_step
        fits = max(tokens(half, end)) <= tokens_per_step
        if small and fits and start < half < middle:
            cuts[-2] = half
    return np.stack([cuts[:-1], cuts[1:]], axis=1)
