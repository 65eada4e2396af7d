"""What the steps of Tables 2-4 share: their arguments and the one call behind them."""

import argparse
import json
from pathlib import Path

from pipeline.evaluation.cost import DEVICES_FILE, load_devices
from pipeline.progress import log
from pipeline.results.costs import Rates
from pipeline.results.formats import write_table
from pipeline.results.published import load_published
from pipeline.results.runs import gather_runs, read_manifests
from pipeline.results.tables import build_table


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """--runs, --scores and --perplexities are matched to rows by their content, not their path."""
    parser.add_argument("--paper", type=Path, required=True, help="config/paper/tableN.yaml")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--runs", nargs="*", default=[], help="train.json of each run")
    parser.add_argument("--scores", nargs="*", default=[], help="scores.json of each run")
    parser.add_argument("--perplexities", nargs="*", default=[], help="perplexity.json of each run")
    parser.add_argument(
        "--reasons",
        type=json.loads,
        default={},
        help="JSON object, experiment: why it was not run, printed in its blank row",
    )
    parser.add_argument("--devices", default=DEVICES_FILE, help="sustained rates of devices")
    parser.add_argument("--output", required=True, help="path without suffix")


def make_table(options: argparse.Namespace) -> None:
    published = load_published(options.paper)
    runs = gather_runs(
        trains=read_manifests(options.runs),
        scores=read_manifests(options.scores),
        perplexities=read_manifests(options.perplexities),
        scale=options.scale,
        split=published.split,
        n_average=published.n_average,
    )
    rates = Rates(load_devices(options.devices))
    table = build_table(published, runs, rates=rates, reasons=options.reasons)
    for path in write_table(table, options.output):
        log(f"wrote: {path}")
