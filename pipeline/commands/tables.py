"""Print the tables that were made, and where they lie."""

import argparse
import os
import shutil
import sys
from pathlib import Path

ORDER = ("table1", "table2", "table3", "table4")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", help="demo, lab, paper ... (default: config.yaml's)")
    parser.add_argument("--folder", type=Path, help="instead of results/SCALE/tables")


def run(args: argparse.Namespace) -> int:
    """Print to stdout; 1 if there is no table yet. Raises ConfigError for an unknown scale."""
    folder = args.folder or Path("results") / _scale(args.scale) / "tables"
    if print_tables(folder):
        return 0
    chosen = f" --config scale={args.scale}" if args.scale else ""
    print(f"no tables yet; `snakemake --cores all{chosen}` makes them: {folder}", file=sys.stderr)
    return 1


def _scale(name: str | None) -> str:
    # imported late: a moment that --folder need not wait for
    from pipeline.config.loading import config_folder, load_project

    return load_project(config_folder(), {"scale": name} if name else {}).scale.name


def print_tables(folder: Path) -> int:
    """Print each table of `folder`, what lies where, and return how many there were.

    On a terminal too narrow for a table, its rows are cut off at the edge instead of wrapped.
    """
    paths = [folder / f"{name}.md" for name in ORDER if (folder / f"{name}.md").is_file()]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for path in paths:
        for line in path.read_bytes().decode("utf-8").split("\n"):
            print(_cut(line, width))
    if paths:
        formats = sorted({file.suffix[1:] for file in folder.iterdir() if file.stem in ORDER})
        print(f"{len(paths)} tables in {folder}{os.sep} as {', '.join(formats)}")
    report = folder.parent / "report.html"
    if report.is_file():
        print(f"report: {report}")
    return len(paths)


def _cut(line: str, width: int | None) -> str:
    if width is None or not line.startswith("|") or len(line) <= width:
        return line
    return line[: width - 1] + "…"
