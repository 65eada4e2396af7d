"""Pairs of like lengths side by side: the static part of batching, made once a corpus.

A *bucket* holds the pairs of exactly one source and one target length. Buckets lie in the order of
(source, target) length, so that an epoch's plan (`pipeline.batching.plan`) needs nothing but them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from pipeline.encoded import EncodedSplit, write_array
from pipeline.files import atomic_open

SHIFT = 31  # bits of a target length in a bucket's key
# tokens of each source and target, chunk by chunk; called for each pass over the pairs
Lengths = Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]


@dataclass(frozen=True)
class Buckets:
    """Bucket b holds the pairs order[offsets[b]:offsets[b + 1]], of the lengths src[b], tgt[b].

    order: pair ids, each once; uint32, or int64 where there are more. offsets: int64,
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

    def thinned(self, most: int) -> "Buckets":
        """As many pairs, evenly over all lengths, as do not exceed `most`; ids count from 0."""
        n = min(len(self), most)
        offsets = self.offsets * n // len(self)
        return Buckets(np.arange(n), offsets, self.src, self.tgt)

    def up_to(self, longest: int) -> "Buckets":
        """Without the buckets whose longer side has more than `longest` tokens."""
        kept = np.maximum(self.src, self.tgt) <= longest
        if kept.all():
            return self
        order = self.order[np.repeat(kept, self.sizes)]
        offsets = np.concatenate([[0], np.cumsum(self.sizes[kept])])
        return Buckets(order, offsets, self.src[kept], self.tgt[kept])


def bucket_pairs(src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> Buckets:
    """Group pairs by their two lengths, in memory.

    src_lengths, tgt_lengths: tokens of each pair, eos counted. Raises ValueError for a sequence
    of no tokens, since encoding always ends one with eos, and where there is no pair.
    """
    assert len(src_lengths) == len(tgt_lengths)
    return _deal(lambda: [(src_lengths, tgt_lengths)], lambda dtype, n: np.empty(n, dtype))


def write_buckets(folder: str | Path, lengths: Lengths) -> Buckets:
    """Group the pairs of `lengths` and write order.npy and offsets.npy; `order` is the file's.

    The lengths are read back from the encoded split (`open_buckets`). Memory does not grow with
    the number of pairs. Raises ValueError as `bucket_pairs` does.
    """
    folder = Path(folder)
    with atomic_open(folder / "order.npy") as stream:
        buckets = _deal(lengths, lambda dtype, n: ArrayFile(stream, dtype, n))
    write_array(folder / "offsets.npy", buckets.offsets)
    return replace(buckets, order=np.load(folder / "order.npy", mmap_mode="r"))


class ArrayFile:
    """A new one-dimensional .npy file to which slices are assigned, none of it held in memory."""

    def __init__(self, stream: IO[bytes], dtype: np.dtype, size: int) -> None:
        header = {"descr": dtype.str, "fortran_order": False, "shape": (size,)}
        np.lib.format.write_array_header_1_0(stream, header)
        self._stream, self._dtype, self._base = stream, dtype, stream.tell()

    def __setitem__(self, place: slice, values: np.ndarray) -> None:
        self._stream.seek(self._base + place.start * self._dtype.itemsize)
        self._stream.write(values.astype(self._dtype).tobytes())


def _deal(lengths: Lengths, new: Callable[[np.dtype, int], Any]) -> Buckets:
    """A counting sort by both lengths in two passes; pairs of a bucket keep their order.

    new: makes the array of pair ids, of a type and size.
    """
    keys, sizes = _count(lengths())
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    order = new(np.dtype(np.uint32 if n <= 1 << 32 else np.int64), n)
    free, first = offsets[:-1].copy(), 0
    for src, tgt in lengths():
        bucket = np.searchsorted(keys, _keys(src, tgt))
        ids = np.argsort(bucket, kind="stable")
        present, starts, counts = np.unique(bucket[ids], return_index=True, return_counts=True)
        ids += first
        for b, start, count in zip(present, starts, counts, strict=True):
            order[free[b] : free[b] + count] = ids[start : start + count]
        free[present] += counts
        first += len(src)
    return Buckets(order, offsets, keys >> SHIFT, keys & ((1 << SHIFT) - 1))


def _count(chunks: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The keys of all buckets, ascending, and how many pairs each holds."""
    keys = sizes = np.empty(0, dtype=np.int64)
    done = 0
    for src, tgt in chunks:
        empty = np.flatnonzero((src < 1) | (tgt < 1))
        if len(empty):
            raise ValueError(
                "a pair has a side of no tokens, not even eos; encode the corpus again: "
                f"pair {done + empty[0]}"
            )
        done += len(src)
        found, counts = np.unique(_keys(src, tgt), return_counts=True)
        both, place = np.unique(np.concatenate([keys, found]), return_inverse=True)
        weights = np.concatenate([sizes, counts])
        keys, sizes = both, np.bincount(place, weights).astype(np.int64)
    if not done:
        raise ValueError("the training split holds no pairs; check the corpus and its filters")
    return keys, sizes


def _keys(src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    keys: np.ndarray = (src.astype(np.int64) << SHIFT) | tgt
    return keys


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
