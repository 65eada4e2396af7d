"""Figures of training: loss and dev perplexity of all runs, learning rate, speed and padding."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from pipeline.results.figure_style import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    OURS,
    Drawn,
    new_figure,
    variant,
)
from pipeline.results.metrics import Curves, smooth
from pipeline.results.published import PublishedTable

PANEL_COLUMNS = 3
VARIATIONS = "Table 3"
ROW_INCHES = 0.16


def panels_of(
    curves: Sequence[Curves], tables: Sequence[PublishedTable]
) -> dict[str, list[tuple[str, list[Curves]]]]:
    """Runs by panel and label: a panel for each part of Tables 2 and 4 and each group of Table 3.

    Experiments that no table knows share the panel "others". Panels without runs are left out.
    """
    by_experiment: dict[str, list[Curves]] = {}
    for curve in curves:
        by_experiment.setdefault(curve.experiment, []).append(curve)
    panels: dict[str, list[tuple[str, list[Curves]]]] = {}
    known = set()
    for table in tables:
        base = table.rows()[0] if table.table == "table3" else None
        for section in table.sections:
            for row in section.rows:
                if row.experiment is None:
                    continue
                known.add(row.experiment)
                if base and (row is base or row.group == "big"):
                    continue  # both stand in the panel of Table 2
                name = f"{VARIATIONS} ({row.group})" if base else section.title
                members = panels.setdefault(name, [])
                if base and not members and base.experiment in by_experiment:
                    members.append(("base", by_experiment[base.experiment]))
                if row.experiment in by_experiment:
                    members.append(
                        (_short(row.label, row.group, table), by_experiment[row.experiment])
                    )
    panels["others"] = [(name, runs) for name, runs in by_experiment.items() if name not in known]
    least = {name: 2 if name.startswith(VARIATIONS) else 1 for name in panels}  # base is a guest
    return {name: members for name, members in panels.items() if len(members) >= least[name]}


def _short(label: str, group: str, table: PublishedTable) -> str:
    if table.table == "table4":
        return group.split(",")[0]
    return label.split(",")[0].replace("Transformer ", "").strip("()")


def draw_curves(
    panels: dict[str, list[tuple[str, list[Curves]]]],
    *,
    key: str,
    name: str,
    title: str,
    heading: str,
    caption: str,
) -> Drawn:
    """One panel a group of runs: `key` of metrics.jsonl against steps, both axes shared in look."""
    rows = -(-len(panels) // PANEL_COLUMNS)
    columns = min(len(panels), PANEL_COLUMNS)
    figure, axes = new_figure(
        height_inches=0.3 + 2.4 * rows, rows=rows, columns=columns, sharey=True
    )
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for number, (panel, members) in enumerate(panels.items()):
        ax = axes.flat[number]
        _draw_panel(ax, members, key, base_grey=panel.startswith(VARIATIONS))
        ax.set_title(panel)
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xlabel("step")
        if number % columns == 0:
            ax.set_ylabel(heading)
        ax.legend(handlelength=2.6, fontsize=6.5, labelspacing=0.25)
    return Drawn(name, title, caption, figure)


def _draw_panel(
    ax: Axes, members: list[tuple[str, list[Curves]]], key: str, *, base_grey: bool
) -> None:
    index = 0
    for label, runs in members:
        base = label == "base" and base_grey
        style = {"color": GREY, "linestyle": "-"} if base else variant(index)
        index += not base
        for seed_number, run in enumerate(runs):
            steps, values = run.points(key)
            shown = smooth(values) if key == "loss" else values
            marker = {} if key == "loss" else {"marker": MARKERS[index % len(MARKERS)], "ms": 3}
            ax.plot(steps, shown, label=label if seed_number == 0 else None, **style, **marker)


def draw_learning_rate(curves: Sequence[Curves]) -> Drawn:
    """Every distinct schedule of the runs, as recorded, over eq. (3)."""
    figure, axes = new_figure(height_inches=2.6)
    ax = axes[0, 0]
    seen: list[tuple[object, ...]] = []
    for run in sorted(curves, key=lambda run: run.train["model"]["d_model"]):  # the highest first
        training, d_model = run.train["training"], run.train["model"]["d_model"]
        scale, warmup = training["learning_rate_scale"], training["warmup_steps"]
        schedule = (d_model, warmup, scale)
        steps, rates = run.points("learning_rate")
        if schedule in seen or not steps:
            continue
        style = {"color": COLOURS[len(seen) % len(COLOURS)], "linestyle": LINES[0]}
        seen.append(schedule)
        label = f"d_model {d_model}, warmup_steps {warmup}" + (
            f", × {scale:g}" if scale != 1 else ""
        )
        ax.plot(steps, rates, label=label, **style)
        grid = np.linspace(1, max(steps), 400)
        formula = scale * d_model**-0.5 * np.minimum(grid**-0.5, grid * warmup**-1.5)
        ax.plot(grid, formula, color="black", linestyle=":", linewidth=0.8, zorder=3)
    ax.plot([], [], color="black", linestyle=":", linewidth=0.8, label="eq. (3)")
    ax.set_xlabel("step")
    ax.set_ylabel("learning rate")
    ax.set_ylim(bottom=0)
    ax.legend()
    caption = (
        "Learning rate as the runs recorded it, one line for each schedule among them; "
        "dots: eq. (3) of the paper."
    )
    return Drawn("learning_rate", "Learning rate", caption, figure)


def draw_speed(curves: Sequence[Curves]) -> Drawn:
    """Target tokens a second and padding share of every run."""
    shown = sorted(curves, key=lambda run: run.run, reverse=True)
    height = 0.9 + ROW_INCHES * len(shown)
    figure, (axes,) = new_figure(height_inches=height, columns=2, sharey=True)
    positions = range(len(shown))
    speeds = [_tokens_per_second(run) for run in shown]
    padding = [100 * (run.train.get("padding_share") or 0) for run in shown]
    axes[0].barh(positions, speeds, color=OURS, height=0.7)
    axes[1].barh(positions, padding, color=COLOURS[1], height=0.7)
    axes[0].set_yticks(positions, [run.run for run in shown])
    axes[0].set_ylim(-0.6, len(shown) - 0.4)
    axes[0].xaxis.set_major_formatter("{x:,.0f}")
    axes[0].set_xlabel("target tokens a second, whole run")
    axes[1].set_xlabel("padding, % of positions")
    for ax in axes:
        ax.grid(axis="y", visible=False)
    caption = (
        "Target tokens a second over the whole training, dev passes and checkpoints included, and "
        "the share of positions in the batches that were padding."
    )
    return Drawn("speed", "Speed and padding", caption, figure)


def _tokens_per_second(run: Curves) -> float:
    seconds = run.train.get("elapsed_seconds")
    return run.train["tgt_tokens"] / seconds if seconds else 0.0
