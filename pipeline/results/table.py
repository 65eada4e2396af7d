"""A table as data: what people read cell by cell, and the typed frame that CSV holds."""

from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd

from pipeline.results.runs import Summary

OUTSIDE = "†"
BEYOND_CHANCE = "‡"
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Column:
    heading: str
    align: Literal["left", "right"] = "right"
    optional: bool = False  # left out where no row fills it
    below: bool = False  # in HTML and LaTeX small below the column before it: tables stay narrow
    floats: tuple[int, ...] = (1,)  # in which of the table's floats LaTeX shows it; () in none


@dataclass(frozen=True)
class Row:
    """Cells as text; `ours` stands bold among rivals, `rule_above` starts a group."""

    cells: tuple[str, ...]
    ours: bool = False
    rule_above: bool = False


@dataclass(frozen=True)
class Section:
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """One table of the paper with ours in it. `frame` has a row each, columns typed, units named.

    `notes` state scale, test set, signatures, checkpoints and commit; no figure leaves without.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    frame: pd.DataFrame = field(repr=False)

    def __post_init__(self) -> None:
        for section in self.sections:
            for row in section.rows:
                assert len(row.cells) == len(self.columns), (self.name, row.cells)


def trim(
    columns: tuple[Column, ...], sections: tuple[Section, ...]
) -> tuple[tuple[Column, ...], tuple[Section, ...]]:
    """Leave out optional columns that no row of any section fills."""
    rows = [row for section in sections for row in section.rows]
    kept = [
        i
        for i, column in enumerate(columns)
        if not column.optional or any(row.cells[i] for row in rows)
    ]
    trimmed = tuple(
        Section(
            section.title,
            tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in section.rows),
        )
        for section in sections
    )
    return tuple(columns[i] for i in kept), trimmed


def number(value: float | None, decimals: int) -> str:
    """Fixed decimals with a true minus sign; "" for None."""
    if value is None:
        return ""
    rounded = round(value, decimals) + 0.0  # a zero has no sign
    return f"{rounded:.{decimals}f}".replace("-", "−")


def published(value: float | None) -> str:
    """A figure with the digits the paper printed, at least one after the point."""
    return "" if value is None else str(float(value))


def summary(value: Summary | None, decimals: int) -> str:
    """Mean, "± deviation" over seeds, "[low, high]" of the interval: as far as they exist."""
    if value is None:
        return ""
    text = number(value.mean, decimals)
    if value.deviation is not None:
        text += f" ± {number(value.deviation, decimals)}"
    if value.low is not None and value.high is not None:
        text += f" [{number(value.low, decimals)}, {number(value.high, decimals)}]"
    return text


def signed(value: float | None, decimals: int, *, marked: bool = False) -> str:
    """A difference, its sign always written; `marked` if it lies outside the interval."""
    if value is None:
        return ""
    sign = "+" if round(value, decimals) > 0 else ""
    return sign + number(value, decimals) + (OUTSIDE if marked else "")


def distance(
    value: float | None, deviation: float | None, decimals: int, *, significant: bool
) -> str:
    """A signed difference from a base, "± deviation" over seeds, marked if beyond chance."""
    text = signed(value, decimals)
    if deviation is not None:
        text += f" ± {number(deviation, decimals)}"
    return text + (BEYOND_CHANCE if significant else "")


def p_value(value: float | None) -> str:
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def scientific(value: float | None) -> str:
    """Two digits and a power of ten, as the paper prints costs: 3.3·10¹⁸."""
    if value is None:
        return ""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def millions(value: float | None, decimals: int) -> str:
    return "" if value is None else number(value / 1e6, decimals)


def energy(joules: float | None) -> str:
    """Three digits in Wh or kWh: 3.6 MJ are 1 kWh."""
    if joules is None:
        return ""
    hours = joules / 3600
    value, unit = (hours / 1000, "kWh") if hours >= 1000 else (hours, "Wh")
    return f"{number(value, max(0, 3 - len(str(int(value)))))} {unit}"


def duration(seconds: float | None) -> str:
    """The two largest units: "45 s", "3 min 20 s", "12 h 5 min", "3 d 12 h"."""
    if seconds is None:
        return ""
    left = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
