"""Parse sentences with a trained parser: text in, one bracketed tree a line out.

Input is one sentence a line, answered as it comes. Raw text is split into words after the Penn
Treebank's conventions; with --tokens the line's spaces are the borders of words. A blank line gives
a blank line.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from pipeline.commands.models import add_model_arguments, chosen_model
from pipeline.commands.options import add_precision_argument, within
from pipeline.commands.streaming import outputs_as_they_come
from pipeline.config.bounds import MOST_BEAM_SIZE, MOST_LINES, MOST_TOKENS
from pipeline.corpora.penn_words import escape_brackets, penn_words
from pipeline.corpora.trees import parse_tree, split_words
from pipeline.files import atomic_open, write_lines
from pipeline.progress import log
from pipeline.results.tree_drawing import tree_svg


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser, example="parsing_wsj")
    parser.add_argument(
        "--input", metavar="FILE", default="-", help="sentences, one a line (default: stdin)"
    )
    parser.add_argument("--output", metavar="FILE", help="trees, one a line (default: stdout)")
    parser.add_argument(
        "--tokens",
        action="store_true",
        help="the input is in words already, separated by spaces",
    )
    parser.add_argument("--drawing", metavar="FILE.svg", help="draw the tree of one line as SVG")
    parser.add_argument(
        "--line", metavar="N", type=int, help="line that --drawing draws (default 1)"
    )
    parser.add_argument(
        "--constrained",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="search well-formed trees alone (the default), or any symbols and repair them",
    )
    parser.add_argument("--beam-size", metavar="N", type=int, help="default: the model's own")
    parser.add_argument(
        "--max-tokens", metavar="N", type=int, default=8192, help="batch budget (default 8192)"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda (default auto)")
    add_precision_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Write the trees; counts of repairs go to stderr. Raises ValueError for wrong input."""
    from pipeline.inference.device import choose_device  # torch is not needed for --help
    from pipeline.inference.precision import chosen_precision
    from pipeline.inference.translator import Translator
    from pipeline.model.folder import ModelFolder

    within(1, MOST_BEAM_SIZE, beam_size=args.beam_size)
    within(1, MOST_TOKENS, max_tokens=args.max_tokens)
    within(1, MOST_LINES, line=args.line)
    if args.line is not None and not args.drawing:
        raise ValueError(f"--line says which tree is drawn; give --drawing too: {args.line}")
    line = args.line or 1
    if args.output and Path(args.output).resolve() == Path(args.input).resolve():
        raise ValueError(f"--output must be another file than --input: {args.output}")
    folder = ModelFolder.open(chosen_model(args))
    if folder.kind != "parsing":
        raise ValueError(f"{args.model} is a model for {folder.kind}; parse needs a parsing model")
    changes = {"constrained": args.constrained, "beam_size": args.beam_size}
    decoding = folder.decoding.model_copy(
        update={key: value for key, value in changes.items() if value is not None}
    )
    start = time.perf_counter()
    device = choose_device(args.device)
    precision = chosen_precision(args.precision, folder, device=device)
    translator = Translator(folder, device=device, precision=precision)
    repairs: Counter[str] = Counter()
    number = repaired = 0
    drawn = None
    writing = atomic_open(args.output) if args.output else nullcontext(sys.stdout.buffer)
    with writing as out:
        for results in outputs_as_they_come(
            translator,
            args.input,
            what="parse",
            read=lambda line: _words_line(line, args.tokens),
            decoding=decoding,
            max_tokens=args.max_tokens,
        ):
            for (output,) in results:
                number += 1
                out.write(f"{output.text}\n".encode())
                repairs.update(output.repairs)
                repaired += bool(output.repairs)
                if number == line:
                    drawn = output.text
            out.flush()
    log(f"sentences: {number}, seconds: {time.perf_counter() - start:.1f}")
    listing = "".join(f", {name}: {count}" for name, count in sorted(repairs.items()))
    log(f"sentences repaired: {repaired}{listing}")
    if args.drawing:
        if drawn is None:
            raise ValueError(f"--line must be from 1 to the input's {number} lines: {line}")
        if not drawn:
            raise ValueError(f"line {line} is blank and has no tree to draw; choose another --line")
        svg = tree_svg(parse_tree(drawn))
        write_lines(args.drawing, svg.removesuffix("\n").split("\n"))
    return 0


def _words_line(line: str, tokens: bool) -> str:
    words = [escape_brackets(word) for word in split_words(line)] if tokens else penn_words(line)
    return " ".join(words)
