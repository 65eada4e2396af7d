"""Checks of what is given on the command line."""

import math


def at_least(least: float, **options: float | None) -> None:
    """Raises ValueError that names the first option whose number is less, or not finite.

    options: by the names that argparse gives them; None where one was not given.
    """
    for name, value in options.items():
        if value is not None and not least <= value < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} must be at least {least:g}: {value}")
