"""Progress for people: a bar on a terminal, plain lines with times in a log file; all on stderr."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LINE_EVERY_SECONDS = 30.0
TERMINAL = "REATTEND_TERMINAL"  # descriptor:device:inode of what leads to the terminal
WARNING = re.compile(r"\d\d:\d\d:\d\d warning: (.*)")


def print_in_any_encoding() -> None:
    """From now on a character that the terminal's encoding lacks is printed as its escape.

    Figures hold a "10⁸" or a "±" that ASCII and Latin-1 do not, whether a terminal, a pipe or a
    file gets them.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def leave_stdout() -> None:
    """Once nothing can be written there any more: what is left to flush at the end goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def log(message: str) -> None:
    """One plain line on stderr, with the local time."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """A line of the log that a person should see: on the terminal too, where a rule's shell has
    kept it open (workflow/show_error.sh)."""
    log(f"warning: {message}")
    descriptor, *file = map(int, os.environ.get(TERMINAL, "-1").split(":"))
    with contextlib.suppress(OSError):  # not open in this process
        found = os.fstat(descriptor)
        if [found.st_dev, found.st_ino] == file:
            os.write(descriptor, f"warning: {message}\n".encode(errors="backslashreplace"))


def warnings_since(start_seconds: float, *, folder: Path) -> list[str]:
    """Those of `warn` in log files written since then (seconds of the epoch), each once."""
    found: dict[str, None] = {}
    for path in sorted(folder.rglob("*.log")):
        if path.stat().st_mtime >= start_seconds - 1:  # clocks of file systems are coarse
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
            name = path.relative_to(folder).with_suffix("")
            found |= {f"{name}: {m[1]}": None for line in lines if (m := WARNING.match(line))}
    return list(found)


def track(
    items: Iterable[T], *, what: str, total: int | None = None, unit: str = "it"
) -> Iterator[T]:
    """Yield `items`, showing how far they are: tqdm on a terminal, else a line every 30 s."""
    if sys.stderr.isatty():
        from tqdm import tqdm  # imported late: most steps write to a log

        yield from tqdm(items, desc=what, total=total, unit=unit, unit_scale=True)
        return
    start = last = time.monotonic()
    for number, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= LINE_EVERY_SECONDS:
            last = now
            log(f"{what}: {_state(number, total, now - start, unit)}")


def _state(done: int, total: int | None, seconds: float, unit: str) -> str:
    rate = done / seconds
    if not total:
        return f"{done:,} {unit}, {rate:,.1f} {unit}/s"
    left = (total - done) / rate
    return f"{done:,} of {total:,} {unit}, {rate:,.1f} {unit}/s, {left:,.0f} s left"
