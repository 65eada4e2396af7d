"""What people see of Tables 2-4: their columns, and how a row fills them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.results.published import PublishedRow
from pipeline.results.rows import Ours
from pipeline.results.runs import Summary
from pipeline.results.table import (
    Column,
    distance,
    duration,
    energy,
    millions,
    number,
    p_value,
    published,
    scientific,
    signed,
    summary,
)


@dataclass(frozen=True)
class Layout:
    """What people see of a table: its columns, and how a row fills them."""

    columns: tuple[Column, ...]
    cells: Callable[[PublishedRow, Ours, Mapping[str, Any]], tuple[str, ...]]
    drop: tuple[str, ...]  # prefixes of CSV columns that do not belong to it


def _table2_cells(row: PublishedRow, ours: Ours, record: Mapping[str, Any]) -> tuple[str, ...]:
    delta, outside = record["tokenized_bleu_difference"], record["outside_interval"]
    return (
        row.label,
        record["here"],
        record["remark"],
        published(row.tokenized_bleu),
        summary(ours.tokenized_bleu, 2),
        signed(delta, 2, marked=outside),
        *_from_base(record, 2),
        summary(ours.sacrebleu, 2),
        scientific(row.cost_flops),
        scientific(_mean(ours.flops_by_time)),
        scientific(_mean(ours.counted_flops)),
        duration(_mean(ours.training_seconds)),
        energy(_mean(ours.energy_joules)),
    )


def _table3_cells(row: PublishedRow, ours: Ours, record: Mapping[str, Any]) -> tuple[str, ...]:
    delta, outside = record["tokenized_bleu_difference"], record["outside_interval"]
    return (
        row.group,
        row.label,
        record["here"] if record["here"] != row.label else "",
        record["remark"],
        number(row.perplexity, 2),
        summary(ours.perplexity, 2),
        signed(record["perplexity_difference"], 2),
        published(row.tokenized_bleu),
        summary(ours.tokenized_bleu, 1),
        signed(delta, 1, marked=outside),
        signed(record["paper_from_base"], 1),
        *_from_base(record, 1),
        summary(ours.sacrebleu, 1),
        millions(row.parameters, 0),
        millions(ours.parameters, 2),
    )


def _table4_cells(row: PublishedRow, ours: Ours, record: Mapping[str, Any]) -> tuple[str, ...]:
    delta, outside = record["bracket_f1_difference"], record["outside_interval"]
    return (
        row.label,
        record["here"],
        row.group,
        record["remark"],
        published(row.bracket_f1),
        summary(ours.bracket_f1, 2),
        signed(delta, 2, marked=outside),
        *_from_base(record, 2),
        summary(ours.all_lines, 2),
        summary(ours.recall, 2),
        summary(ours.precision, 2),
        duration(_mean(ours.training_seconds)),
    )


def _from_base(record: Mapping[str, Any], decimals: int) -> tuple[str, str]:
    """Our distance from base, marked where it is beyond chance, and the p-value of that."""
    shown = distance(
        record["from_base"],
        record["from_base_deviation"],
        decimals,
        significant=record["from_base_significant"],
    )
    return shown, p_value(record["from_base_p_value"])


def _mean(value: Summary | None) -> float | None:
    return value.mean if value else None


def _columns(
    *headings: str,
    left: Sequence[str],
    below: Sequence[str] = (),
    floats: Mapping[str, tuple[int, ...]] | None = None,
) -> tuple[Column, ...]:
    """Headings that end in "?" are of columns left out where no row fills them.

    floats: of those columns that do not share the floats of the column before them.
    """
    columns: list[Column] = []
    for marked in headings:
        heading = marked.removesuffix("?")
        before = columns[-1].floats if columns else (1,)
        columns.append(
            Column(
                heading,
                "left" if heading in left else "right",
                optional=marked != heading,
                below=heading in below,
                floats=(floats or {}).get(heading, before),
            )
        )
    return tuple(columns)


LAYOUTS = {
    "table2": Layout(
        columns=_columns(
            "model",
            "at this scale?",
            "remark?",
            "paper, tokenized_bleu",
            "ours, tokenized_bleu",
            "difference",
            "ours, from base?",
            "p?",
            "ours, sacrebleu",
            "paper, FLOPs",
            "ours, FLOPs by time?",
            "ours, FLOPs counted",
            "training time",
            "training energy?",
            left=("model", "at this scale", "remark"),
            below=("at this scale",),
        ),
        cells=_table2_cells,
        drop=(
            "bracket_f1",
            "all_lines",
            "recall",
            "precision",
            "group",
            "perplexity",
            "paper_perplexity",
        ),
    ),
    "table3": Layout(
        columns=_columns(
            "row",
            "change",
            "at this scale?",
            "remark?",
            "paper, perplexity",
            "ours, perplexity",
            "difference",
            "paper, tokenized_bleu",
            "ours, tokenized_bleu",
            "difference",
            "paper, from base",
            "ours, from base",
            "p?",
            "ours, sacrebleu",
            "paper, parameters (M)",
            "ours, parameters (M)",
            left=("row", "change", "at this scale", "remark"),
            below=("at this scale", "remark"),
            floats={
                "row": (1, 2),
                "at this scale": (1,),
                "remark": (1, 2),
                "paper, perplexity": (1,),
                "paper, tokenized_bleu": (2,),
                "ours, sacrebleu": (1,),
            },
        ),
        cells=_table3_cells,
        drop=("bracket_f1", "recall", "precision", "all_lines", "paper_training_flops"),
    ),
    "table4": Layout(
        columns=_columns(
            "parser",
            "at this scale?",
            "training",
            "remark?",
            "paper, bracket_f1",
            "ours, bracket_f1",
            "difference",
            "ours, from WSJ only?",
            "p?",
            "ours, all lines?",
            "ours, recall",
            "ours, precision",
            "training time",
            left=("parser", "at this scale", "training", "remark"),
            below=("at this scale",),
            floats={"training time": ()},
        ),
        cells=_table4_cells,
        drop=(
            "tokenized_bleu",
            "sacrebleu",
            "perplexity",
            "paper_perplexity",
            "paper_parameters",
            "paper_training_flops",
        ),
    ),
}
