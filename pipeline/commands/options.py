"""Options of several commands, and checks of what is given."""

import argparse
import math
from typing import get_args

from pipeline.config.schema import DecodingPrecision


def add_precision_argument(parser: argparse.ArgumentParser) -> None:
    """--precision: what `pipeline.inference.precision.chosen_precision` takes."""
    parser.add_argument(
        "--precision",
        choices=get_args(DecodingPrecision),
        default="fp32",
        help="of matrix products; auto measures which is fastest here (default fp32)",
    )


def at_least(least: float, **options: float | None) -> None:
    """Raises ValueError that names the first option whose number is less, or not finite.

    options: by the names that argparse gives them; None where one was not given.
    """
    for name, value in options.items():
        if value is not None and not least <= value < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} must be at least {least:g}: {value}")
