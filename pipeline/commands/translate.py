"""Translate text with a trained model, line by line, as it comes.

Each input line gives one line on standard output, in order; a blank line gives a blank one. With
--nbest N each gives up to N lines: its number from 1, the score, the text, separated by tabs.
"""

import argparse
import math
import os
import sys
from contextlib import nullcontext

from pipeline.commands.models import add_model_arguments, chosen_model
from pipeline.commands.options import add_precision_argument, within
from pipeline.commands.streaming import outputs_as_they_come
from pipeline.config.bounds import MOST_BEAM_SIZE, MOST_LENGTH_PENALTY, MOST_TOKENS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser, example="ende_base")
    parser.add_argument("--input", metavar="FILE", default="-", help="default: standard input")
    parser.add_argument("--languages", metavar="SRC-TGT", help="refuse a model of another pair")
    parser.add_argument("--nbest", metavar="N", type=int, default=1)
    parser.add_argument("--beam-size", metavar="N", type=int, help="default: the model's own")
    parser.add_argument("--length-penalty", metavar="ALPHA", type=float, help="the model's own")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ...")
    add_precision_argument(parser)
    parser.add_argument("--processes", metavar="N", type=int, default=1, help="over cores or GPUs")
    parser.add_argument(
        "--max-tokens", metavar="N", type=int, default=8192, help="of a batch: bounds memory"
    )


def run(args: argparse.Namespace) -> int:
    """Raises ValueError for a model or option that can't be used; see the module for output."""
    from pipeline.config.schema import DecodingConfig  # torch is not needed for --help
    from pipeline.inference.device import choose_device
    from pipeline.inference.precision import chosen_precision
    from pipeline.inference.processes import TranslatorPool
    from pipeline.inference.translator import Translator
    from pipeline.model.folder import ModelFolder

    within(1, MOST_BEAM_SIZE, nbest=args.nbest, beam_size=args.beam_size)
    within(1, MOST_TOKENS, max_tokens=args.max_tokens)
    within(0, MOST_LENGTH_PENALTY, length_penalty=args.length_penalty)
    within(1, math.inf, processes=args.processes)
    if args.processes > (cpus := os.cpu_count() or 1):
        raise ValueError(
            f"--processes must be at most this machine's {cpus} CPUs: {args.processes}"
        )
    if args.beam_size and args.nbest > args.beam_size:
        raise ValueError(f"--nbest must be at most --beam-size {args.beam_size}: {args.nbest}")
    folder = ModelFolder.open(chosen_model(args))
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
    device = choose_device(args.device)
    precision = chosen_precision(args.precision, folder, device=device)
    how = {"device": device, "precision": precision}
    if args.processes == 1:
        context = nullcontext(Translator(folder, **how))
    else:
        context = TranslatorPool(folder, processes=args.processes, **how)
    number = 0
    with context as translator:
        for results in outputs_as_they_come(
            translator,
            args.input,
            what="translate",
            decoding=decoding,
            max_tokens=args.max_tokens,
            n_best=args.nbest,
        ):
            for outputs in results:
                number += 1
                for output in outputs:
                    prefix = f"{number}\t{output.score:.4f}\t" if args.nbest > 1 else ""
                    sys.stdout.buffer.write(f"{prefix}{output.text}\n".encode())
            sys.stdout.buffer.flush()
    return 0
