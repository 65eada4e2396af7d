"""Training cost of a run as Table 2 states it."""

from collections.abc import Mapping
from typing import Any


def estimated_flops(train: Mapping[str, Any]) -> float | None:
    """Footnote 5 of section 6.1: time x devices x sustained rate; None without a known rate."""
    return train.get("estimated_flops")
