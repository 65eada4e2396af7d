"""Options of several commands, and checks of what is given."""

import argparse
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


def within(least: float, most: float, **options: float | None) -> None:
    """Raises ValueError that names the first option whose number is less, more, or no number.

    options: by the names that argparse gives them; None where one was not given.
    """
    for name, value in options.items():
        if value is None or least <= value <= most:
            continue
        bound = f"at most {most:.12g}" if value > most else f"at least {least:g}"
        raise ValueError(f"--{name.replace('_', '-')} must be {bound}: {value}")
