"""Table 1, complexity of a layer: the paper's powers of n and d, and those measured."""

import argparse

from pipeline.files import read_json
from pipeline.progress import log
from pipeline.results.formats import write_table
from pipeline.results.layers import build_layer_table
from pipeline.results.published import load_published_layers


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.table1", description=__doc__)
    parser.add_argument("--paper", required=True, help="config/paper/table1.yaml")
    parser.add_argument("--times", help="layer_times.json; without it nothing is measured")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--output", required=True, help="path without suffix")
    options = parser.parse_args(argv)
    times = read_json(options.times) if options.times else None
    table = build_layer_table(load_published_layers(options.paper), times, scale=options.scale)
    for path in write_table(table, options.output):
        log(f"wrote: {path}")


if __name__ == "__main__":
    main()
