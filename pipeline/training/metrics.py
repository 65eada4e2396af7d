"""What can be seen while a model trains: metrics.jsonl, log lines, and TensorBoard events."""

import json
import time
from pathlib import Path
from typing import Any

from pipeline.errors import write_all
from pipeline.files import iter_lines, write_lines
from pipeline.progress import log
from pipeline.training.events import EventFile
from pipeline.training.feed import Counts

FILE = "metrics.jsonl"
LOG_SECONDS = 30.0


class Window:
    """What was read, and how long it took, since the last line of metrics."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.counts, self.start = Counts(), time.monotonic()

    def seconds(self) -> float:
        return time.monotonic() - self.start


class Metrics:
    """Appends one JSON object a line: "step", and what was measured since the line before.

    A line that was cut off by a kill, and lines after `step`, from which training goes on, are
    dropped first. Without a folder (on ranks other than 0) nothing is written.
    """

    def __init__(self, folder: Path | None, *, step: int) -> None:
        self.stream = self.events = None
        self.logged, self.tokens, self.took = 0.0, 0, 0.0  # since the last line of the log
        if folder is None:
            return
        path = folder / FILE
        if path.exists():
            write_lines(path, [line for line in iter_lines(path) if _step(line) <= step])
        self.path, self.stream = path, path.open("ab", buffering=0)
        self.events = EventFile(folder / "tensorboard", step=step)

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stream, self.events):
            if file is not None:
                file.close()

    def write(
        self, step: int, *, last: int, tgt_tokens: int, took_seconds: float, **values: Any
    ) -> None:
        """Step `step` of `last`. Logged now and then, and with every dev perplexity.

        tgt_tokens, took_seconds: of the updates since the line before.
        """
        if self.stream is None:
            return
        self.tokens, self.took = self.tokens + tgt_tokens, self.took + took_seconds
        line = json.dumps({"step": step, **values}).encode() + b"\n"
        write_all(self.stream, line, path=self.path)
        self.events.write(step, values)
        if "dev_perplexity" in values or time.monotonic() - self.logged > LOG_SECONDS:
            rate = self.tokens / self.took
            self.logged, self.tokens, self.took = time.monotonic(), 0, 0.0
            dev = values.get("dev_perplexity")
            log(
                f"step {step:,} of {last:,}: loss {values['loss']:.3f}, "
                + (f"dev perplexity {dev:.3f}, " if dev is not None else "")
                + f"{rate:,.0f} target tokens/s"
            )


def divergence(folder: Path) -> str | None:
    """What is wrong where the last dev perplexity is above the first, or twice the best."""
    rows = [json.loads(line) for line in iter_lines(folder / FILE)]
    known = [(row["dev_perplexity"], row["step"]) for row in rows if "dev_perplexity" in row]
    if not known:
        return None
    (first, at_first), (last, at_last) = known[0], known[-1]
    best, at_best = min(known)
    if last <= first and last <= 2 * best:
        return None
    return (
        f"dev perplexity got worse: {first:,.2f} at step {at_first:,}, at best {best:,.2f} at step "
        f"{at_best:,}, {last:,.2f} at the last, {at_last:,}; if it diverged, lower "
        "training.learning_rate_scale or raise training.warmup_steps; if it overfits, lower "
        "training.max_steps"
    )


def _step(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except ValueError:
        return float("inf")
