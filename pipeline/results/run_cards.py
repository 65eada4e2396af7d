"""A card for each run: what was trained, on what data and machine, how long, at what cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.results.costs import Rates, counted_flops, precision_of
from pipeline.results.html_parts import details, table
from pipeline.results.notes import SHORT
from pipeline.results.runs import Manifest
from pipeline.results.table import duration, energy, number, scientific

GIB = 1 << 30
SCORE_HEADINGS = ("test set", "checkpoints averaged", "metric", "score", "interval", "signature")


def run_card(train: Manifest, scores: Sequence[Manifest], *, rates: Rates) -> str:
    """HTML of one run, folded: facts, scores with signatures, settings."""
    parts = [table(("what", "value"), _facts(train, rates))]
    if rows := [row for entry in scores for row in _score_rows(entry)]:
        parts.append(table(SCORE_HEADINGS, rows))
    settings = [*train.get("model", {}).items(), *train.get("training", {}).items()]
    parts.append(table(("setting", "value"), settings))
    return details(_summary(train, scores), "".join(parts), identifier=f"run-{train['run']}")


def _summary(train: Manifest, scores: Sequence[Manifest]) -> str:
    best = [
        f"{name} {entry['scores'][name]['score']:.1f} ({entry['test_set']})"
        for entry in scores
        for name in ("sacrebleu", "bracket_f1")
        if name in entry["scores"]
    ]
    return f"{train['run']}: " + (", ".join(best) if best else "not scored")


def _facts(train: Manifest, rates: Rates) -> list[tuple[str, str]]:
    facts: list[tuple[str, object]] = [
        ("experiment, seed", f"{train['experiment']}, {train['seed']}"),
        ("corpus", train.get("corpus")),
        ("parameters", _count(train.get("n_parameters"))),
        ("vocabulary", _count(train.get("vocab_size"))),
        ("steps", _count(train.get("max_steps"))),
        ("source and target tokens", _pair(train.get("src_tokens"), train.get("tgt_tokens"))),
        ("device, ranks", f"{train.get('device')}, {train.get('ranks')}"),
        ("class of device", train.get("device_class")),
        ("precision of products", precision_of(train)),
        ("training time", duration(train.get("elapsed_seconds"))),
        ("training energy", _energy(train)),
        ("padding", _percent(train.get("padding_share"))),
        ("peak memory", _gib(train.get("peak_memory_bytes"))),
        ("FLOPs by time", scientific(rates.flops_by_time(train))),
        ("FLOPs counted", scientific(counted_flops(train))),
        ("last dev perplexity", number(train.get("dev_perplexity"), 3)),
        ("data (sha256)", str(train.get("data", ""))[:SHORT]),
        ("fingerprint", str(train.get("fingerprint", ""))[:SHORT]),
        ("commit", train.get("commit")),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "", "None")]


def _score_rows(scores: Manifest) -> list[tuple[object, ...]]:
    rows = []
    for metric, entry in scores["scores"].items():
        interval = entry.get("interval")
        shown = f"[{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
        score = f"{entry['score']:.2f}"
        averaged = scores.get("n_average", "")
        signature = entry.get("signature") or ""
        rows.append((scores["test_set"], averaged, metric, score, shown, signature))
    return rows


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _pair(first: int | None, second: int | None) -> str:
    return "" if first is None or second is None else f"{first:,} and {second:,}"


def _energy(train: Manifest) -> str:
    """Energy and the counter that told it, or why there is none; "" for runs that say neither."""
    shown, source = energy(train.get("energy_joules")), train.get("energy_source") or ""
    return f"{shown} ({source})" if shown and source else shown or source


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _gib(value: int | None) -> str:
    return "" if value is None else f"{value / GIB:.2f} GiB"


def scores_by_run(scores: Mapping[str, Manifest]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for manifest in scores.values():
        found.setdefault(manifest["run"], []).append(manifest)
    return found
