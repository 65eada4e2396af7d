"""All figures of a scale as SVG and PNG, and figures.json with their titles and captions."""

import argparse
import json
from pathlib import Path

from pipeline.evaluation.cost import DEVICES_FILE, load_devices
from pipeline.files import read_json
from pipeline.results.costs import Rates
from pipeline.results.figures import FigureInputs, draw_all, load_attention
from pipeline.results.published import load_published, load_published_layers
from pipeline.results.runs import read_manifests

TABLES = ("table2", "table3", "table4")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.figures", description=__doc__)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--runs", nargs="*", default=[], help="train.json of each run")
    parser.add_argument("--scores", nargs="*", default=[], help="scores.json beside hypotheses.txt")
    parser.add_argument("--perplexities", nargs="*", default=[], help="perplexity.json of each run")
    parser.add_argument("--attention", nargs="*", default=[], help="attention.json of sentences")
    parser.add_argument(
        "--choices",
        type=json.loads,
        default={},
        help='JSON, name of a map: {"query": word, "chosen_heads": [heads]}, all from 1',
    )
    parser.add_argument("--times", help="layer_times.json")
    parser.add_argument("--corpora", type=Path, required=True, help="results/SCALE/corpora")
    parser.add_argument("--paper", type=Path, default=Path("config/paper"))
    parser.add_argument("--devices", default=DEVICES_FILE)
    parser.add_argument("--output", type=Path, required=True, help="folder; figures.json in it")
    options = parser.parse_args(argv)
    inputs = FigureInputs(
        scale=options.scale,
        trains=read_manifests(options.runs),
        scores=read_manifests(options.scores),
        perplexities=read_manifests(options.perplexities),
        published={name: load_published(options.paper / f"{name}.yaml") for name in TABLES},
        layers=load_published_layers(options.paper / "table1.yaml"),
        rates=Rates(load_devices(options.devices)),
        corpora=options.corpora,
        times=read_json(options.times) if options.times else None,
        attention=load_attention(options.attention, choices=options.choices),
    )
    draw_all(inputs, options.output)


if __name__ == "__main__":
    main()
