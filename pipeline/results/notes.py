"""The lines under a table: scale, test set, signatures, checkpoints, commit, meaning of marks."""

import re
from collections.abc import Iterable, Sequence

from pipeline.evaluation.significance import SIGNIFICANT
from pipeline.results.comparisons import TEST
from pipeline.results.costs import Rates, precision_of
from pipeline.results.published import PublishedTable
from pipeline.results.rows import of_papers_set
from pipeline.results.runs import Manifest, Runs
from pipeline.results.table import BEYOND_CHANCE, OUTSIDE

METRICS = ("tokenized_bleu", "sacrebleu", "bracket_f1")
BASES = {
    "table2": "the base model of the same pair",
    "table3": "base",
    "table4": "training on WSJ only",
}
COMMIT = re.compile("[0-9a-f]{40}")
SHORT = 12  # characters of a commit or digest that people compare by eye


def notes_of(
    published: PublishedTable,
    runs: Runs,
    *,
    rates: Rates,
    tested: bool,
    undertrained: bool,
    resized: bool,
) -> tuple[str, ...]:
    """What every figure of Tables 2-4 must not travel without.

    tested: there are p-values; undertrained: a row is called so; resized: a row's sizes are not
    the paper's.
    """
    shown = {row.experiment for row in published.rows()}
    scored = [run.scores for run in runs.all() if run.scores and run.experiment in shown]
    sentences = f"over the sentences of the {published.split} set"
    notes = [_scale_note(published, runs.scale, scored)]
    notes += [
        f"{metric}: {signature}"
        for metric in METRICS
        for signature in sorted({_signature(entry, metric) for entry in scored} - {""})
    ]
    if scored:
        notes.append(
            f"[low, high] is the 95 % bootstrap interval {sentences}"
            + (
                f"; {OUTSIDE} marks a difference where the paper's value lies outside it."
                if of_papers_set(published, scored)
                else "; no difference to the paper's is tested, since its test set is another."
            )
        )
    several = any(len(found) > 1 for found in runs.by_experiment.values())
    if several:
        notes.append(
            "± is the sample deviation over seeds; figures, and both ends of intervals, are means "
            "over seeds."
        )
    if tested:
        notes.append(
            f"{BEYOND_CHANCE} marks a distance from {BASES[published.table]} with p < "
            f"{SIGNIFICANT:g}: sacreBLEU's {TEST}, {sentences}"
            + (", each with its counts of all seeds that both have" if several else "")
            + "; p is not corrected for the number of rows."
        )
    if undertrained:
        limit = published.undertrained_below[runs.scale]
        notes.append(
            f"Undertrained: {published.split} sacrebleu under {limit:g}, "
            "so its distance from base says little about the change it makes."
        )
    if published.table == "table3":
        notes.append(
            "From base: tokenized_bleu minus that of the base row, the paper's and ours; what a "
            "variation does at this scale, beside what it did at the paper's. Labels name the "
            "paper's sizes; what a row changes at this scale stands with it, where it differs, and "
            "with base what its own sizes are."
        )
    elif resized:
        notes.append("Labels name the paper's models; sizes that are others here stand with them.")
    trains = [run.train for run in runs.all() if run.train and run.experiment in shown]
    if trains:
        notes.append(_precision_note(trains))
    if published.table == "table2" and trains:
        notes.append(rates.note(trains))
        notes.append(
            "FLOPs counted: matrix products over the tokens trained on, forward and backward."
        )
    if published.table == "table4":
        notes.append(
            "bracket_f1 leaves unusable trees out, as EVALB does; all lines counts them as wrong."
        )
    notes += sorted(
        {f"{entry['run']}: {warning}" for entry in scored for warning in entry.get("warnings", ())}
    )
    notes += _provenance(scored)
    return tuple(notes)


def _scale_note(published: PublishedTable, scale: str, scored: list[Manifest]) -> str:
    sets = sorted({entry["test_set"] for entry in scored})
    if not sets:
        return f"Scale {scale}; nothing of ours is scored yet. The paper's: {published.test_set}."
    ours = f"Scale {scale}; our {published.split} set: {', '.join(sets)}"
    paper = f"the paper's: {published.test_set}"
    if of_papers_set(published, scored):
        return f"{ours}, as the paper's."
    return (
        f"{ours}; {paper}. Another corpus and other sizes stand behind our figures, so their "
        "difference to the paper's is printed but is no measure of reproduction."
    )


def _precision_note(trains: Sequence[Manifest]) -> str:
    """Devices and the precision of their products; where those differ, of which rows."""
    runs: dict[str, list[str]] = {}
    devices: dict[str, set[str]] = {}
    for train in trains:
        precision = precision_of(train) or "a precision unstated"
        device, kind = train.get("device") or "device unnamed", train.get("device_class")
        runs.setdefault(precision, []).append(train["run"])
        devices.setdefault(precision, set()).add(f"{device} ({kind})" if kind else device)
    parts = [f"{p} on {', '.join(sorted(devices[p]))}" for p in sorted(runs)]
    if len(runs) == 1:
        return f"Trained in {parts[0]}."
    rows = "; ".join(f"{p}: {', '.join(sorted(runs[p]))}" for p in sorted(runs))
    return f"Trained in {' and '.join(parts)}; rows of different precisions stand here, {rows}."


def _provenance(scored: Iterable[Manifest]) -> list[str]:
    scored = list(scored)
    averaged = sorted({entry["n_average"] for entry in scored if entry.get("n_average")})
    commits = short_commits(scored)
    references = sorted(
        {e["reference_sha256"][:SHORT] for e in scored if e.get("reference_sha256")}
    )
    notes = []
    if averaged:
        notes.append(f"Checkpoints averaged: {', '.join(map(str, averaged))}.")
    if references:
        notes.append(f"References (sha256): {', '.join(references)}.")
    if commits:
        notes.append(f"Results made at {at_commit(commits)}.")
    return notes


def short_commits(manifests: Iterable[Manifest]) -> list[str]:
    """Commits that made these, each once."""
    return sorted({short(entry["commit"]) for entry in manifests if entry.get("commit")})


def short(commit: str) -> str:
    """A commit's first digits with what follows them; of code without one all that is known."""
    found = COMMIT.match(commit)
    return commit[:SHORT] + commit[found.end() :] if found else commit


def at_commit(commits: Sequence[str]) -> str:
    """Shortened commits in a sentence."""
    listed = ", ".join(commits)
    return f"commit {listed}" if commits and "no commit" not in commits[0] else listed


def _signature(scores: Manifest, metric: str) -> str:
    return scores["scores"].get(metric, {}).get("signature") or ""
