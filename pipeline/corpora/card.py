"""What a corpus card says, as plain data: counts, lengths, vocabulary use, overlap, samples."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.encoded import SIDES, EncodedSplit
from pipeline.files import iter_byte_lines, read_json

SAMPLES = 10
SAMPLE_SEED = 1
BLOCK = 1 << 22  # array entries looked at in one go, so that memory stays flat
LENGTH_STEPS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)


def card_facts(
    *, sides: Sequence[str], text: Path, report: Path, sources: Path, subwords: Path, encoded: Path
) -> dict[str, Any]:
    """Facts of a prepared and encoded corpus, from its files and manifests."""
    prepared, listed = read_json(report), read_json(sources)
    learnt, counted = read_json(subwords / "subwords.json"), read_json(encoded / "encode.json")
    train = EncodedSplit.open(encoded / "train")
    tokens = {
        side: getattr(train, f"{part}_tokens") for side, part in zip(sides, SIDES, strict=True)
    }
    use = vocabulary_use(tokens, vocab_size=counted["vocab_size"])
    words = {side: count_words(text / f"train.{side}") for side in sides}
    return {
        "corpus": prepared["corpus"],
        "sides": list(sides),
        "filters": prepared["filters"],
        "splits": prepared["splits"],
        "overlap": prepared["overlap"],
        "warnings": prepared["warnings"],
        "encoded": counted["splits"],
        "subwords": learnt["subwords"] | {"n_symbols": learnt["n_symbols"]},
        "learnt_from": learnt["lines"],
        "words": words,
        "tokens_per_word": {
            side: round((len(tokens[side]) - len(train)) / max(1, words[side]), 3) for side in sides
        },
        "vocabulary_use": use,
        "lengths": {
            side: length_histogram(getattr(train, f"{part}_offsets"))
            for side, part in zip(sides, SIDES, strict=True)
        },
        "sources": _files(listed),
        "text_sha256": prepared["sha256"],
        "samples": sample_pairs([text / f"train.{side}" for side in sides]),
    }


def vocabulary_use(tokens: dict[str, np.ndarray], *, vocab_size: int) -> dict[str, int]:
    """How many ids of the vocabulary occur on each side of the training text, on both, on none."""
    seen = {}
    for side, ids in tokens.items():
        counts = np.zeros(vocab_size, dtype=np.int64)
        for start in range(0, len(ids), BLOCK):
            counts += np.bincount(ids[start : start + BLOCK], minlength=vocab_size)
        seen[side] = counts
    first, second = seen.values()
    total = first + second
    return {
        "vocab_size": vocab_size,
        **{side: int((counts > 0).sum()) for side, counts in seen.items()},
        "both": int(((first > 0) & (second > 0)).sum()),
        "neither": int((total == 0).sum()),
        "under_100_times": int(((total > 0) & (total < 100)).sum()),
    }


def length_histogram(offsets: np.ndarray) -> dict[str, Any]:
    """Lengths in tokens (eos_id counted) of the sequences that offsets [N + 1] bound."""
    longest, total = 0, np.zeros(1, dtype=np.int64)
    for start in range(0, len(offsets) - 1, BLOCK):
        lengths = np.diff(offsets[start : start + BLOCK + 1])
        counts = np.bincount(lengths)
        longest = max(longest, int(lengths.max()))
        if len(counts) > len(total):
            total = np.pad(total, (0, len(counts) - len(total)))
        total[: len(counts)] += counts
    below = np.cumsum(total)
    n = int(below[-1])
    shares = {"median": 0.5, "p90": 0.9, "p99": 0.99}
    return {
        "mean": round(float((np.arange(len(total)) * total).sum() / n), 2),
        **{name: int(np.searchsorted(below, share * n)) for name, share in shares.items()},
        "longest": longest,
        "up_to": {step: int(below[min(step, len(below) - 1)]) for step in LENGTH_STEPS},
        "counts": total[:201].tolist(),
    }


def count_words(path: Path) -> int:
    """Words of a text, split at white space."""
    return sum(len(line.split()) for line in iter_byte_lines(path))


def sample_pairs(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Some lines of parallel files, always the same: their number, from 1, and their text."""
    n = sum(1 for _ in iter_byte_lines(paths[0]))
    rng = np.random.default_rng(SAMPLE_SEED)
    numbers = sorted(rng.choice(n, min(SAMPLES, n), replace=False, shuffle=False).tolist())
    columns = [_pick(iter_byte_lines(path), numbers) for path in paths]
    return [
        {"line": number + 1, "text": list(row)}
        for number, row in zip(numbers, zip(*columns, strict=True), strict=True)
    ]


def _pick(lines: Iterator[bytes], numbers: Sequence[int]) -> list[str]:
    picked, position = [], 0
    for number in numbers:
        line = next(islice(lines, number - position, None))
        picked.append(line.decode("utf-8"))
        position = number + 1
    return picked


def _files(sources: dict[str, Any]) -> list[dict[str, Any]]:
    """Every raw file once: path, digest and the members read from it."""
    files: dict[str, dict[str, Any]] = {}
    for split, parts in sources["splits"].items():
        for part in parts:
            for file in part["sides"].values():
                entry = files.setdefault(
                    file["path"], {"path": file["path"], "sha256": file["sha256"], "splits": []}
                )
                if split not in entry["splits"]:
                    entry["splits"].append(split)
    return list(files.values())
