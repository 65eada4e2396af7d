"""Is a row's distance from its base more than chance? Paired tests on stored sentence counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.evaluation.scores import read_statistics, score_of
from pipeline.evaluation.significance import SEED, SIGNIFICANT, TRIALS, randomisation_tests
from pipeline.results.runs import Run, Summary, summarise

TEST = f"approximate randomisation, {TRIALS} trials, seed {SEED}"


@dataclass(frozen=True)
class Distance:
    """A row's score minus its base's, over the seeds that both have if there are several."""

    value: Summary
    p_value: float | None  # None where sentence counts are missing or of other references

    @property
    def significant(self) -> bool:
        return self.p_value is not None and self.p_value < SIGNIFICANT


def distances(
    base: Sequence[Run], rows: Sequence[Sequence[Run]], *, metric: str
) -> list[Distance | None]:
    """The distance of each row's runs from the runs of `base`; None where either has no score.

    The test is sacreBLEU's approximate randomisation over the sentences of the test set. With
    several seeds the counts of a sentence are added over the seeds that both have, and swapped
    together. Raises ValueError for counts that do not belong to the scores beside them.
    """
    counts: dict[Path, np.ndarray] = {}
    pairs = [_counts(base, runs, metric, counts) for runs in rows]
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, pair in enumerate(pairs):
        if pair is not None:
            by_shape.setdefault(pair[0].shape, []).append(index)
    p_values: dict[int, float] = {}
    for indices in by_shape.values():
        tested = randomisation_tests([pairs[i] for i in indices], score_of(metric))
        p_values |= {i: result["p_value"] for i, result in zip(indices, tested, strict=True)}
    return [
        None if value is None else Distance(value, p_values.get(index))
        for index, value in enumerate(_minus(base, runs, metric) for runs in rows)
    ]


def _minus(base: Sequence[Run], runs: Sequence[Run], metric: str) -> Summary | None:
    """Difference of the means; its deviation is that of the seeds that both have."""
    ours, theirs = _scores(runs, metric), _scores(base, metric)
    means = summarise(ours.values()), summarise(theirs.values())
    if means[0] is None or means[1] is None:
        return None
    by_seed = summarise(ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys())
    deviation = by_seed.deviation if by_seed else None
    return Summary(mean=means[0].mean - means[1].mean, deviation=deviation)


def _scores(runs: Sequence[Run], metric: str) -> dict[int, float]:
    return {run.seed: entry["score"] for run in runs if (entry := run.metric(metric))}


def _counts(
    base: Sequence[Run], runs: Sequence[Run], metric: str, read: dict[Path, np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Sentence counts of both, summed over the seeds that both have; None where they have none."""
    of_base = {run.seed: run for run in base if run.statistics and run.scores}
    sums: list[tuple[np.ndarray, np.ndarray]] = []
    for run in runs:
        other = of_base.get(run.seed)
        if other is None or run.statistics is None or run.scores is None:
            continue
        if run.scores.get("reference_sha256") != other.scores.get("reference_sha256"):
            return None
        sums.append((_read(other, metric, read), _read(run, metric, read)))
    if not sums:
        return None
    return sum(first for first, _ in sums), sum(second for _, second in sums)


def _read(run: Run, metric: str, read: dict[Path, np.ndarray]) -> np.ndarray:
    assert run.statistics is not None
    assert run.scores is not None
    if run.statistics not in read:
        arrays = read_statistics(run.statistics)
        if metric not in arrays:
            raise ValueError(
                f"{run.statistics}: has no {metric}, but {', '.join(arrays)}; score that run again"
            )
        read[run.statistics] = arrays[metric]
    counts, lines = read[run.statistics], run.scores["lines"]
    if len(counts) != lines:
        raise ValueError(
            f"{run.statistics}: holds {len(counts)} sentences, the scores beside it {lines}; "
            "score that run again"
        )
    return counts
