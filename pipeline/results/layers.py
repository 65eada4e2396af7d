"""Table 1: what the paper says a layer costs, and what its forward pass takes on this machine."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.results.notes import at_commit, short
from pipeline.results.published import PublishedLayers
from pipeline.results.table import Column, Row, Section, Table, number, trim

FITTED = 3  # largest sizes: complexities speak of growth, small sizes of overhead


def fit_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Slope of log(seconds) over log(size) by least squares over the largest `FITTED` sizes.

    Raises ValueError for fewer than two sizes.
    """
    points = sorted(zip(sizes, seconds, strict=True))[-FITTED:]
    if len({size for size, _ in points}) < 2:
        raise ValueError(f"an exponent needs at least two sizes: {list(sizes)}")
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, deg=1)[0])


def series(times: Mapping[str, Any], layer: str, *, varied: str) -> tuple[list[int], list[float]]:
    """Sizes and seconds of one layer while n or d varied, sizes ascending."""
    found = sorted(
        (entry[varied], entry["seconds"])
        for entry in times["measurements"]
        if entry["layer"] == layer and entry["varied"] == varied
    )
    return [size for size, _ in found], [seconds for _, seconds in found]


def build_layer_table(
    published: PublishedLayers, times: Mapping[str, Any] | None, *, scale: str
) -> Table:
    """Table 1; without `times` (layer_times.json) the measured columns are left out."""
    rows, records = [], []
    for layer in published.layers:
        record: dict[str, Any] = {
            "layer": layer.title,
            "complexity": layer.complexity,
            "sequential_operations": layer.sequential,
            "maximum_path_length": layer.path,
            "theory_exponent_n": layer.exponent_n,
            "measured_exponent_n": None,
            "theory_exponent_d": layer.exponent_d,
            "measured_exponent_d": None,
            "seconds_shortest": None,
            "seconds_longest": None,
        }
        if times is not None:
            by_n, by_d = (series(times, layer.layer, varied=varied) for varied in "nd")
            record["measured_exponent_n"] = fit_exponent(*by_n)
            record["measured_exponent_d"] = fit_exponent(*by_d)
            record["seconds_shortest"], record["seconds_longest"] = by_n[1][0], by_n[1][-1]
        records.append(record)
        rows.append(Row(_cells(record)))
    columns, sections = trim(_columns(times), (Section("Layers", tuple(rows)),))
    return Table(
        name=published.table,
        title=f"Table 1. {published.title}",
        columns=columns,
        sections=sections,
        notes=_notes(times, scale),
        frame=_frame(records, times, scale),
    )


def _columns(times: Mapping[str, Any] | None) -> tuple[Column, ...]:
    lengths = sorted(times["lengths"]) if times else [0, 0]
    return (
        Column("layer", "left"),
        Column("complexity", "left"),
        Column("sequential operations", "left"),
        Column("maximum path length", "left"),
        Column("power of n, theory"),
        Column("power of n, measured", optional=True),
        Column("power of d, theory"),
        Column("power of d, measured", optional=True),
        Column(f"ms at n = {lengths[0]}", optional=True),
        Column(f"ms at n = {lengths[-1]}", optional=True),
    )


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    def milliseconds(seconds: float | None) -> str:
        return "" if seconds is None else number(1000 * seconds, 2)

    return (
        record["layer"],
        record["complexity"],
        record["sequential_operations"],
        record["maximum_path_length"],
        str(record["theory_exponent_n"]),
        number(record["measured_exponent_n"], 2),
        str(record["theory_exponent_d"]),
        number(record["measured_exponent_d"], 2),
        milliseconds(record["seconds_shortest"]),
        milliseconds(record["seconds_longest"]),
    )


def _notes(times: Mapping[str, Any] | None, scale: str) -> tuple[str, ...]:
    notes = [
        "n positions of width d, kernel k, neighbourhood r. The complexity of self-attention "
        "leaves its projections out (they add O(n·d²)), and so does our measurement."
    ]
    if times is None:
        return (*notes, f"Scale {scale}; layers were not timed.")
    sizes = ", ".join(map(str, sorted(times["lengths"])))
    widths = ", ".join(map(str, sorted(times["widths"])))
    notes += [
        f"Scale {scale}. Forward passes in fp32 on {times['device']}, "
        f"{times['threads']} thread(s), batch {times['batch']}, k = {times['kernel']}, "
        f"r = {times['neighbourhood']}: n in {sizes} at d = {times['fixed_width']}; d in "
        f"{widths} at n = {times['fixed_length']} (ms: d = {times['fixed_width']}).",
        f"Measured powers: least-squares slope of log time over the largest {FITTED} sizes.",
        f"Results made at {at_commit([short(times['commit'])])}.",
    ]
    return tuple(notes)


def _frame(
    records: Sequence[dict[str, Any]], times: Mapping[str, Any] | None, scale: str
) -> pd.DataFrame:
    frame = pd.DataFrame.from_records(records)
    texts = ("layer", "complexity", "sequential_operations", "maximum_path_length")
    kinds = {name: "string" if name in texts else "float64" for name in frame.columns}
    counts = ("theory_exponent_n", "theory_exponent_d")
    frame = frame.astype({**kinds, **dict.fromkeys(counts, "int64")})
    device, commit = (times["device"], times["commit"]) if times else ("", "")
    return frame.assign(scale=scale, device=device, commit=commit)
