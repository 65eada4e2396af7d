"""Ragged rows of a flat token array as the padded grids that a model reads."""

from dataclasses import dataclass

import numpy as np

from pipeline.encoded import BOS_ID, PAD_ID, EncodedSplit

# B pairs, S and T longest source and target, N target tokens that are not padding


@dataclass(frozen=True)
class Grids:
    """A micro-batch: src_BS and tgt_BT (bos first, without the last token) are int64 ids,
    right-padded; targets_N are the tokens that follow those of tgt_BT, in reading order."""

    src_BS: np.ndarray
    tgt_BT: np.ndarray
    targets_N: np.ndarray


def gather(tokens: np.ndarray, offsets: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows `ids` of a flat array: their tokens one after another (int64), and their lengths."""
    starts = offsets[ids]
    lengths = offsets[ids + 1] - starts
    ends = np.cumsum(lengths)
    index = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
    return tokens[index].astype(np.int64), lengths


def to_grid(packed_N: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """[rows, longest], PAD_ID to the right of each row."""
    grid = np.full((len(lengths), lengths.max()), PAD_ID, dtype=np.int64)
    grid[np.arange(grid.shape[1]) < lengths[:, None]] = packed_N
    return grid


def read_grids(split: EncodedSplit, ids: np.ndarray) -> Grids:
    """The pairs `ids` (int64, at least one) of a split as a micro-batch."""
    src_M, src_lengths = gather(split.src_tokens, split.src_offsets, ids)
    targets_N, tgt_lengths = gather(split.tgt_tokens, split.tgt_offsets, ids)
    inputs_N = np.empty_like(targets_N)
    inputs_N[1:] = targets_N[:-1]
    inputs_N[np.cumsum(tgt_lengths) - tgt_lengths] = BOS_ID
    return Grids(to_grid(src_M, src_lengths), to_grid(inputs_N, tgt_lengths), targets_N)
