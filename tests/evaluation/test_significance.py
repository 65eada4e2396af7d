"""Intervals and paired tests against sacreBLEU's own, by the same seed."""

import os
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from pipeline.evaluation.bleu import translation_metrics
from pipeline.evaluation.brackets import f1
from pipeline.evaluation.scores import score_of
from pipeline.evaluation.significance import (
    SEED,
    SEED_VARIABLE,
    bootstrap_interval,
    paired_test,
    randomisation_tests,
)

WORDS = ["Der", "Hund", "die", "Katze", "und", "ein", "Haus", "am", "See", "E-Mail", "bellt", "."]


def noisy_text(seed: int, *, n_lines: int = 60, loss: float = 0.2) -> tuple[list[str], list[str]]:
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(5, 20))) for _ in range(n_lines)]
    hypotheses = [
        " ".join(word for word in line.split() if draw.random() > loss) for line in references
    ]
    return hypotheses, references


def counts_of(name: str, hypotheses: list[str], references: list[str]) -> np.ndarray:
    metric = translation_metrics("en-de")[name]
    return np.array(metric._extract_corpus_statistics(hypotheses, [references]))


@pytest.mark.parametrize("name", ["tokenized_bleu", "sacrebleu", "chrf"])
def test_interval_is_sacrebleus(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    hypotheses, references = noisy_text(1)
    for seed, resamples in ((SEED, 1000), (7, 200)):
        monkeypatch.setenv(SEED_VARIABLE, str(seed))
        metric = translation_metrics("en-de")[name]
        score = metric.corpus_score(hypotheses, [references], n_bootstrap=resamples)
        low, high = bootstrap_interval(
            counts_of(name, hypotheses, references), score_of(name), resamples=resamples, seed=seed
        )
        # the library divides in single precision
        assert (high - low) / 2 == pytest.approx(score._ci, rel=1e-5)
        assert low < score.score < high


@pytest.mark.parametrize(("test", "short"), [("bootstrap", "bs"), ("randomisation", "ar")])
@pytest.mark.parametrize("name", ["tokenized_bleu", "sacrebleu", "chrf"])
def test_paired_test_is_sacrebleus(name: str, test: str, short: str) -> None:
    first, references = noisy_text(1)
    draw = random.Random(5)
    second = [" ".join(w for w in line.split() if draw.random() > 0.22) for line in references]
    paired = PairedTest(
        [("a", first), ("b", second)],
        {name: translation_metrics("en-de")[name]},
        references=[references],
        test_type=short,
    )
    ((_, (_, expected)),) = [entry for entry in paired()[1].items() if entry[0] != "System"]
    found = paired_test(
        counts_of(name, first, references),
        counts_of(name, second, references),
        score_of(name),
        test=test,
    )
    assert found["system"] == pytest.approx(expected.score)
    assert found["p_value"] == pytest.approx(expected.p_value, abs=1e-12)
    assert found["difference"] == pytest.approx(found["system"] - found["baseline"])


def test_seed_decides_and_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    hypotheses, references = noisy_text(2)
    other = [line.replace("Katze", "Maus") for line in hypotheses]
    first, second = (counts_of("sacrebleu", h, references) for h in (hypotheses, other))
    compute = score_of("sacrebleu")
    for before in (None, "99"):
        if before:
            monkeypatch.setenv(SEED_VARIABLE, before)
        else:
            monkeypatch.delenv(SEED_VARIABLE, raising=False)
        results = [
            paired_test(first, second, compute, seed=seed, test="bootstrap")["p_value"]
            for seed in (3, 3, 4)
        ]
        assert results[0] == results[1]
        assert os.environ.get(SEED_VARIABLE) == before
    intervals = [bootstrap_interval(first, compute, seed=seed) for seed in (3, 3, 4)]
    assert intervals[0] == intervals[1] != intervals[2]
    with pytest.raises(ValueError, match="seed of a paired test must be at least 1: 0"):
        paired_test(first, second, compute, seed=0)


def test_a_clear_difference_and_none() -> None:
    good, references = noisy_text(3, loss=0.05)
    draw = random.Random(1)
    bad = [" ".join(w for w in line.split() if draw.random() > 0.5) for line in references]
    worse, better = (counts_of("chrf", lines, references) for lines in (bad, good))
    for test in ("bootstrap", "randomisation"):
        result = paired_test(worse, better, score_of("chrf"), test=test)
        assert result["difference"] > 0
        assert result["p_value"] < 0.01
        # sacreBLEU would call no difference at all the most significant
        result = paired_test(worse, worse, score_of("chrf"), test=test)
        assert (result["difference"], result["p_value"]) == (0.0, 1.0)


def test_errors_name_the_fix() -> None:
    counts = np.ones((3, 10))
    with pytest.raises(ValueError, match=r"\(3, 10\) and \(2, 10\)"):
        paired_test(counts, counts[:2], score_of("sacrebleu"))
    with pytest.raises(ValueError, match="one of randomisation, bootstrap: 't'"):
        paired_test(counts, counts, score_of("sacrebleu"), test="t")


def test_one_sentence_has_no_width() -> None:
    counts = np.array([[3, 4, 5]])
    score = score_of("bracket_f1")(counts[0])
    assert bootstrap_interval(counts, score_of("bracket_f1")) == (score, score)


@pytest.mark.parametrize("name", ["tokenized_bleu", "bracket_f1"])
def test_several_pairs_at_once_are_the_same_as_each_alone(name: str) -> None:
    draw = np.random.default_rng(4)
    systems = [draw.integers(0, 9, (50, 10 if name == "tokenized_bleu" else 3)) for _ in range(4)]
    pairs = [(systems[0], system) for system in systems]
    together = randomisation_tests(pairs, score_of(name))
    alone = [paired_test(*pair, score_of(name)) for pair in pairs]
    assert together == alone
    assert randomisation_tests([], score_of(name)) == []
    with pytest.raises(ValueError, match="same lines"):
        randomisation_tests([pairs[0], (systems[0][:9], systems[1][:9])], score_of(name))


def test_p_value_is_the_share_of_all_swaps_by_brute_force() -> None:
    """Of six lines every one of the 64 ways to swap, against 10,000 coins."""
    draw = np.random.default_rng(3)
    first, second = draw.integers(1, 9, (6, 3)), draw.integers(1, 9, (6, 3))
    compute = score_of("bracket_f1")
    gap = abs(compute(first.sum(axis=0)) - compute(second.sum(axis=0)))
    beyond = 0
    for number in range(64):
        swap = np.array([number >> bit & 1 for bit in range(6)], dtype=bool)[:, None]
        one, other = np.where(swap, first, second), np.where(swap, second, first)
        beyond += abs(compute(one.sum(axis=0)) - compute(other.sum(axis=0))) > gap + 1e-9
    found = paired_test(first, second, compute)["p_value"]
    assert 0 < beyond < 64
    assert found == pytest.approx(beyond / 64, abs=0.02)


COUNT = st.integers(0, 40)


@given(st.lists(st.lists(COUNT, min_size=10, max_size=10), min_size=1, max_size=6))
def test_many_scores_at_once_are_those_of_sacrebleu(rows: list[list[int]]) -> None:
    """Correct n-grams are never more than there are; the rest is free."""
    counts = np.array(rows)
    counts[:, 2:6] = np.minimum(counts[:, 2:6], counts[:, 6:10])
    metric = translation_metrics("en-de")["tokenized_bleu"]
    expected = [metric._compute_score_from_stats(row).score for row in counts.tolist()]
    assert score_of("tokenized_bleu")(counts) == pytest.approx(expected)
    assert score_of("tokenized_bleu")(counts[0]) == pytest.approx(expected[0])


@given(st.lists(st.tuples(COUNT, COUNT, COUNT), min_size=1, max_size=6))
def test_many_f1_at_once_are_those_of_brackets(rows: list[tuple[int, int, int]]) -> None:
    counts = np.array([(min(row), row[1], row[2]) for row in rows])
    expected = [f1(*row) for row in counts.tolist()]
    assert score_of("bracket_f1")(counts) == pytest.approx(expected)
