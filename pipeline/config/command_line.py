"""What `snakemake --config KEY=VALUE ...` says, with the types that config.yaml has.

Snakemake's own reading makes text of the numbers in a list and a number of a folder named 2026.
"""

from collections.abc import Iterable
from typing import Any

import yaml

TEXTS = ("scale", "data_root")
LISTS = ("results", "seeds")
NOTHING = ("", "null", "~", "None")


def settings_of(arguments: Iterable[str]) -> dict[str, Any]:
    """Keys and values of KEY=VALUE texts; a list may be one entry, or entries between commas.

    What does not fit its key stays as it is, for the schema to refuse.
    """
    settings: dict[str, Any] = {}
    for argument in arguments:
        key, _, text = argument.partition("=")
        if text.strip() in NOTHING:
            settings[key] = None
        elif key in LISTS:
            entries = _entries(text)
            settings[key] = [_whole(entry) if key == "seeds" else entry for entry in entries]
        else:
            settings[key] = text
    return settings


def _entries(text: str) -> list[Any]:
    try:
        data = yaml.load(text, Loader=yaml.BaseLoader)  # leaves every entry as text
    except yaml.YAMLError:
        data = text
    if isinstance(data, str):
        data = [entry.strip() for entry in data.split(",")]
    return data if isinstance(data, list) else [data]


def _whole(entry: Any) -> Any:
    try:
        return int(entry)
    except (TypeError, ValueError):
        return entry
