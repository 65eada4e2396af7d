"""What can be seen while a model trains: metrics.jsonl, and TensorBoard events on request."""

import json
from pathlib import Path
from typing import Any

from pipeline.files import iter_lines, write_lines

FILE = "metrics.jsonl"


class Metrics:
    """Appends one JSON object a line: "step", and what was measured since the line before.

    A line that was cut off by a kill, and lines after `step`, from which training goes on, are
    dropped first.
    """

    def __init__(self, folder: Path, *, step: int, tensorboard: bool) -> None:
        path = folder / FILE
        if path.exists():
            kept = [line for line in iter_lines(path) if _step(line) <= step]
            write_lines(path, kept)
        self.stream = path.open("ab", buffering=0)
        self.events = None
        if tensorboard:  # importing it takes a second
            from torch.utils.tensorboard import SummaryWriter

            self.events = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, step: int, **values: Any) -> None:
        self.stream.write(json.dumps({"step": step, **values}).encode() + b"\n")
        if self.events is not None:
            for name, value in values.items():
                self.events.add_scalar(name, value, step)

    def close(self) -> None:
        self.stream.close()
        if self.events is not None:
            self.events.close()


def _step(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except ValueError:
        return float("inf")
