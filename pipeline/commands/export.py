"""Export a trained model to a format that other programs translate with, and compare the two.

The comparison needs the package that reads the format; without it the export is made all the same
(CTranslate2's needs its package), and what to install is said.
"""

import argparse
import sys
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from pipeline.commands.models import add_model_arguments, chosen_model
from pipeline.files import iter_lines, open_text, shown_name

PACKAGES = {"transformers": "transformers", "ctranslate2": "ctranslate2"}
SENTENCES = (
    "A man is reading a book.",
    "The old woman who sold the house has two small dogs.",
    "We never saw them again.",
    "Where can I find the next station, please?",
    "It was raining when the children came home from school.",
)
MOST_SENTENCES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser, example="ende_base")
    parser.add_argument("--format", choices=PACKAGES, required=True)
    parser.add_argument("--output", metavar="FOLDER", type=Path, required=True, help="a new one")
    parser.add_argument(
        "--quantization", metavar="TYPE", help="ctranslate2's: int8, int16, float16, bfloat16 ..."
    )
    parser.add_argument(
        "--sentences",
        metavar="FILE",
        help=f"compare on its first {MOST_SENTENCES} lines (default: five English sentences)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the folder. Raises ValueError for what can't be exported or translates otherwise."""
    from pipeline.inference.export import export_ctranslate2, export_marian  # not for --help
    from pipeline.inference.export_check import differences
    from pipeline.model.folder import ModelFolder

    package = PACKAGES[args.format]
    if args.quantization and args.format != "ctranslate2":
        raise ValueError(f"--quantization is for --format ctranslate2, not: {args.format}")
    if args.output.exists() and (not args.output.is_dir() or any(args.output.iterdir())):
        raise ValueError(f"--output must be a new or an empty folder: {args.output}")
    lines = list(SENTENCES)
    if args.sentences:
        with open_text(args.sentences) as stream:
            given = iter_lines(stream, name=shown_name(args.sentences))
            lines = [line for line in islice(given, MOST_SENTENCES) if line]
    folder = ModelFolder.open(chosen_model(args))
    installed = find_spec(package) is not None
    if args.format == "transformers":
        export_marian(folder, args.output)
    elif installed:
        export_ctranslate2(folder, args.output, quantization=args.quantization)
    else:
        raise ValueError(f"--format {args.format} needs a package: pip install {package}")
    print(f"written: {args.output}", file=sys.stderr)
    if not installed:
        print(f"not compared; that needs a package: pip install {package}", file=sys.stderr)
        return 0
    compared, differing = differences(folder, args.output, args.format, lines)
    said = f"same translations: {compared - len(differing)} of {compared}"
    if not compared:
        said = "not compared: all translations are too long; give other --sentences"
    print(said, file=sys.stderr)
    if differing and not args.quantization:
        line, ours, theirs = differing[0]
        raise ValueError(
            f"{args.output} translates otherwise than {folder.path}: {line!r} gives {theirs!r}, "
            f"not {ours!r}"
        )
    return 0
