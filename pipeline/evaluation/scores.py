"""All scores of one output, each with its signature and interval; comparisons of two outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.metrics.bleu import BLEUScore

from pipeline.errors import naming_damage
from pipeline.evaluation.bleu import format_multi_bleu, target_language, translation_metrics
from pipeline.evaluation.brackets import (
    CUTOFF_LENGTH,
    ERROR,
    SKIP,
    VALID,
    Sentence,
    score_brackets,
    summarize,
)
from pipeline.evaluation.checks import check_counts, translation_warnings
from pipeline.evaluation.significance import (
    RESAMPLES,
    SEED,
    Compute,
    bootstrap_interval,
    paired_test,
)
from pipeline.files import atomic_open

BRACKET_SIGNATURE = f"evalb|prm:COLLINS|cutoff:{CUTOFF_LENGTH}"
LISTED_PROBLEMS = 5


@dataclass(frozen=True)
class Scored:
    """The scores of one output, with what is needed to compare it with another."""

    kind: str  # translation or parsing
    lines: int
    scores: dict[str, dict[str, Any]]  # by metric: score, signature, interval [low, high], ...
    warnings: list[str]
    statistics: dict[str, np.ndarray]  # by metric: counts of each sentence, [lines, counts]

    def as_data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "lines": self.lines,
            "scores": self.scores,
            "warnings": self.warnings,
        }


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    languages: str,
    names: tuple[str, str] = ("hypotheses", "references"),
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Scored:
    """tokenized_bleu, sacrebleu and chrf of plain text, one sentence a line.

    Raises ValueError for unequal numbers of lines, no lines, or `languages` not like "en-de".
    With `resamples` 0 there are no intervals.
    """
    check_counts(hypotheses, references, names=names)
    language = target_language(languages)
    warnings = translation_warnings(hypotheses, references, language=language, names=names)
    scores, statistics = {}, {}
    for name, metric in translation_metrics(languages).items():
        counts = np.array(metric._extract_corpus_statistics(hypotheses, [references]))
        score = metric._aggregate_and_compute(counts.tolist())
        scores[name] = {
            "score": score.score,
            "signature": _signature(metric),
            "interval": _interval(counts, score_of(name), resamples=resamples, seed=seed),
            **_details(name, score),
        }
        statistics[name] = counts
    return Scored("translation", len(references), scores, warnings, statistics)


def score_trees(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    names: tuple[str, str] = ("hypotheses", "references"),
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Scored:
    """bracket_f1 as EVALB prints it, and bracket_f1_all_lines with unusable output as wrong.

    Both also over sentences of at most 40 words, under "up_to_40_words". Raises ValueError for
    unequal numbers of lines, no lines, or a reference that is not a tree.
    """
    check_counts(hypotheses, references, names=names)
    sentences = score_brackets(hypotheses, references, name=names[1])
    rows = {
        "bracket_f1": [
            (s.matched, s.gold, s.test) if s.status == VALID else (0, 0, 0) for s in sentences
        ],
        "bracket_f1_all_lines": [(s.matched, s.gold, s.test) for s in sentences],
    }
    tags = "gold" if any(s.untagged for s in sentences) else "own"
    scores, statistics = {}, {}
    for name, counts in rows.items():
        all_lines = name == "bracket_f1_all_lines"
        statistics[name] = np.array(counts)
        scores[name] = {
            **summarize(sentences, all_lines=all_lines),
            "signature": f"{BRACKET_SIGNATURE}|tags:{tags}|unusable:"
            + ("wrong" if all_lines else "dropped"),
            "interval": _interval(statistics[name], score_of(name), resamples=resamples, seed=seed),
            "up_to_40_words": summarize(sentences, all_lines=all_lines, max_length=CUTOFF_LENGTH),
        }
    return Scored("parsing", len(references), scores, _tree_warnings(sentences), statistics)


def compare(
    baseline: Scored, system: Scored, *, test: str = "randomisation", seed: int = SEED
) -> dict[str, Any]:
    """A paired test of two outputs for the same lines, by metric (see `paired_test`)."""
    return {
        name: paired_test(counts, system.statistics[name], score_of(name), test=test, seed=seed)
        for name, counts in baseline.statistics.items()
    }


def score_of(name: str) -> Compute:
    """The function from summed sentence statistics to the score called `name`.

    It takes one row of sums, or many rows [resamples, counts] for as many scores.
    """
    if name.startswith("bracket_f1"):
        return _bracket_f1
    if name == "tokenized_bleu":
        return _multi_bleu
    metric = translation_metrics("en-en")[name]  # the arithmetic knows no language

    def compute(counts: np.ndarray) -> Any:
        if counts.ndim == 1:
            return metric._compute_score_from_stats(counts.tolist()).score
        return np.array([metric._compute_score_from_stats(row).score for row in counts.tolist()])

    return compute


def _bracket_f1(counts: np.ndarray) -> Any:
    """F1 in percent of sums [..., (matched, gold, test)], as EVALB; 0 of nothing."""
    matched, gold, test = np.moveaxis(counts.astype(float), -1, 0)
    brackets = gold + test
    return np.divide(200.0 * matched, brackets, out=np.zeros_like(brackets), where=brackets > 0)[()]


def _multi_bleu(counts: np.ndarray) -> Any:
    """BLEU of sums [..., (hypothesis, reference, 4 correct, 4 total)] without smoothing."""
    counts = counts.astype(float)
    words, reference = counts[..., 0], counts[..., 1]
    correct, total = counts[..., 2:6], counts[..., 6:10]
    some = (correct > 0).all(axis=-1) & (words > 0)
    safe = np.where(some[..., None], correct, 1.0) / np.where(some[..., None], total, 1.0)
    brevity = np.where(
        words < reference, np.exp(1.0 - reference / np.where(words > 0, words, 1.0)), 1.0
    )
    bleu = 100.0 * brevity * np.exp(np.log(safe).sum(axis=-1) / 4)
    return np.where(some, bleu, 0.0)[()]


def _signature(metric: Metric) -> str:
    return metric.get_signature().format()


def _interval(
    counts: np.ndarray, compute: Compute, *, resamples: int, seed: int
) -> list[float] | None:
    if not resamples:
        return None
    return list(bootstrap_interval(counts, compute, resamples=resamples, seed=seed))


def _details(name: str, score: Score) -> dict[str, Any]:
    if not isinstance(score, BLEUScore):
        return {}
    details = {
        "precisions": score.precisions,
        "brevity_penalty": score.bp,
        "hypothesis_tokens": score.sys_len,
        "reference_tokens": score.ref_len,
    }
    return {**details, "line": format_multi_bleu(score)} if name == "tokenized_bleu" else details


def _tree_warnings(sentences: Sequence[Sentence]) -> list[str]:
    warnings = []
    for status, name in ((ERROR, "unusable_trees"), (SKIP, "empty_trees")):
        found = [(n, s.problem) for n, s in enumerate(sentences, start=1) if s.status == status]
        if found:
            listed = "; ".join(f"line {n}, {problem}" for n, problem in found[:LISTED_PROBLEMS])
            more = f"; and {len(found) - LISTED_PROBLEMS} more" * (len(found) > LISTED_PROBLEMS)
            warnings.append(
                f"{name}: {len(found)} of {len(sentences)} hypotheses are left out of bracket_f1 "
                f"as EVALB does and count as wrong in bracket_f1_all_lines ({listed}{more})"
            )
    return warnings


def write_statistics(path: str | Path, scored: Scored) -> None:
    """Keep the sentence statistics beside the scores: one array [lines, counts] a metric."""
    with atomic_open(path) as stream:
        np.savez_compressed(stream, **scored.statistics)


def read_statistics(path: str | Path) -> dict[str, np.ndarray]:
    """What `write_statistics` wrote, by metric. Raises ValueError where it is not whole."""
    with naming_damage(path), open(path, "rb") as stream, np.load(stream) as arrays:
        return dict(arrays)


def compare_statistics(
    baseline: str | Path, system: str | Path, *, test: str = "randomisation", seed: int = SEED
) -> dict[str, Any]:
    """`compare` for two files of `write_statistics`; metrics that only one has are left out."""
    first, second = read_statistics(baseline), read_statistics(system)
    return {
        name: paired_test(first[name], second[name], score_of(name), test=test, seed=seed)
        for name in first
        if name in second
    }
