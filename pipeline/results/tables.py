"""Tables 2, 3 and 4: the paper's figures, ours and the difference, each row from its manifests."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.results.comparisons import TEST, Distance, distances
from pipeline.results.costs import Rates
from pipeline.results.layouts import LAYOUTS
from pipeline.results.notes import notes_of
from pipeline.results.published import PublishedRow, PublishedSection, PublishedTable
from pipeline.results.rows import (
    UNDERTRAINED,
    Ours,
    change_of,
    ours_of,
    record_of,
    remark_of,
    sizes_of,
)
from pipeline.results.runs import Manifest, Run, Runs
from pipeline.results.table import Row, Section, Table, trim

TEXTS = (
    "section",
    "group",
    "row",
    "experiment",
    "here",
    "remark",
    "scale",
    "test_set",
    "from_base_test",
    "commit",
)
FLAGS = ("outside_interval", "from_base_significant")
COUNTS = ("n_average", "n_seeds")


def build_table(
    published: PublishedTable,
    runs: Runs,
    *,
    rates: Rates,
    reasons: Mapping[str, str] | None = None,
) -> Table:
    """Table 2, 3 or 4 for the runs of one scale.

    `reasons` says by experiment why it was not run; without an entry the row just says so.
    """
    layout = LAYOUTS[published.table]
    sections, records = [], []
    for section in published.sections:
        filled = _fill(published, section, runs, rates=rates, reasons=reasons or {})
        rivals = any(row.experiment is None for row in section.rows)
        groups = [section.rows[0].group, *(row.group for row in section.rows)]
        rows = tuple(
            Row(
                cells=layout.cells(row, ours, record),
                ours=rivals and row.experiment is not None,
                rule_above=row.group != group_above,
            )
            for (row, ours, record), group_above in zip(filled, groups, strict=False)
        )
        sections.append(Section(title=section.title, rows=rows))
        records += [record for _, _, record in filled]
    columns, trimmed = trim(layout.columns, tuple(sections))
    return Table(
        name=published.table,
        title=f"Table {published.table[-1]}. {published.title}",
        columns=columns,
        sections=trimmed,
        notes=notes_of(
            published,
            runs,
            rates=rates,
            tested=any(r["from_base_test"] for r in records),
            undertrained=any(r["remark"] == UNDERTRAINED for r in records),
            resized=any(r["here"] for r in records),
        ),
        frame=_frame(records, layout.drop),
    )


def _fill(
    published: PublishedTable,
    section: PublishedSection,
    runs: Runs,
    *,
    rates: Rates,
    reasons: Mapping[str, str],
) -> list[tuple[PublishedRow, Ours, dict[str, Any]]]:
    """Each row of a section with what our runs say of it; our first row is the base of the rest."""
    filled = []
    ours_first = next((row for row in section.rows if row.experiment), None)
    base = runs.of(ours_first.experiment) if ours_first else []
    base_train = _first_train(base)
    others = [[] if row is ours_first else runs.of(row.experiment) for row in section.rows]
    far = distances(base, others, metric=published.metric)
    for row, distance in zip(section.rows, far, strict=True):
        found = runs.of(row.experiment)
        ours = ours_of(found, rates=rates)
        record = {"section": section.title, **record_of(published, row, ours, found)}
        record["remark"] = remark_of(published, row, found, scale=runs.scale, reasons=reasons)
        record["scale"] = runs.scale if row.experiment else ""
        train = _first_train(found)
        record["here"] = _here(row, train, base_train)
        record |= _from_base(row, ours_first, distance, metric=published.metric)
        filled.append((row, ours, record))
    return filled


def _here(row: PublishedRow, train: Manifest | None, base: Manifest | None) -> str:
    """What is not as the paper's sizes; for a row that states none, what it changes of base."""
    if train is None:
        return ""
    if row.sizes:
        return sizes_of(row, train)
    return change_of(train, base) if base else ""


def _first_train(runs: Sequence[Run]) -> Manifest | None:
    return next((run.train for run in runs if run.train), None)


def _from_base(
    row: PublishedRow, base: PublishedRow | None, ours: Distance | None, *, metric: str
) -> dict[str, Any]:
    """How far the row's score lies from that of our first row, the paper's and ours.

    The base row itself and rival systems have no distance.
    """
    paper = None
    if base is not None and row is not base and row.experiment:
        scores = getattr(row, metric), getattr(base, metric)
        paper = None if None in scores else scores[0] - scores[1]
    return {
        "paper_from_base": paper,
        "from_base": ours.value.mean if ours else None,
        "from_base_deviation": ours.value.deviation if ours else None,
        "from_base_p_value": ours.p_value if ours else None,
        "from_base_significant": ours is not None and ours.significant,
        "from_base_test": TEST if ours and ours.p_value is not None else "",
    }


def _frame(records: Sequence[dict[str, Any]], drop: Sequence[str]) -> pd.DataFrame:
    """Typed columns; those of metrics that the table does not show are left out."""
    frame = pd.DataFrame.from_records(records)
    frame = frame[[name for name in frame.columns if not name.startswith(tuple(drop))]].copy()
    for name in frame.columns:
        if name in TEXTS or name.endswith("_signature"):
            frame[name] = frame[name].astype("string")
        elif name in FLAGS:
            frame[name] = frame[name].astype(bool)
        elif name in COUNTS:
            frame[name] = frame[name].astype("Int64")
        else:
            frame[name] = frame[name].astype("float64")
    return frame
