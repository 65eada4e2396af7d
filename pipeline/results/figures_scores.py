"""Figures of scores: what each row of Table 3 changes, and BLEU against sentence length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sacrebleu.metrics import BLEU

from pipeline.results.figure_style import (
    COLOURS,
    LINES,
    MARKERS,
    OURS,
    PAPER,
    Drawn,
    new_figure,
)
from pipeline.results.rows import UNDERTRAINED

LENGTH_BINS = 6
ROW_INCHES = 0.19


def draw_ablation(frame: pd.DataFrame, *, scale: str) -> Drawn:
    """Table 3 as distances from base, the paper's beside ours; `frame` is the table's.

    Bars are the deviation over seeds, where there are several. A row not run has no mark of ours.
    An undertrained row is hollow; axes do not stretch for it: beyond their range it stands at the
    edge with its value.
    """
    rows = frame.iloc[1:].reset_index(drop=True)
    groups = list(dict.fromkeys(rows["group"]))
    positions = np.array([-(i + 0.7 * groups.index(g)) for i, g in enumerate(rows["group"])])
    height = 0.9 + ROW_INCHES * -positions[-1]
    figure, (axes,) = new_figure(height_inches=height, columns=2, sharey=True)
    base = frame.iloc[0]
    undertrained = (rows["remark"] == UNDERTRAINED).to_numpy()
    for ax, paper, ours, deviations, heading in (
        (
            axes[0],
            rows["paper_from_base"],
            rows["from_base"],
            rows["from_base_deviation"],
            "tokenized_bleu, from base",
        ),
        (
            axes[1],
            100 * (rows["paper_perplexity"] / base["paper_perplexity"] - 1),
            100 * (rows["perplexity"] / base["perplexity"] - 1),
            100 * rows["perplexity_deviation"] / base["perplexity"],
            "perplexity, % from base",
        ),
    ):
        columns = (column.to_numpy(float) for column in (paper, ours, deviations))
        _draw_distances(ax, positions, *columns, undertrained)
        ax.set_xlabel(heading)
    axes[0].set_yticks(positions, [f"{row.group}  {row.row}" for row in rows.itertuples()])
    for tick, blank in zip(axes[0].get_yticklabels(), rows["tokenized_bleu"].isna(), strict=True):
        tick.set_color("#888888" if blank else "black")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    caption = (
        "What each row of Table 3 changes against base: diamonds the paper on newstest2013, "
        f"discs ours at scale {scale}; hollow: undertrained, with its value where it lies beyond "
        "the axis; grey labels: not run."
    )
    if frame["n_seeds"].max() > 1:
        caption += " Bars: sample deviation over seeds."
    return Drawn("ablation", "Variations of Table 3 against base", caption, figure)


def _draw_distances(
    ax: Axes,
    positions: np.ndarray,
    paper: np.ndarray,
    ours: np.ndarray,
    deviations: np.ndarray,
    undertrained: np.ndarray,
) -> None:
    ends = ours - np.nan_to_num(deviations), ours + np.nan_to_num(deviations)
    counted = np.concatenate([paper, *(np.where(undertrained, np.nan, end) for end in ends)])
    low, high = np.nanmin(counted, initial=0.0), np.nanmax(counted, initial=0.0)
    margin = 0.08 * (high - low) or 1.0
    low, high = low - margin, high + margin
    shown = np.clip(ours, low, high)
    if not np.isnan(deviations).all():
        bars = {"fmt": "none", "ecolor": OURS, "elinewidth": 1.0, "capsize": 2.0}
        ax.errorbar(ours, positions, xerr=deviations, zorder=2.5, **bars)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.hlines(positions, paper, shown, color="#BBBBBB", linewidth=1.0, zorder=1)
    ax.scatter(paper, positions, marker="D", s=16, color=PAPER, label="paper", zorder=2)
    faces = np.where(undertrained, "white", OURS)
    ax.scatter(
        shown,
        positions,
        s=24,
        facecolors=faces,
        edgecolors=OURS,
        label="ours",
        zorder=3,
        clip_on=False,
    )
    for value, at, position in zip(ours, shown, positions, strict=True):
        if value != at and not np.isnan(value):
            inwards = 1 if value < at else -1
            ax.annotate(
                f"{value:+.0f}".replace("-", "−"),
                (at, position),
                xytext=(7 * inwards, 0),
                textcoords="offset points",
                ha="left" if inwards > 0 else "right",
                va="center",
                fontsize=7,
                color=OURS,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
    ax.set_xlim(low, high)


@dataclass(frozen=True)
class Translations:
    """One decoded test set: raw text, a sentence a line."""

    label: str
    sources: Sequence[str]
    hypotheses: Sequence[str]
    references: Sequence[str]


def length_bins(sources: Sequence[str], *, n_bins: int = LENGTH_BINS) -> list[tuple[int, int]]:
    """Ranges of words (first, last), ascending: at most `n_bins`, each ending at the length whose
    running count of sentences is nearest to an equal share.
    """
    lengths, counts = np.unique([len(line.split()) for line in sources], return_counts=True)
    running = np.cumsum(counts)
    shares = running[-1] * np.arange(1, n_bins) / n_bins
    last = {len(lengths) - 1}
    if len(lengths) > 1:
        last |= {int(np.abs(running[:-1] - share).argmin()) for share in shares}
    ends = [int(lengths[i]) for i in sorted(last)]
    starts = [int(lengths[0]), *(end + 1 for end in ends[:-1])]
    return list(zip(starts, ends, strict=True))


def bleu_by_length(
    translations: Translations, bins: Sequence[tuple[int, int]]
) -> list[tuple[float, int]]:
    """sacrebleu (13a, cased) and number of sentences of each range of source words."""
    lengths = [len(line.split()) for line in translations.sources]
    found = []
    for first, last in bins:
        chosen = [i for i, length in enumerate(lengths) if first <= length <= last]
        hypotheses = [translations.hypotheses[i] for i in chosen]
        references = [translations.references[i] for i in chosen]
        score = BLEU().corpus_score(hypotheses, [references]).score if chosen else float("nan")
        found.append((score, len(chosen)))
    return found


def draw_bleu_by_length(systems: dict[str, list[Translations]]) -> Drawn:
    """A panel for each test set, a line for each system on it."""
    figure, (axes,) = new_figure(height_inches=2.8, columns=len(systems), sharey=True)
    for ax, (test_set, members) in zip(axes, systems.items(), strict=True):
        bins = length_bins(members[0].sources)
        for index, member in enumerate(members):
            scores = bleu_by_length(member, bins)
            ax.plot(
                range(len(bins)),
                [score for score, _ in scores],
                label=member.label,
                color=COLOURS[index],
                linestyle=LINES[index],
                marker=MARKERS[index],
            )
        labels = [f"{a}–{b}" if a != b else f"{a}" for a, b in bins]
        counts = [f"{label}\n{count}" for label, (_, count) in zip(labels, scores, strict=True)]
        ax.set_xticks(range(len(bins)), counts)
        ax.set_xlabel("words of the source; sentences")
        ax.set_title(test_set)
        ax.legend(loc="best")
    axes[0].set_ylabel("sacrebleu")
    caption = (
        "sacrebleu (13a, cased) of test sentences grouped by the length of their source; the "
        "second line of each tick is the number of sentences, as near to equal as groups of "
        "whole lengths come. Of an experiment with several seeds the first is shown."
    )
    return Drawn("bleu_by_length", "BLEU against sentence length", caption, figure)
