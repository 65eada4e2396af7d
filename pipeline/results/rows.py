"""One row of Tables 2-4: what our runs say, why a cell is blank, and the record for the CSV."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.results.costs import Rates, counted_flops
from pipeline.results.published import PublishedRow, PublishedTable
from pipeline.results.runs import Manifest, Run, Summary, summarise, summarise_metric

UNSHOWN = ("max_positions", "checkpoint_interval_steps", "dev_interval_steps")
FLATTENED = (
    "tokenized_bleu",
    "sacrebleu",
    "bracket_f1",
    "all_lines",
    "recall",
    "precision",
    "perplexity",
)
UNDERTRAINED = "undertrained"  # the remark of a row whose score is under the table's limit


@dataclass(frozen=True)
class Ours:
    """What our runs of one row say; all None where the row was not run."""

    tokenized_bleu: Summary | None
    sacrebleu: Summary | None
    bracket_f1: Summary | None
    all_lines: Summary | None
    recall: Summary | None
    precision: Summary | None
    perplexity: Summary | None
    parameters: float | None
    flops_by_time: Summary | None
    counted_flops: Summary | None
    training_seconds: Summary | None
    energy_joules: Summary | None


def ours_of(runs: Sequence[Run], *, rates: Rates) -> Ours:
    """Means over the seeds of one experiment."""
    trains = [run.train for run in runs if run.train]
    return Ours(
        tokenized_bleu=summarise_metric(runs, "tokenized_bleu"),
        sacrebleu=summarise_metric(runs, "sacrebleu"),
        bracket_f1=summarise_metric(runs, "bracket_f1"),
        all_lines=summarise_metric(runs, "bracket_f1_all_lines"),
        recall=_part(runs, "recall"),
        precision=_part(runs, "precision"),
        perplexity=summarise(run.perplexity["perplexity"] for run in runs if run.perplexity),
        parameters=trains[0].get("n_parameters") if trains else None,
        flops_by_time=summarise(rates.flops_by_time(train) for train in trains),
        counted_flops=summarise(counted_flops(train) for train in trains),
        training_seconds=summarise(train.get("elapsed_seconds") for train in trains),
        energy_joules=summarise(train.get("energy_joules") for train in trains),
    )


def _part(runs: Iterable[Run], key: str) -> Summary | None:
    entries = (run.metric("bracket_f1") for run in runs)
    return summarise(entry.get(key) for entry in entries if entry)


def remark_of(
    published: PublishedTable,
    row: PublishedRow,
    runs: Sequence[Run],
    *,
    scale: str,
    reasons: Mapping[str, str],
) -> str:
    """Why the row is blank, or must be read with care; "" for the others and for rival systems."""
    if row.experiment is None:
        return ""
    if not runs:
        reason = reasons.get(row.experiment)
        return f"not run at scale {scale}" + (f": {reason}" if reason else "")
    if not any(run.scores for run in runs):
        return f"trained, but {published.split} not scored"
    sacrebleu = summarise_metric(runs, "sacrebleu")
    limit = published.undertrained_below.get(scale)
    if limit and sacrebleu and sacrebleu.mean < limit:
        return UNDERTRAINED
    return ""


def record_of(
    published: PublishedTable, row: PublishedRow, ours: Ours, runs: Sequence[Run]
) -> dict[str, Any]:
    """One row of the CSV: flat, numbers unrounded, each with test set, signature and commit."""
    main = published.metric
    score: Summary | None = getattr(ours, main)
    paper = getattr(row, main)
    scores = [run.scores for run in runs if run.scores]
    record: dict[str, Any] = {
        "group": row.group,
        "row": row.label,
        "experiment": row.experiment or "",
        "test_set": _joined(entry.get("test_set") for entry in scores),
        "n_average": scores[0].get("n_average") if scores else None,
        "n_seeds": len(scores),
        f"paper_{main}": paper,
        f"{main}_difference": _minus(score, paper),
        "outside_interval": of_papers_set(published, scores) and _outside(score, paper),
        "paper_perplexity": row.perplexity,
        "perplexity_difference": _minus(ours.perplexity, row.perplexity),
        "paper_parameters": row.parameters,
        "parameters": ours.parameters,
        "paper_training_flops": row.cost_flops,
    }
    for key in FLATTENED:
        record |= _flat(key, getattr(ours, key))
    for key in ("flops_by_time", "counted_flops", "training_seconds", "energy_joules"):
        value = getattr(ours, key)
        record[key] = value.mean if value else None
    for key in ("tokenized_bleu", "sacrebleu", "bracket_f1"):
        entries = (run.metric(key) for run in runs)
        record[f"{key}_signature"] = _joined(e.get("signature") for e in entries if e)
    record["commit"] = _joined(entry.get("commit") for entry in scores)
    return record


def of_papers_set(published: PublishedTable, scores: Sequence[Manifest]) -> bool:
    """Are all these of the paper's own test set? Only then may figures be compared."""
    return {entry["test_set"] for entry in scores} == {published.test_set}


def sizes_of(row: PublishedRow, train: Manifest) -> str:
    """What of the paper's sizes is otherwise in our run: "n_layers 3, d_model 128"; "" for none."""
    ours = {**train.get("model", {}), **train.get("training", {})}
    return ", ".join(f"{key} {ours[key]}" for key in row.sizes if ours[key] != row.sizes[key])


def change_of(train: Manifest, base: Manifest) -> str:
    """What a run set otherwise than the base run: "n_heads 1, d_k = d_v 128"; "" for none."""
    changed = {
        key: value
        for section in ("model", "training")
        for key, value in train.get(section, {}).items()
        if value != base.get(section, {}).get(key) and key not in UNSHOWN
    }
    if "d_k" in changed and changed.get("d_v") == changed["d_k"]:
        changed["d_k"] = f"= d_v {changed.pop('d_v')}"
    return ", ".join(f"{key} {value}" for key, value in changed.items())


def _flat(key: str, value: Summary | None) -> dict[str, float | None]:
    fields = asdict(value) if value else {}
    return {
        key: fields.get("mean"),
        f"{key}_deviation": fields.get("deviation"),
        f"{key}_low": fields.get("low"),
        f"{key}_high": fields.get("high"),
    }


def _minus(ours: Summary | None, paper: float | None) -> float | None:
    return None if ours is None or paper is None else ours.mean - paper


def _outside(ours: Summary | None, paper: float | None) -> bool:
    """True if the paper's value lies outside our confidence interval."""
    if ours is None or paper is None or ours.low is None or ours.high is None:
        return False
    return not ours.low <= paper <= ours.high


def _joined(values: Iterable[str | None]) -> str:
    return " ".join(sorted({value for value in values if value}))
