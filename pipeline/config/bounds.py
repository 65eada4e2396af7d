"""The largest numbers that someone could mean: more is a slip, said before any job starts.

Each is some ten times what published work or a large machine has, so that no plan is refused.
"""

import argparse
import math
from collections.abc import Callable

MOST_LAYERS = 1_000
MOST_WIDTH = 1 << 18  # of a layer or a head
MOST_HEADS = 1 << 12
MOST_POSITIONS = 1 << 20
MOST_DROPOUT = 0.9  # and label smoothing
MOST_BETA = 0.99999
MOST_STEPS = 100_000_000
MOST_TOKENS = 100_000_000  # of a batch or an update
MOST_CHECKPOINTS = 1_000
MOST_BEAM_SIZE = 1_000
MOST_LENGTH_PENALTY = 10.0
MOST_EXTRA_TOKENS = 100_000
MOST_VOCABULARY = 10_000_000
MOST_LINES = 100_000_000_000
MOST_WORDS = 1_000_000  # of a line
MOST_LINE_BYTES = 1_000_000_000
MOST_FILE_BYTES = 1_000_000_000_000_000
MOST_SEED = (1 << 32) - 1  # what every library takes
MOST_RESAMPLES = 100_000
MOST_NODES, MOST_RANKS, MOST_DEVICES = 10_000, 1_024, 100_000
MOST_TFLOPS = 1_000_000.0
MOST_MINUTES = 10_080.0  # a week
MOST_SHARDS = 10_000
DAY_SECONDS, WEEK_SECONDS = 86_400, 7 * 86_400


def whole(least: int, most: int) -> Callable[[str], int]:
    """Type of a step's option: a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {least} to {most}: {text}"
            )
        return value

    return parse


def number(least: float, most: float) -> Callable[[str], float]:
    """Type of a step's option: a number from `least` to `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be a number from {least:g} to {most:g}: {text}")
        return value

    return parse
