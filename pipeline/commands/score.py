"""Score anyone's output: both BLEUs and chrF of translations, or EVALB's figures of trees.

Text is plain (not tokenised, no subwords), one sentence a line; trees are bracketed with tags, one
a line. Each is a file, a stream that is read once, or - for standard input. With two hypothesis
files the second is tested against the first.
"""

import argparse
import json
import sys
from typing import Any

from pipeline.commands.options import within
from pipeline.config.bounds import MOST_RESAMPLES, MOST_SEED
from pipeline.evaluation.brackets import score_brackets
from pipeline.evaluation.evalb_report import evalb_report
from pipeline.evaluation.scores import Scored, compare, score_translations, score_trees
from pipeline.evaluation.significance import LEAST_RESAMPLES, RESAMPLES, SEED, TESTS
from pipeline.files import Text, commit, read_text, refuse_streams_twice, shown_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hypotheses",
        metavar="FILE",
        action="append",
        required=True,
        help="output to score; give it twice to compare two systems",
    )
    parser.add_argument("--references", metavar="FILE", required=True)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--languages", metavar="SRC-TGT", help="of a translation, such as en-de")
    kind.add_argument("--trees", action="store_true", help="score bracketed trees as EVALB does")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything as JSON, not a table")
    form.add_argument("--evalb", action="store_true", help="print EVALB's own listing (trees)")
    parser.add_argument(
        "--test", choices=TESTS, default="randomisation", help="paired test of two systems"
    )
    parser.add_argument(
        "--resamples",
        metavar="N",
        type=int,
        default=RESAMPLES,
        help=f"bootstrap resamples of an interval, {LEAST_RESAMPLES} at least; 0 for no interval "
        f"(default {RESAMPLES})",
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, help=f"of intervals and tests (default {SEED})"
    )


def run(args: argparse.Namespace) -> int:
    """Print scores on stdout and warnings on stderr; return 0.

    Raises ValueError or OSError where the input cannot be scored.
    """
    if len(args.hypotheses) > 2:
        raise ValueError(f"--hypotheses takes one or two files: {len(args.hypotheses)}")
    within(0, MOST_RESAMPLES, resamples=args.resamples)
    within(0, MOST_SEED, seed=args.seed)
    if 0 < args.resamples < LEAST_RESAMPLES:
        raise ValueError(
            f"--resamples must be at least {LEAST_RESAMPLES} for the ends of a 95 % interval "
            f"(sacreBLEU takes {RESAMPLES}), or 0 for none: {args.resamples}"
        )
    refuse_streams_twice(*args.hypotheses, args.references)
    references = read_text(args.references)
    if args.evalb:
        if not args.trees or len(args.hypotheses) > 1:
            raise ValueError("--evalb lists the sentences of one file of trees: give --trees")
        hypotheses = read_text(args.hypotheses[0]).lines
        sentences = score_brackets(hypotheses, references.lines, name=shown_name(args.references))
        print("\n".join(evalb_report(sentences)))
        return 0
    texts = [read_text(path) for path in args.hypotheses]
    systems = [
        _score(args, path, text.lines, references.lines)
        for path, text in zip(args.hypotheses, texts, strict=True)
    ]
    for path, scored in zip(args.hypotheses, systems, strict=True):
        for warning in scored.warnings:
            print(f"warning: {shown_name(path)}: {warning}", file=sys.stderr)
    comparison = compare(*systems, test=args.test, seed=args.seed) if len(systems) == 2 else None
    if args.json:
        data = _as_data(args, references, texts, systems, comparison)
        print(json.dumps(data, indent=2))  # ASCII, so always JSON
    else:
        print("\n".join(_table(args, systems, comparison)))
    return 0


def _score(
    args: argparse.Namespace, path: str, hypotheses: list[str], references: list[str]
) -> Scored:
    options = {
        "names": (shown_name(path), shown_name(args.references)),
        "resamples": args.resamples,
        "seed": args.seed,
    }
    if args.trees:
        return score_trees(hypotheses, references, **options)
    return score_translations(hypotheses, references, languages=args.languages, **options)


def _as_data(
    args: argparse.Namespace,
    references: Text,
    texts: list[Text],
    systems: list[Scored],
    comparison: dict[str, Any] | None,
) -> dict[str, Any]:
    return {
        "references": args.references,
        "reference_sha256": references.sha256,
        "languages": args.languages,
        "commit": commit(),
        "systems": [
            {"hypotheses": path, "hypotheses_sha256": text.sha256, **scored.as_data()}
            for path, text, scored in zip(args.hypotheses, texts, systems, strict=True)
        ],
        **({"comparison": comparison} if comparison else {}),
    }


def _table(
    args: argparse.Namespace, systems: list[Scored], comparison: dict[str, Any] | None
) -> list[str]:
    rows = [("file", "metric", "score", "95 % interval", "signature")]
    for path, scored in zip(args.hypotheses, systems, strict=True):
        for name, entry in scored.scores.items():
            interval = entry["interval"]
            shown = f"{interval[0]:.2f} - {interval[1]:.2f}" if interval else ""
            rows.append((path, name, f"{entry['score']:.2f}", shown, entry["signature"]))
    lines = [*_aligned(rows)]
    if args.trees:
        lines += ["", *_aligned(_tree_rows(args, systems))]
    if comparison:
        rows = [("metric", "difference", "p-value", "test")]
        for name, result in comparison.items():
            test = f"{result['test']}, {result['samples']} samples, seed {result['seed']}"
            rows.append((name, f"{result['difference']:+.2f}", f"{result['p_value']:.4f}", test))
        lines += ["", f"{args.hypotheses[1]} against {args.hypotheses[0]}", *_aligned(rows)]
    return lines


def _tree_rows(args: argparse.Namespace, systems: list[Scored]) -> list[tuple[str, ...]]:
    shown = {
        "recall": "recall",
        "precision": "precision",
        "complete_match": "complete",
        "average_crossing": "crossing",
        "no_crossing": "none",
        "two_or_less_crossing": "two or less",
        "tagging_accuracy": "tags",
        "sentences": "sentences",
        "errors": "errors",
        "skips": "skips",
    }
    rows = [("file", "metric", "words", "F1", *shown.values())]
    for path, scored in zip(args.hypotheses, systems, strict=True):
        for name, entry in scored.scores.items():
            for words, summary in (("all", entry), ("<= 40", entry["up_to_40_words"])):
                values = (summary[key] for key in ("score", *shown))
                rows.append((path, name, words, *map(_cell, values)))
    return rows


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
