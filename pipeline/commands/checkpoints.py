"""List checkpoint folders that no current experiment names, and remove them on request."""

import argparse
import shutil
import sys
from pathlib import Path

from pipeline.config.loading import Project, load_project
from pipeline.training.run import Job

NOBODY = "no experiment"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", help="instead of config.yaml's")
    parser.add_argument("--remove", action="store_true", help="remove what no experiment names")


def run(args: argparse.Namespace) -> int:
    """A line a folder on stdout: run, "no experiment" or "unknown", bytes, path.

    Unknown: of no run that can be told yet, while corpora are not encoded. Raises ValueError
    where `--remove` would have to guess.
    """
    project = load_project("config", {"scale": args.scale} if args.scale else {})
    results = Path("results") / project.scale.name
    folders = sorted(path for path in (results / "checkpoints").glob("*") if path.is_dir())
    if not folders:
        print(f"no checkpoints: {results / 'checkpoints'}", file=sys.stderr)
        return 0
    runs, missing = runs_by_fingerprint(project, results)
    for folder in folders:
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{owner(folder, runs, missing):<32} {size:>16,} bytes  {folder}")
    if missing:
        print(
            f"unknown: whose checkpoints they are can be told once these exist: "
            f"{', '.join(map(str, missing))}",
            file=sys.stderr,
        )
    if args.remove:
        if missing:
            raise ValueError(
                "nothing is removed while a corpus is not encoded; make it first: "
                f"snakemake --cores all {missing[0]} --config scale={project.scale.name}"
            )
        for folder in folders:
            if folder.name not in runs:
                shutil.rmtree(folder)
                print(f"removed: {folder}", file=sys.stderr)
    return 0


def owner(folder: Path, runs: dict[str, str], missing: list[Path]) -> str:
    """Whose checkpoints a folder holds, as far as can be told."""
    return runs.get(folder.name, "unknown" if missing else NOBODY)


def runs_by_fingerprint(project: Project, results: Path) -> tuple[dict[str, str], list[Path]]:
    """Checkpoint folder's name: run, for every experiment and seed of the scale whose corpus is
    encoded; and the folders of the encoded corpora that are missing."""
    found: dict[str, str] = {}
    missing: dict[Path, None] = {}
    trainings = [(name, e, project.seeds_of(name)) for name, e in project.experiments.items()]
    for search in project.searches.values():
        first = project.seeds_of(search.experiment)[:1]
        trainings += [(training.name, training, first) for training in search.trainings]
    for name, experiment, seeds in trainings:
        corpus = results / "corpora" / project.scale.tasks[experiment.task]
        if not (corpus / "encoded" / "encode.json").exists():
            missing[corpus / "encoded"] = None
            continue
        for seed in seeds:
            job = Job(
                encoded=corpus / "encoded",
                buckets=corpus / "buckets",
                checkpoints=results / "checkpoints",
                model=experiment.model,
                training=experiment.training,
                seed=seed,
                max_tokens=1,
            )
            found.setdefault(job.folder.name, f"{name}-seed{seed}")
    return found, list(missing)
