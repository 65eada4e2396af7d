"""How far a score could be chance: bootstrap intervals and paired tests.

Everything works on sentence statistics, whole numbers that add up to those of a corpus, so that a
resample costs one matrix product and two runs can be compared without reading their text again.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

RESAMPLES = 1000
LEAST_RESAMPLES = 100  # with fewer, two draws or one stand for each end of an interval
SEED = 12345  # sacreBLEU's default, so that its command line gives the same figures
SEED_VARIABLE = "SACREBLEU_SEED"
SHARE_OUTSIDE = 40  # one in 40 on each side leaves 95 %

TRIALS = 10_000  # of a randomisation test, sacreBLEU's default
TRIALS_AT_ONCE = 1000  # their masks as floats stay within memory
SIGNIFICANT = 0.05  # p-values under it are marked

TESTS = ("randomisation", "bootstrap")

# summed statistics [counts] to a score, and those of many resamples [resamples, counts] to scores
Compute = Callable[[np.ndarray], Any]


def bootstrap_interval(
    sentences: np.ndarray, compute: Compute, *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """95 % interval of a corpus score by resampling its sentences, an array [lines, counts].

    The draws are those of sacreBLEU, whose "± x" is half the width of this interval.
    """
    rng = np.random.default_rng(seed)
    n_lines = len(sentences)
    draws = rng.choice(n_lines, size=(resamples, n_lines), replace=True)
    times_drawn = np.stack([np.bincount(draw, minlength=n_lines) for draw in draws])
    sums = times_drawn.astype(np.float64) @ sentences.astype(np.float64)
    scores = sorted(float(score) for score in compute(sums))
    outside = resamples // SHARE_OUTSIDE
    return scores[outside], scores[resamples - outside - 1]


def paired_test(
    baseline: np.ndarray,
    system: np.ndarray,
    compute: Compute,
    *,
    test: str = "randomisation",
    seed: int = SEED,
) -> dict[str, Any]:
    """Is the difference of two systems on the same lines more than chance? sacreBLEU's own tests.

    `test` is "randomisation" (approximate, 10,000 trials) or "bootstrap" (paired, 1,000
    resamples; its p-values are too small between systems that are alike). Returns both scores,
    their difference (system - baseline) and the p-value, which is 1 for two systems with equal
    statistics (sacreBLEU would give the smallest one there is).

    Raises ValueError for statistics of unequal shape, an unknown test, or a seed below 1 (which
    sacreBLEU takes as no seed).
    """
    if test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(TESTS)}: {test!r}")
    if test == "randomisation":
        return randomisation_tests([(baseline, system)], compute, seed=seed)[0]
    _check(baseline, system, seed=seed)
    with _sacrebleu_seed(seed):
        paired = PairedTest(
            [("baseline", _as_floats(baseline)), ("system", _as_floats(system))],
            {"score": _Stored(compute)},
            references=None,
            test_type="bs",
        )
        _, results = paired()
    first, second = results["score"]
    return {
        "baseline": float(first.score),
        "system": float(second.score),
        "difference": float(second.score - first.score),
        "p_value": 1.0 if np.array_equal(baseline, system) else float(second.p_value),
        "test": test,
        "samples": paired.n_samples,
        "seed": seed,
    }


def randomisation_tests(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    compute: Compute,
    *,
    trials: int = TRIALS,
    seed: int = SEED,
) -> list[dict[str, Any]]:
    """`paired_test` by randomisation of several pairs (baseline, system), all of the same lines.

    Each trial swaps the two outputs of a line or not, by a coin. Draws and p-values are those of
    sacreBLEU; the sums of all pairs and of many trials come from one matrix product, so that
    Table 3's nineteen comparisons of 3,000 lines take seconds.
    """
    if not pairs:
        return []
    shape = pairs[0][0].shape
    for baseline, system in pairs:
        _check(baseline, system, seed=seed)
        if baseline.shape != shape:
            raise ValueError(f"pairs must be of the same lines: {shape} and {baseline.shape}")
    n_lines, n_counts = shape
    coins = np.random.default_rng(seed).integers(2, size=(trials, n_lines), dtype=bool)
    gaps = np.concatenate([first - second for first, second in pairs], axis=1)
    kind = np.float32 if np.abs(gaps).sum(axis=0).max() < 2**24 else np.float64  # exact sums
    gaps = gaps.astype(kind)
    moved = np.concatenate(
        [
            coins[start : start + TRIALS_AT_ONCE].astype(kind) @ gaps
            for start in range(0, trials, TRIALS_AT_ONCE)
        ]
    ).astype(np.float64)
    results = []
    for index, (baseline, system) in enumerate(pairs):
        first, second = baseline.sum(axis=0, dtype=float), system.sum(axis=0, dtype=float)
        of_pair = moved[:, index * n_counts : (index + 1) * n_counts]
        scores = compute(np.stack([first, second]))
        gap = abs(scores[0] - scores[1])
        gaps_by_chance = np.abs(compute(second + of_pair) - compute(first - of_pair))
        at_least = int((gaps_by_chance > gap).sum())
        results.append(
            {
                "baseline": float(scores[0]),
                "system": float(scores[1]),
                "difference": float(scores[1] - scores[0]),
                "p_value": 1.0
                if np.array_equal(baseline, system)
                else (at_least + 1) / (trials + 1),
                "test": "randomisation",
                "samples": trials,
                "seed": seed,
            }
        )
    return results


def _check(baseline: np.ndarray, system: np.ndarray, *, seed: int) -> None:
    if baseline.shape != system.shape:
        raise ValueError(
            "paired tests need the same lines and metric on both sides; shapes of the sentence "
            f"statistics: {baseline.shape} and {system.shape}"
        )
    if seed < 1:
        raise ValueError(f"seed of a paired test must be at least 1: {seed}")


def _as_floats(counts: np.ndarray) -> np.ndarray:
    """The same whole numbers as floats, whose sums over resamples are fast."""
    exact_in_single = counts.sum(axis=0).max() < 2**24
    return counts.astype(np.float32 if exact_in_single else np.float64)


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """sacreBLEU takes the seed of its tests from the environment alone."""
    before = os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before


class _Stored(Metric):
    """A metric whose "hypotheses" are sentence statistics already: sacreBLEU tests any score."""

    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.num_refs = 1  # asked for by the signature
        self._compute = compute

    def _extract_corpus_statistics(self, hypotheses: Any, references: Any) -> Any:
        return hypotheses

    def _aggregate_and_compute(self, stats: Any) -> Score:
        return self._compute_score_from_stats(np.sum(stats, axis=0).tolist())

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score("score", float(self._compute(np.asarray(stats, dtype=float))))

    def _preprocess_segment(self, sent: str) -> str:
        raise AssertionError("statistics are given, text is never read")

    _extract_reference_info = _compute_segment_statistics = _preprocess_segment
