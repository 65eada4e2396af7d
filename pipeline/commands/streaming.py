"""Text as it comes through a model: lines in, outputs in their order, none held back for long."""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat, takewhile
from typing import IO, TYPE_CHECKING

from pipeline.config.schema import DecodingConfig
from pipeline.files import READ_BYTES, STANDARD_INPUT, iter_byte_lines, standard_input

if TYPE_CHECKING:  # torch is not needed for --help
    from pipeline.inference.processes import TranslatorPool
    from pipeline.inference.translator import Output, Translator

CHUNKS = (1, 8, 32, 128, 512)  # lines decoded together: few at first, so that a reader sees some
READ_AHEAD = 1024


def outputs_as_they_come(
    translator: "Translator | TranslatorPool",
    name: str,
    *,
    what: str,
    read: Callable[[str], str] = str,
    decoding: DecodingConfig,
    max_tokens: int,
    n_best: int = 1,
) -> Iterator[list[list["Output"]]]:
    """For each chunk of lines of a file, or of standard input as -: the n_best outputs of each.

    After Ctrl-C those of the lines up to the first that has none yet; then KeyboardInterrupt.

    read makes of a line of the file what the model is given. Bytes that are not UTF-8 are read as
    replacement characters, with a warning on stderr that names the line, and so are lines of more
    tokens than the model's max_positions. `what` stands at the bar of progress, which a terminal
    sees.
    """
    from pipeline.inference.translator import BLANK

    before = 0
    with line_chunks(name) as chunks, _progress(what) as progress:
        for lines in chunks:
            results = [[BLANK]] * len(lines)
            given = [read(line) for line in lines]
            known = {index for index, line in enumerate(given) if not line.strip()}
            for number, line in enumerate(given, start=before + 1):
                _warn_of_length(translator, line, number)
            before += len(lines)
            try:
                for index, outputs in translator.run_batches(
                    given,
                    decoding=decoding,
                    max_tokens=max_tokens,
                    n_best=n_best,
                ):
                    results[index] = outputs
                    known.add(index)
                    progress()
            except KeyboardInterrupt:
                yield [results[i] for i in takewhile(known.__contains__, range(len(lines)))]
                raise
            yield results


@contextmanager
def line_chunks(name: str) -> Iterator[Iterator[list[str]]]:
    """Chunks of the lines that are there already, so that a slow writer's lines don't wait.

    name: a file, a stream such as a FIFO, or - for standard input.
    """
    stream = standard_input() if name == STANDARD_INPUT else open(name, "rb")  # noqa: SIM115
    waiting: queue.Queue[bytes | Exception | None] = queue.Queue(READ_AHEAD)

    def read() -> None:
        try:
            with nullcontext() if name == STANDARD_INPUT else stream:
                for line in iter_byte_lines(_unbuffered_lines(stream)):
                    waiting.put(line)
            waiting.put(None)
        except OSError as error:
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    yield _chunks(waiting)


def _unbuffered_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines with their ends, as soon as they are there.

    A thread that waits in a buffered stream holds its lock, without which Python can't exit.
    """
    raw, pending = getattr(stream, "raw", stream), []
    while block := raw.read(READ_BYTES):
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*pending, line, b"\n"])
            pending = []
        pending.append(rest)
    if last := b"".join(pending):
        yield last


def _chunks(waiting: queue.Queue) -> Iterator[list[str]]:
    number = 0
    for size in chain(CHUNKS, repeat(CHUNKS[-1])):
        chunk, item = [], waiting.get()
        while isinstance(item, bytes):
            number += 1
            chunk.append(_decode(item, number))
            if len(chunk) == size:
                break
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                break
        else:
            if chunk:
                yield chunk
            if item is not None:
                raise item
            return
        yield chunk


def _decode(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        print(
            f"warning, not UTF-8, read with replacement characters: line {number}", file=sys.stderr
        )
        return line.decode("utf-8", errors="replace")


def _warn_of_length(translator: "Translator | TranslatorPool", line: str, number: int) -> None:
    limit = translator.folder.model.max_positions
    if len(line.encode()) + 2 <= limit:  # tokens hold a byte each, but for one at either end
        return
    tokens = len(translator.encode([line])[0]) + 1
    if tokens > limit:
        print(
            f"warning, {tokens:,} tokens, beyond model.max_positions {limit:,}; models lose text "
            f"of lines longer than training's, so split it into sentences: line {number}",
            file=sys.stderr,
        )


@contextmanager
def _progress(what: str) -> Iterator[Callable[[], None]]:
    """Counts lines on a terminal; a log gets nothing."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(desc=what, unit="lines") as bar:
        yield bar.update
