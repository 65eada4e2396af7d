"""Rank the settings of a search by their dev scores: a table in four formats."""

import argparse
import json
from collections.abc import Sequence

from pipeline.files import read_json
from pipeline.progress import log
from pipeline.results.formats import write_table
from pipeline.results.search import search_table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.search", description=__doc__)
    parser.add_argument("--search", required=True, help="its name, as a file of config/searches")
    parser.add_argument("--title", required=True)
    parser.add_argument("--experiment", required=True, help="whose settings are varied")
    parser.add_argument("--settings", required=True, type=json.loads, help="JSON: name, values")
    parser.add_argument("--scores", required=True, nargs="+", help="scores.json of each setting")
    parser.add_argument("--runs", required=True, nargs="+", help="train.json of each setting")
    parser.add_argument("--output", required=True, help="path without suffix")
    options = parser.parse_args(arguments)

    table = search_table(
        name=options.search,
        title=options.title,
        experiment=options.experiment,
        settings=options.settings,
        scores=[read_json(path) for path in options.scores],
        trains=[read_json(path) for path in options.runs],
    )
    for path in write_table(table, options.output):
        log(f"wrote: {path}")
    log(table.notes[0])


if __name__ == "__main__":
    main()
