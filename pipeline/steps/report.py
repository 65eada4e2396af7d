"""The report of a scale: one HTML file with tables, figures, examples, cards and deviations."""

import argparse
from pathlib import Path

from pipeline.evaluation.cost import DEVICES_FILE, load_devices
from pipeline.files import atomic_open, commit
from pipeline.progress import log
from pipeline.results.costs import Rates
from pipeline.results.report import ReportInputs, build_report
from pipeline.results.runs import read_manifests


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.report", description=__doc__)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--runs", nargs="*", default=[], help="train.json of each run")
    parser.add_argument("--scores", nargs="*", default=[], help="scores.json beside hypotheses.txt")
    parser.add_argument("--tables", nargs="*", type=Path, default=[], help="tableN.html, in order")
    parser.add_argument("--figures", type=Path, help="figures.json")
    parser.add_argument("--cards", nargs="*", type=Path, default=[], help="card.md of each corpus")
    parser.add_argument("--corpora", type=Path, required=True, help="results/SCALE/corpora")
    parser.add_argument("--deviations", type=Path, help="docs/deviations.md")
    parser.add_argument("--devices", default=DEVICES_FILE)
    parser.add_argument("--output", type=Path, required=True, help="report.html")
    options = parser.parse_args(argv)
    inputs = ReportInputs(
        scale=options.scale,
        trains=read_manifests(options.runs),
        scores=read_manifests(options.scores),
        tables=options.tables,
        figures=options.figures,
        cards=options.cards,
        corpora=options.corpora,
        deviations=options.deviations,
        rates=Rates(load_devices(options.devices)),
        commit=commit(),
    )
    with atomic_open(options.output) as stream:
        stream.write(build_report(inputs).encode("utf-8"))
    log(f"wrote: {options.output}")


if __name__ == "__main__":
    main()
