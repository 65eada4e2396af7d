"""One update over ranks and micro-batches: the same pairs whatever their numbers."""

import numpy as np


def split_update(
    src: np.ndarray, tgt: np.ndarray, *, ranks: int, max_tokens: int
) -> list[list[np.ndarray]]:
    """Deal the pairs of an update: result[rank][micro_batch] is an array of indices into it.

    src, tgt: tokens of each pair. Pairs of like lengths go together, each rank gets the same
    number of micro-batches (some may hold no pair) and about the same number of tokens, and a
    micro-batch has at most `max_tokens` padded tokens on its larger side.
    Raises ValueError for a pair that is longer than `max_tokens`.
    """
    larger = np.maximum(src, tgt)
    if len(larger) and larger.max() > max_tokens:
        raise ValueError(
            f"max_tokens must hold the longest pair, of {larger.max()} tokens: {max_tokens}"
        )
    if ranks == 1 and len(src) * max(larger.max(initial=0), 1) <= max_tokens:
        return [[np.arange(len(src))]]
    order = np.lexsort((src + tgt, larger))
    tokens = np.cumsum((src + tgt)[order])
    pieces = ranks
    while True:
        cuts = np.searchsorted(tokens, np.arange(1, pieces) * (tokens[-1] / pieces))
        parts = np.split(order, cuts)
        if all(len(p) * larger[p].max(initial=0) <= max_tokens for p in parts):
            return [parts[rank::ranks] for rank in range(ranks)]
        pieces += ranks


def padded_tokens(src: np.ndarray, tgt: np.ndarray) -> int:
    """Cells of the source grid and the target grid of a micro-batch of these lengths."""
    return int(len(src) * src.max() + len(tgt) * tgt.max()) if len(src) else 0


def length_batches(src: np.ndarray, tgt: np.ndarray, *, max_tokens: int) -> list[np.ndarray]:
    """All pairs in batches of like lengths (int64 ids), each of at most `max_tokens` padded
    tokens on its larger side; for reading a split once, where order does not matter."""
    larger = np.maximum(src, tgt)
    order = np.lexsort((src, tgt, larger))
    batches, start = [], 0
    while start < len(order):
        reach = order[start : start + max_tokens]
        fits = np.arange(1, len(reach) + 1) * larger[reach] <= max_tokens
        end = start + max(1, int(fits.argmin()) if not fits.all() else len(reach))
        batches.append(order[start:end])
        start = end
    return batches
