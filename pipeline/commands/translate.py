"""Translate text with a trained model, line by line, as it comes.

Each input line gives one line on standard output, in order; a blank line gives a blank one. With
--nbest N each gives up to N lines: its number from 1, the score, the text, separated by tabs.
"""

import argparse
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat
from pathlib import Path

from pipeline.commands.options import at_least
from pipeline.files import iter_byte_lines

CHUNKS = (1, 8, 32, 128, 512)  # lines translated together: few at first, so that a reader sees some
READ_AHEAD = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", help="a model folder, or the name of a run or experiment such as ende_base"
    )
    parser.add_argument("--input", metavar="FILE", default="-", help="default: standard input")
    parser.add_argument("--languages", metavar="SRC-TGT", help="refuse a model of another pair")
    parser.add_argument("--results", metavar="FOLDER", default="results", help="where runs lie")
    parser.add_argument("--nbest", metavar="N", type=int, default=1)
    parser.add_argument("--beam-size", metavar="N", type=int, help="default: the model's own")
    parser.add_argument("--length-penalty", metavar="ALPHA", type=float, help="the model's own")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ...")
    parser.add_argument("--precision", choices=("fp32", "bf16", "int8"), default="fp32")
    parser.add_argument("--processes", metavar="N", type=int, default=1, help="over cores or GPUs")
    parser.add_argument(
        "--max-tokens", metavar="N", type=int, default=8192, help="of a batch: bounds memory"
    )


def run(args: argparse.Namespace) -> int:
    """Raises ValueError for a model or option that can't be used; see the module for output."""
    from pipeline.config.schema import DecodingConfig  # torch is not needed for --help
    from pipeline.inference.device import choose_device
    from pipeline.inference.processes import TranslatorPool
    from pipeline.inference.translator import BLANK, Translator
    from pipeline.model.folder import ModelFolder

    at_least(1, nbest=args.nbest, processes=args.processes, max_tokens=args.max_tokens)
    at_least(1, beam_size=args.beam_size)
    if args.processes > (cpus := os.cpu_count() or 1):
        raise ValueError(
            f"--processes must be at most this machine's {cpus} CPUs: {args.processes}"
        )
    at_least(0, length_penalty=args.length_penalty)
    if args.beam_size and args.nbest > args.beam_size:
        raise ValueError(f"--nbest must be at most --beam-size {args.beam_size}: {args.nbest}")
    folder = ModelFolder.open(find_model(args.model, results=Path(args.results)))
    if folder.kind != "translation":
        raise ValueError(f"this is a parsing model; use `python -m pipeline parse`: {args.model}")
    pair = "-".join(folder.languages)
    if args.languages and args.languages != pair:
        raise ValueError(f"the model translates {pair}, not: {args.languages}")
    changes = {"beam_size": args.beam_size, "length_penalty": args.length_penalty}
    changes = {key: value for key, value in changes.items() if value is not None}
    if args.nbest > 1 and "beam_size" not in changes:
        changes["beam_size"] = max(args.nbest, folder.decoding.beam_size)
    decoding = DecodingConfig.model_validate({**folder.decoding.model_dump(), **changes})
    how = {"device": choose_device(args.device), "precision": args.precision}
    if args.processes == 1:
        context = nullcontext(Translator(folder, **how))
    else:
        context = TranslatorPool(folder, processes=args.processes, **how)
    number = 0
    with context as translator, _lines(args.input) as chunks, _progress() as progress:
        for lines in chunks:
            results = [[BLANK]] * len(lines)
            for index, outputs in translator.run_batches(
                lines, decoding=decoding, max_tokens=args.max_tokens, n_best=args.nbest
            ):
                results[index] = outputs
                progress()
            for outputs in results:
                number += 1
                for output in outputs:
                    prefix = f"{number}\t{output.score:.4f}\t" if args.nbest > 1 else ""
                    sys.stdout.buffer.write(f"{prefix}{output.text}\n".encode())
            sys.stdout.buffer.flush()
    return 0


def find_model(name: str, *, results: Path) -> Path:
    """A model folder by its path, or by a run's name: of several averages the one of the most.

    An experiment's name stands for its first seed. Raises ValueError where there is none, or where
    several scales have a run of that name.
    """
    if Path(name).is_dir():
        return Path(name)
    found = sorted(results.glob(f"*/runs/{name}/average*/model")) if "/" not in name else []
    if not found and "/" not in name:
        seeds = results.glob(f"*/runs/{name}-seed*/average*/model")
        by_seed = {path: int(path.parents[1].name.rpartition("-seed")[2]) for path in seeds}
        found = sorted(path for path in by_seed if by_seed[path] == min(by_seed.values()))
    scales = sorted({str(path.parents[3]) for path in found})
    if len(scales) > 1:
        raise ValueError(f"run {name} exists in {', '.join(scales)}; give the model folder's path")
    if not found:
        known = sorted({path.parents[1].name for path in results.glob("*/runs/*/average*/model")})
        listing = ", ".join(known) if known else "none yet; train one with snakemake"
        raise ValueError(f"no model folder and no run below {results}: {name} (runs: {listing})")
    return max(found, key=lambda path: int(path.parent.name.removeprefix("average")))


@contextmanager
def _lines(name: str) -> Iterator[Iterator[list[str]]]:
    """Chunks of the lines that are there already, so that a slow writer's lines don't wait."""
    stream = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
    waiting: queue.Queue[bytes | Exception | None] = queue.Queue(READ_AHEAD)

    def read() -> None:
        try:
            for line in iter_byte_lines(stream):
                waiting.put(line)
            waiting.put(None)
        except OSError as error:
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    try:
        yield _chunks(waiting)
    finally:
        if name != "-":
            stream.close()


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


@contextmanager
def _progress() -> Iterator[Callable[[], None]]:
    """Counts lines on a terminal; a log gets nothing."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(desc="translate", unit="lines") as bar:
        yield bar.update
