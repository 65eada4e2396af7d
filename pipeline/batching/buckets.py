"""Pairs of like lengths side by side: the static part of batching, made once a corpus.

A *bucket* holds the pairs of exactly one source and one target length. Buckets lie in the order of
(source, target) length, so that an epoch's plan (`pipeline.batching.plan`) needs nothing but them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.encoded import EncodedSplit, write_array


@dataclass(frozen=True)
class Buckets:
    """Bucket b holds the pairs order[offsets[b]:offsets[b + 1]], of the lengths src[b], tgt[b].

    order: pair ids, each once; uint32, or int64 where they or lengths are huge. offsets: int64,
    one more than there are buckets; src, tgt: int64 tokens, eos counted.
    """

    order: np.ndarray
    offsets: np.ndarray
    src: np.ndarray
    tgt: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def src_tokens(self) -> int:
        return int(self.src @ self.sizes)

    @property
    def tgt_tokens(self) -> int:
        return int(self.tgt @ self.sizes)

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.order)

    def up_to(self, longest: int) -> "Buckets":
        """Without the buckets whose longer side has more than `longest` tokens."""
        kept = np.maximum(self.src, self.tgt) <= longest
        if kept.all():
            return self
        order = self.order[np.repeat(kept, self.sizes)]
        offsets = np.concatenate([[0], np.cumsum(self.sizes[kept])])
        return Buckets(order, offsets, self.src[kept], self.tgt[kept])


def bucket_pairs(src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> Buckets:
    """Group pairs by their two lengths.

    src_lengths, tgt_lengths: tokens of each pair, eos counted. Raises ValueError for a sequence
    of no tokens: encoding always ends one with eos.
    """
    assert len(src_lengths) == len(tgt_lengths)
    empty = np.flatnonzero((src_lengths < 1) | (tgt_lengths < 1))
    if len(empty):
        raise ValueError(
            f"{len(empty)} pairs have a side of no tokens, not even eos; encode the corpus again; "
            f"the first is pair {empty[0]}"
        )
    if not len(src_lengths):
        raise ValueError("the training split holds no pairs; check the corpus and its filters")
    width = int(tgt_lengths.max()) + 1
    key = src_lengths.astype(np.int64)
    key *= width
    key += tgt_lengths
    if len(key) < 1 << 32 and int(key.max()) < 1 << 31:
        key <<= 32  # key and pair id in one number are sorted in place: 36 M pairs fit in memory
        key |= np.arange(len(key), dtype=np.uint32)
        key.sort()
        order = np.empty(len(key), dtype=np.uint32)
        np.bitwise_and(key, (1 << 32) - 1, out=order, casting="unsafe")
        key >>= 32
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
    starts = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
    src, tgt = np.divmod(key[starts], width)
    return Buckets(order, np.append(starts, len(order)), src, tgt)


def write_buckets(folder: str | Path, buckets: Buckets) -> None:
    """Write order.npy and offsets.npy; the lengths are read back from the encoded split."""
    write_array(Path(folder) / "order.npy", buckets.order)
    write_array(Path(folder) / "offsets.npy", buckets.offsets)


def open_buckets(folder: str | Path, split: EncodedSplit) -> Buckets:
    """Read what `write_buckets` wrote for this split (order is memory-mapped).

    Raises ValueError where the buckets belong to another split.
    """
    order = np.load(Path(folder) / "order.npy", mmap_mode="r")
    offsets = np.load(Path(folder) / "offsets.npy")
    if len(order) != len(split):
        raise ValueError(
            f"{folder}: buckets of {len(order)} pairs, but the split has {len(split)}; "
            "run the step bucket again"
        )
    first = order[offsets[:-1]].astype(np.int64)
    src, tgt = (side[first + 1] - side[first] for side in (split.src_offsets, split.tgt_offsets))
    return Buckets(order, offsets, src, tgt)
