"""Figures of the model: position encodings, attention maps (Figures 3-5), times of Table 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pipeline.results.attention_heads import (
    Choice,
    long_distance,
    merge_pieces,
    most_different,
    sharpest,
)
from pipeline.results.figure_style import COLOURS, LINES, MARKERS, Drawn, new_figure
from pipeline.results.layers import FITTED, fit_exponent, series
from pipeline.results.published import PublishedLayers

FAINT = 0.03  # attention below this is not drawn
POSITIONS_SHOWN = 100
TITLE_WORDS = 4


def draw_positions(d_model: int) -> Drawn:
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) the cosine."""
    position_P1 = np.arange(POSITIONS_SHOWN)[:, None]
    rate_I = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    encoding_PD = np.empty((POSITIONS_SHOWN, d_model))
    encoding_PD[:, 0::2] = np.sin(position_P1 * rate_I)
    encoding_PD[:, 1::2] = np.cos(position_P1 * rate_I)
    figure, (axes,) = new_figure(height_inches=2.7, columns=2)
    halves_PD = np.concatenate([encoding_PD[:, 0::2], encoding_PD[:, 1::2]], axis=1)
    image = axes[0].imshow(
        halves_PD, aspect="auto", cmap="PuOr", vmin=-1, vmax=1, interpolation="nearest"
    )
    axes[0].grid(visible=False)
    axes[0].set_xlabel("dimension: sines (even), then cosines (odd)")
    axes[0].set_ylabel("position")
    figure.colorbar(image, ax=axes[0])
    similarity_P = encoding_PD @ encoding_PD[POSITIONS_SHOWN // 2] * 2 / d_model
    axes[1].plot(np.arange(POSITIONS_SHOWN) - POSITIONS_SHOWN // 2, similarity_P, color=COLOURS[0])
    axes[1].set_xlabel("distance between two positions")
    axes[1].set_ylabel("cosine of their encodings")
    caption = (
        f"Sinusoidal position encodings of section 3.5 for d_model {d_model}, and how alike two "
        "encodings are: it depends on their distance alone."
    )
    return Drawn("positions", "Position encodings", caption, figure)


def draw_layer_times(times: Mapping[str, Any], published: PublishedLayers) -> Drawn:
    """Log-log time of each layer of Table 1 against n and d, with the fitted powers."""
    figure, (axes,) = new_figure(height_inches=3.0, columns=2, sharey=True)
    fixed = {"n": f"d = {times['fixed_width']}", "d": f"n = {times['fixed_length']}"}
    names = {"n": "length n", "d": "width d"}
    for ax, varied in zip(axes, "nd", strict=True):
        for index, layer in enumerate(published.layers):
            sizes, seconds = series(times, layer.layer, varied=varied)
            power = fit_exponent(sizes, seconds)
            theory = layer.exponent_n if varied == "n" else layer.exponent_d
            ax.plot(
                sizes,
                1000 * np.array(seconds),
                label=f"{layer.title}: {power:.2f} ({theory})",
                color=COLOURS[index],
                linestyle=LINES[index],
                marker=MARKERS[index],
            )
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xticks(sizes)
        ax.set_xlabel(f"{names[varied]}, with {fixed[varied]}")
        ax.legend(title="measured power (theory)", title_fontsize=7, loc="upper left")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * 6)  # room for the legend
    axes[0].set_ylabel("forward pass, ms")
    caption = (
        f"Forward time of the layers of Table 1 on {times['device']}, {times['threads']} "
        f"thread(s), batch {times['batch']}; powers fitted over the largest {FITTED} sizes, the "
        "theory's in brackets."
    )
    return Drawn("layer_times", "Times of Table 1's layers", caption, figure)


def draw_attention(attention: Mapping[str, Any]) -> list[Drawn]:
    """Figures 3, 4 and 5 for one sentence: long distance, one word's sharpest heads, contrast.

    attention: {"name", "layer", "heads": [H][Q][K], "pieces": [Q]}, optionally "run", and a
    choice by hand: "query" (a word's number from 1) and "chosen_heads" (numbers from 1).
    Raises ValueError for a choice that the map does not have.
    """
    maps_HWW, words = merge_pieces(np.array(attention["heads"], float), list(attention["pieces"]))
    name = attention["name"]
    where = f"layer {attention['layer']}" + (f" of {run}" if (run := attention.get("run")) else "")
    query = _chosen(attention, "query", len(words))
    far = long_distance(maps_HWW, words, query=query[0] if query else None)
    assert far.query is not None
    near = sharpest(maps_HWW, words, query=far.query)
    contrast = most_different(maps_HWW)
    if heads := _chosen(attention, "chosen_heads", len(maps_HWW)):
        near = Choice(heads, far.query, f"{words[far.query]!r}: heads chosen by hand")
        contrast = Choice(heads, None, "heads chosen by hand")
    return [
        _draw_fan(maps_HWW, words, far, f"{name}_long_distance", where),
        _draw_columns(maps_HWW, words, near, f"{name}_one_word", where),
        _draw_columns(maps_HWW, words, contrast, f"{name}_two_heads", where),
    ]


def _chosen(attention: Mapping[str, Any], key: str, count: int) -> tuple[int, ...]:
    """Indices from 0 of a number or a list of numbers from 1; () where there is no choice."""
    value = attention.get(key)
    numbers = [] if value is None else value if isinstance(value, list) else [value]
    for number in numbers:
        if not 1 <= number <= count:
            raise ValueError(f"{attention['name']}: {key} must be from 1 to {count}: {number}")
    return tuple(number - 1 for number in numbers)


def _draw_fan(
    maps_HWW: np.ndarray, words: list[str], choice: Choice, name: str, where: str
) -> Drawn:
    """As Figure 3: one word above, all words below, a line a head, beside the heads' numbers."""
    figure, (axes,) = new_figure(
        height_inches=3.4, columns=2, gridspec_kw={"width_ratios": [4, 1.4]}
    )
    assert choice.query is not None
    maps_HW = maps_HWW[:, choice.query]
    _two_lines(axes[0], words, query=choice.query)
    for index, head in enumerate(choice.heads):
        for key, weight in enumerate(maps_HW[head]):
            if weight >= FAINT:
                offset = 0.5 * (index / max(1, len(choice.heads) - 1) - 0.5)
                axes[0].plot(
                    [choice.query, key + offset],
                    [1, 0],
                    color=COLOURS[index % len(COLOURS)],
                    linestyle=LINES[index // len(COLOURS) % len(LINES)],
                    alpha=float(weight),
                    linewidth=2.0,
                )
    image = axes[1].imshow(maps_HW[list(choice.heads)].T, aspect="auto", cmap="cividis", vmin=0)
    axes[1].set_yticks(range(len(words)), words, fontsize=6)
    axes[1].set_xticks(range(len(choice.heads)), [str(head + 1) for head in choice.heads])
    axes[1].set_xlabel("head")
    axes[1].grid(visible=False)
    figure.colorbar(image, ax=axes[1])
    caption = (
        f"Encoder self-attention of {where} from {choice.reason}. Left: a colour a head, strength "
        "by weight; right: the same weights."
    )
    title = f"Attention over a long distance (Figure 3): {_opening(words)}"
    return Drawn(name, title, caption, figure)


def _draw_columns(
    maps_HWW: np.ndarray, words: list[str], choice: Choice, name: str, where: str
) -> Drawn:
    """As Figures 4 and 5: each chosen head by itself, from one word or from all."""
    figure, axes = new_figure(height_inches=2.3 * len(choice.heads), rows=len(choice.heads))
    for index, (head, ax) in enumerate(zip(choice.heads, axes[:, 0], strict=True)):
        _two_lines(ax, words, query=choice.query)
        queries = range(len(words)) if choice.query is None else [choice.query]
        for query in queries:
            for key, weight in enumerate(maps_HWW[head, query]):
                if weight >= FAINT:
                    line = {"color": COLOURS[index % len(COLOURS)], "linewidth": 1.8}
                    ax.plot([query, key], [1, 0], alpha=float(weight), **line)
        ax.set_title(f"head {head + 1}")
    title = "Two heads of different structure (Figure 5)"
    if choice.query is not None:
        title = "Heads that look at one word (Figure 4)"
    caption = f"Encoder self-attention of {where}; {choice.reason}. Strength by weight."
    return Drawn(name, f"{title}: {_opening(words)}", caption, figure)


def _opening(words: Sequence[str]) -> str:
    """The sentence's first words, by which people tell its figures from another's."""
    return f"“{' '.join(words[:TITLE_WORDS])} …”"


def _two_lines(ax: Axes, words: Sequence[str], *, query: int | None) -> None:
    """The sentence above (queries) and below (keys), words upright so that long ones fit."""
    for position, word in enumerate(words):
        weight = "bold" if position == query else "normal"
        above = {"rotation": 90, "ha": "center", "va": "bottom", "fontweight": weight}
        ax.text(position, 1.04, word, fontsize=7, **above)
        ax.text(position, -0.04, word, rotation=90, ha="center", va="top", fontsize=7)
    ax.set_xlim(-0.7, len(words) - 0.3)
    ax.set_ylim(-0.75, 1.75)
    ax.set_axis_off()
