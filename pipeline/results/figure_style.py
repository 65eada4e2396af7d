"""How every figure looks, and how it is saved: readable in print, in grey, and colour-blind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from numpy import ndarray

from pipeline.files import atomic_path

WIDTH_INCHES = 7.0
PNG_DPI = 160
# Okabe and Ito's palette: told apart by all common kinds of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
PAPER, OURS, GREY = "#555555", "#0072B2", "#999999"
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,  # grid lines never run over bars
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "reattend",  # equal data give equal files
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Drawn:
    """A figure with what a reader needs to read it."""

    name: str
    title: str
    caption: str
    figure: Figure


@contextmanager
def style() -> Iterator[None]:
    """Figures drawn and saved within this context look alike, whatever the user's matplotlibrc."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def new_figure(
    *, height_inches: float, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Figure, ndarray]:
    """A figure of the common width, and its axes [rows, columns]."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(drawn: Drawn, folder: Path) -> list[Path]:
    """Write `name`.svg and `name`.png; return their paths."""
    paths = []
    for suffix, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": PNG_DPI})):
        path = folder / f"{drawn.name}.{suffix}"
        with atomic_path(path) as temporary:
            drawn.figure.savefig(temporary, format=suffix, **options)
        paths.append(path)
    return paths


def variant(index: int) -> dict[str, object]:
    """Colour and line of the index-th of several curves: no two differ by colour alone."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": LINES[index % len(LINES)]}
