"""Checks of what is given on the command line."""


def within(least: float, most: float, **options: float | None) -> None:
    """Raises ValueError that names the first option whose number is less, more, or no number.

    options: by the names that argparse gives them; None where one was not given.
    """
    for name, value in options.items():
        if value is None or least <= value <= most:
            continue
        bound = f"at most {most:.12g}" if value > most else f"at least {least:g}"
        raise ValueError(f"--{name.replace('_', '-')} must be {bound}: {value}")
