"""How far a score could be chance: bootstrap intervals, paired tests, and seeds.

Everything works on sentence statistics, whole numbers that add up to those of a corpus, so that a
resample costs one matrix product and two runs can be compared without reading their text again.
"""

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's default, so that its command line gives the same figures
SEED_VARIABLE = "SACREBLEU_SEED"
SHARE_OUTSIDE = 40  # one in 40 on each side leaves 95 %

TESTS = {"bootstrap": "bs", "randomisation": "ar"}  # sacreBLEU's short names

Compute = Callable[[Sequence[float]], float]  # summed statistics to a score


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
    scores = sorted(compute(row) for row in sums.tolist())
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
    resamples; faster, but its p-values are too small between systems that are alike). Returns
    both scores, their difference (system - baseline) and the p-value, which is 1 for two systems
    with equal statistics (sacreBLEU would give the smallest one there is).

    Raises ValueError for statistics of unequal shape, an unknown test, or a seed below 1 (which
    sacreBLEU takes as no seed).
    """
    if baseline.shape != system.shape:
        raise ValueError(
            "paired tests need the same lines and metric on both sides; shapes of the sentence "
            f"statistics: {baseline.shape} and {system.shape}"
        )
    if test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(TESTS)}: {test!r}")
    if seed < 1:
        raise ValueError(f"seed of a paired test must be at least 1: {seed}")
    with _sacrebleu_seed(seed):
        paired = PairedTest(
            [("baseline", _as_floats(baseline)), ("system", _as_floats(system))],
            {"score": _Stored(compute)},
            references=None,
            test_type=TESTS[test],
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


def _as_floats(counts: np.ndarray) -> np.ndarray:
    """The same whole numbers as floats, whose sums over 10,000 trials are one fast product."""
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
        return Score("score", self._compute(list(stats)))

    def _preprocess_segment(self, sent: str) -> str:
        raise AssertionError("statistics are given, text is never read")

    _extract_reference_info = _compute_segment_statistics = _preprocess_segment


def over_seeds(scores: Sequence[float]) -> dict[str, float | int | None]:
    """Mean and sample standard deviation of one score over the seeds of an experiment.

    The deviation of a single seed is None. Raises ValueError for no scores.
    """
    if not scores:
        raise ValueError("no scores to take the mean of: give those of one seed at least")
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    return {"mean": statistics.fmean(scores), "deviation": deviation, "seeds": len(scores)}
