"""List checkpoint folders that no current experiment names, and remove them on request."""

import argparse
import shutil
import sys
from pathlib import Path

from pipeline.config.loading import Project, load_project
from pipeline.training.run import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", help="instead of config.yaml's")
    parser.add_argument("--remove", action="store_true", help="remove what no experiment names")


def run(args: argparse.Namespace) -> int:
    """A line a folder on stdout: run or "no experiment", bytes, path.

    Raises ValueError where a corpus is not encoded: whose checkpoints are whose is then unknown.
    """
    project = load_project("config", {"scale": args.scale} if args.scale else {})
    results = Path("results") / project.scale.name
    folders = sorted(path for path in (results / "checkpoints").glob("*") if path.is_dir())
    if not folders:
        print(f"no checkpoints: {results / 'checkpoints'}", file=sys.stderr)
        return 0
    runs = runs_by_fingerprint(project, results)
    for folder in folders:
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{runs.get(folder.name, 'no experiment'):<32} {size:>16,} bytes  {folder}")
        if args.remove and folder.name not in runs:
            shutil.rmtree(folder)
            print(f"removed: {folder}", file=sys.stderr)
    return 0


def runs_by_fingerprint(project: Project, results: Path) -> dict[str, str]:
    """Checkpoint folder's name: run, for every experiment and seed of the scale."""
    found = {}
    for name, experiment in project.experiments.items():
        corpus = results / "corpora" / project.corpus_of(name).name
        if not (corpus / "encoded" / "encode.json").exists():
            raise ValueError(
                f"{corpus / 'encoded'} is missing, so the checkpoints of {name} can't be told from "
                f"others; make it first: snakemake --cores all train_{name} "
                f"--config scale={project.scale.name}"
            )
        for seed in project.seeds_of(name):
            job = Job(
                encoded=corpus / "encoded",
                buckets=corpus / "buckets",
                checkpoints=results / "checkpoints",
                model=experiment.model,
                training=experiment.training,
                seed=seed,
                max_tokens=1,
            )
            found[job.folder.name] = f"{name}-seed{seed}"
    return found
