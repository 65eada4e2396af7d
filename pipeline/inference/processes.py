"""A translator in several processes: over the cores of a machine, or over its GPUs.

On a CPU two processes of one thread translate more than one of two threads: small operations don't
gain from a second thread, and a process never waits for another.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence

import torch

from pipeline.config.schema import DecodingConfig, DecodingPrecision
from pipeline.inference.precision import chosen_precision
from pipeline.inference.products import Precision
from pipeline.inference.translator import Output, Planner, Translator
from pipeline.model.folder import ModelFolder

_translator: Translator  # of this process, made when it starts


class TranslatorPool(Planner):
    """As `Translator`, in `processes` processes. A context manager, which ends them."""

    def __init__(
        self,
        folder: ModelFolder,
        *,
        device: str | torch.device,
        processes: int,
        precision: DecodingPrecision = "fp32",
    ) -> None:
        super().__init__(folder)
        if precision == "auto":  # here, so that all processes take the same
            precision = chosen_precision("auto", folder, device=device)
        context = multiprocessing.get_context("spawn")
        number = context.Value("i", 0)
        threads = max(1, usable_cores() // processes)
        # Ctrl-C reaches every process of a terminal; these leave it to the one that ends them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self._pool = context.Pool(
                processes, _start, (folder, str(device), precision, threads, number)
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __enter__(self) -> "TranslatorPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.terminate()
        self._pool.join()

    def run_batches(
        self, lines: Sequence[str], *, decoding: DecodingConfig, max_tokens: int, n_best: int = 1
    ) -> Iterator[tuple[int, list[Output]]]:
        """As `Translator.run_batches`."""
        batches = self.batches(lines, decoding=decoding, max_tokens=max_tokens)
        jobs = (
            (number, [lines[i] for i in batch], decoding, n_best)
            for number, batch in enumerate(batches)
        )
        for number, outputs in self._pool.imap_unordered(_run, jobs):
            yield from zip(batches[number].tolist(), outputs, strict=True)


def usable_cores() -> int:
    """Those that this process may run on, where the system tells (Linux), else the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start(folder: ModelFolder, device: str, precision: Precision, threads: int, number) -> None:
    global _translator
    with number.get_lock():
        mine, number.value = number.value, number.value + 1
    if device.startswith("cuda"):
        device = f"cuda:{mine % torch.cuda.device_count()}"
    torch.set_num_threads(threads)
    _translator = Translator(folder, device=device, precision=precision)


def _run(job: tuple[int, list[str], DecodingConfig, int]) -> tuple[int, list[list[Output]]]:
    number, lines, decoding, n_best = job
    return number, _translator.run_batch(lines, decoding=decoding, n_best=n_best)
