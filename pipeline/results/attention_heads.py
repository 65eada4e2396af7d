"""Which heads of an attention map are worth showing, by measures that are written down."""

from dataclasses import dataclass

import numpy as np

# H heads, Q query positions, K key positions; each row of a map sums to 1


@dataclass(frozen=True)
class Choice:
    """Heads and a query position to draw, and why."""

    heads: tuple[int, ...]
    query: int | None
    reason: str


def distances(maps_HQK: np.ndarray) -> np.ndarray:
    """[H, Q]: mean distance |query - key| that a head looks, weighted by attention."""
    n_queries, n_keys = maps_HQK.shape[1:]
    apart_QK = np.abs(np.arange(n_queries)[:, None] - np.arange(n_keys)[None, :])
    return (maps_HQK * apart_QK).sum(axis=-1)


def entropies(maps_HQK: np.ndarray) -> np.ndarray:
    """[H, Q]: entropy in bits of a head's attention at a position; 0 is one key alone."""
    safe_HQK = np.clip(maps_HQK, 1e-12, 1.0)
    return -(safe_HQK * np.log2(safe_HQK)).sum(axis=-1)


def long_distance(maps_HQK: np.ndarray, words: list[str], *, query: int | None = None) -> Choice:
    """As Figure 3: all heads at the word from which they look furthest together.

    Words without a letter (punctuation, end of sentence) are not chosen and not looked at.
    """
    lettered = _lettered(words)
    if query is None:
        seen_HQK = maps_HQK * lettered[None, None, :]
        reach_Q = np.where(lettered, distances(seen_HQK).mean(axis=0), -np.inf)
        query = int(reach_Q.argmax())
        reason = f"{words[query]!r}: the word from which all heads together look furthest"
    else:
        reason = f"{words[query]!r}: chosen by hand"
    return Choice(tuple(range(len(maps_HQK))), query, reason)


def sharpest(maps_HQK: np.ndarray, words: list[str], *, query: int, n_heads: int = 2) -> Choice:
    """As Figure 4: the heads whose attention at `query` is the most decided, itself left out."""
    others_HK = maps_HQK[:, query].copy()
    others_HK[:, query] = 0.0
    others_HK *= _lettered(words)
    order = np.argsort(-others_HK.max(axis=-1), kind="stable")[:n_heads]
    heads = tuple(int(head) for head in order)
    return Choice(heads, query, f"{words[query]!r}: the heads that look hardest at one other word")


def most_different(maps_HQK: np.ndarray) -> Choice:
    """As Figure 5: the two heads whose maps lie furthest apart (mean total variation)."""
    n_heads = len(maps_HQK)
    if n_heads < 2:
        return Choice(tuple(range(n_heads)), None, "the only head")
    apart_HH = np.abs(maps_HQK[:, None] - maps_HQK[None, :]).sum(axis=-1).mean(axis=-1) / 2
    first, second = np.unravel_index(apart_HH.argmax(), apart_HH.shape)
    heads = tuple(sorted((int(first), int(second))))
    return Choice(heads, None, f"most different heads, total variation {apart_HH.max():.2f}")


def merge_pieces(
    maps_HQK: np.ndarray, pieces: list[str], *, mark: str = "\u2581"
) -> tuple[np.ndarray, list[str]]:
    """Maps between words from maps between subwords: keys add up, queries are averaged.

    A piece that starts with `mark` starts a word; so do special symbols ("</s>") and punctuation
    at the end of a word. Rows still sum to 1.
    """
    starts = [i for i, piece in enumerate(pieces) if i == 0 or _starts_word(pieces, i, mark)]
    ends = [*starts[1:], len(pieces)]
    words = ["".join(pieces[a:b]).replace(mark, "") for a, b in zip(starts, ends, strict=True)]
    maps_HQK = np.add.reduceat(maps_HQK, starts, axis=2)
    sizes_W = np.diff([*starts, len(pieces)])
    return np.add.reduceat(maps_HQK, starts, axis=1) / sizes_W[None, :, None], words


def _starts_word(pieces: list[str], i: int, mark: str) -> bool:
    if pieces[i].startswith((mark, "<")):
        return True
    last_of_word = i + 1 == len(pieces) or pieces[i + 1].startswith((mark, "<"))
    return last_of_word and not any(c.isalnum() for c in pieces[i])


def _lettered(words: list[str]) -> np.ndarray:
    return np.array([any(c.isalnum() for c in word) and word[0] != "<" for word in words])
