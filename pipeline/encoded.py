"""Encoded text at rest: for each side one flat array of token ids and one of offsets.

A sequence ends with eos_id and has no bos_id. Arrays are memory-mapped, so that reading needs no
memory beyond the offsets of the split (16 bytes a pair).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.errors import naming_damage
from pipeline.files import atomic_open

PAD_ID, BOS_ID, EOS_ID, UNK_ID = 0, 1, 2, 3
SIDES = ("src", "tgt")
CHUNK = 1 << 17


def token_dtype(vocab_size: int) -> np.dtype:
    return np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.uint32)


@dataclass(frozen=True)
class EncodedSplit:
    """One split of a corpus: pair i is `src(i)`, `tgt(i)`.

    tokens: 1-d unsigned ids; offsets: int64 of n + 1 entries, offsets[i]:offsets[i + 1] is pair i.
    """

    src_tokens: np.ndarray
    src_offsets: np.ndarray
    tgt_tokens: np.ndarray
    tgt_offsets: np.ndarray

    @classmethod
    def open(cls, folder: str | Path) -> "EncodedSplit":
        """Memory-map a folder. Raises ValueError where a file is missing or damaged, or the two
        sides differ in number."""
        folder = Path(folder)
        arrays = {
            f"{side}_{part}": read_array(folder / f"{side}_{part}.npy")
            for side in SIDES
            for part in ("tokens", "offsets")
        }
        split = cls(**arrays)
        if len(split.src_offsets) != len(split.tgt_offsets):
            raise ValueError(
                f"{folder}: {len(split.src_offsets) - 1} source and "
                f"{len(split.tgt_offsets) - 1} target sequences; encode the corpus again"
            )
        return split

    def __len__(self) -> int:
        return len(self.src_offsets) - 1

    def src(self, index: int) -> np.ndarray:
        return self.src_tokens[self.src_offsets[index] : self.src_offsets[index + 1]]

    def tgt(self, index: int) -> np.ndarray:
        return self.tgt_tokens[self.tgt_offsets[index] : self.tgt_offsets[index + 1]]

    def src_lengths(self) -> np.ndarray:
        """int32 tokens of each source, eos counted."""
        return _differences(self.src_offsets)

    def tgt_lengths(self) -> np.ndarray:
        """int32 tokens of each target, eos counted."""
        return _differences(self.tgt_offsets)


def read_lengths(folder: str | Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """int64 tokens of each source and target of a split, eos counted, some 100,000 at a time.

    The files are read, not mapped: of a mapped one the pages that were looked at count as memory.
    """
    sides = (_read_chunks(Path(folder) / f"{side}_offsets.npy") for side in SIDES)
    ends = np.zeros(2, dtype=np.int64)
    for chunks in zip(*sides, strict=True):
        src, tgt = (np.diff(chunk, prepend=end) for chunk, end in zip(chunks, ends, strict=True))
        ends = np.array([chunk[-1] for chunk in chunks])
        yield src, tgt


def _read_chunks(path: Path) -> Iterator[np.ndarray]:
    """The entries of an array of offsets after the first, which is 0."""
    with naming_damage(path), open(path, "rb") as stream:
        np.lib.format.read_magic(stream)
        (size,), _, dtype = np.lib.format.read_array_header_1_0(stream)
        stream.seek(dtype.itemsize, os.SEEK_CUR)
        for start in range(1, size, CHUNK):
            yield np.fromfile(stream, dtype=dtype, count=min(CHUNK, size - start))


def _differences(offsets: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.subtract(offsets[1:], offsets[:-1], dtype=np.int32, casting="unsafe")
    return lengths


def read_array(path: str | Path, *, mapped: bool = True) -> np.ndarray:
    """One .npy file. Raises ValueError naming it where it is missing or damaged."""
    with naming_damage(path):
        array: np.ndarray = np.load(path, mmap_mode="r" if mapped else None)
        return array


def write_array(path: str | Path, array: np.ndarray) -> None:
    """Write one .npy file atomically."""
    with atomic_open(path) as stream:
        np.lib.format.write_array(stream, array, allow_pickle=False)
