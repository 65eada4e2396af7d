"""What training wrote while it ran: metrics.jsonl of a run's checkpoint folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.files import iter_lines

METRICS = "metrics.jsonl"


@dataclass(frozen=True)
class Curves:
    """The lines of one run, ascending by step, each step once."""

    run: str
    experiment: str
    seed: int
    train: Mapping[str, Any]
    lines: list[dict[str, Any]] = field(repr=False)

    def points(self, key: str) -> tuple[list[float], list[float]]:
        """Steps and values of the lines that hold `key`."""
        found = [(line["step"], line[key]) for line in self.lines if line.get(key) is not None]
        return [step for step, _ in found], [value for _, value in found]


def read_curves(train: Mapping[str, Any]) -> Curves:
    """Curves of a run by its train.json; none if its checkpoint folder has gone.

    A run that was interrupted wrote some steps twice: the last line of a step stands.
    """
    path = Path(train["folder"]) / METRICS
    by_step: dict[int, dict[str, Any]] = {}
    if path.is_file():
        for number, text in enumerate(iter_lines(path), start=1):
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
            by_step[line["step"]] = line
    return Curves(
        run=train["run"],
        experiment=train["experiment"],
        seed=train["seed"],
        train=train,
        lines=[by_step[step] for step in sorted(by_step)],
    )


def smooth(values: list[float], *, share: float = 0.05) -> list[float]:
    """Centred running mean over about `share` of the points, narrower at the ends."""
    reach = int(len(values) * share / 2)
    windows = (
        values[i - min(reach, i, len(values) - 1 - i) : i + min(reach, i, len(values) - 1 - i) + 1]
        for i in range(len(values))
    )
    return [sum(window) / len(window) for window in windows]
