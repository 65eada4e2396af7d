"""Progress of downloads: a bar for each file on a terminal, plain lines in a log."""

import sys
import time

from pipeline.progress import LINE_EVERY_SECONDS, log

MEGABYTE = 1e6


class Meter:
    """Bytes of one file: how many are there, the rate, and the time left."""

    def __init__(self, name: str, *, total: int | None, done: int) -> None:
        self._name, self._total, self._done = name, total, done
        self._begun_with = done
        self._start = self._last = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            from tqdm import tqdm  # imported late: most steps write to a log

            self._bar = tqdm(desc=name, total=total, initial=done, unit="B", unit_scale=True)

    def add(self, size: int) -> None:
        self._done += size
        if self._bar is not None:
            self._bar.update(size)
            return
        now = time.monotonic()
        if now - self._last >= LINE_EVERY_SECONDS:
            self._last = now
            log(f"{self._name}: {self._state(now - self._start)}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def _state(self, seconds: float) -> str:
        rate = (self._done - self._begun_with) / seconds
        text = f"{self._done / MEGABYTE:,.1f} MB, {rate / MEGABYTE:,.2f} MB/s"
        if not self._total or not rate:
            return text
        left = (self._total - self._done) / rate
        return f"{text}, {self._total / MEGABYTE:,.1f} MB in all, {left:,.0f} s left"
