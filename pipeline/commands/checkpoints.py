"""List checkpoint folders, and remove those that nothing needs, once they were shown."""

import argparse
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.loading import Project, config_folder, load_project
from pipeline.files import read_json
from pipeline.training.run import LOCK, Job

RESULTS, LOCKS = Path("results"), Path(".snakemake/locks")
DAY_SECONDS = 86_400
OLD_DAYS = 30.0
NOBODY, UNKNOWN = "no experiment", "unknown"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", help="instead of config.yaml's")
    parser.add_argument(
        "--older-than-days",
        type=_days,
        default=OLD_DAYS,
        metavar="DAYS",
        help=f"days without a change before a folder may go (default: {OLD_DAYS:g})",
    )
    parser.add_argument(
        "--remove", action="store_true", help="list what may go: of no train.json, not at work, old"
    )
    parser.add_argument("--yes", action="store_true", help="with --remove: remove it")


def run(args: argparse.Namespace) -> int:
    """A line a folder on stdout: "stays" or "may go", why, bytes, age in days, path.

    With --remove those that may go alone; with --yes too they are removed after that. Raises
    ValueError for a train.json that can't be read, since it may name any of them, and before
    removing while a Snakemake holds the lock of this folder.
    """
    if args.yes and not args.remove:
        raise ValueError("--yes stands beside --remove alone; to list, leave it out: --yes")
    project = load_project(config_folder(), {"scale": args.scale} if args.scale else {})
    results = RESULTS / project.scale.name
    folders = sorted(path for path in (results / "checkpoints").glob("*") if path.is_dir())
    if not folders:
        print(f"no checkpoints: {results / 'checkpoints'}", file=sys.stderr)
        return 0
    runs, missing = runs_by_fingerprint(project, results)
    named = named_by_manifests()
    found = [
        judge(path, named=named, runs=runs, missing=missing, days=args.older_than_days)
        for path in folders
    ]
    shown = [folder for folder in found if folder.may_go] if args.remove else found
    for folder in shown:
        print(folder.line())
    if missing:
        print(
            f"unknown: whose checkpoints they are can be told once these exist: "
            f"{', '.join(map(str, missing))}",
            file=sys.stderr,
        )
    if args.remove:
        _remove(shown, yes=args.yes, days=args.older_than_days)
    return 0


@dataclass(frozen=True)
class Folder:
    """A folder of checkpoints, whether it may be removed, and why or why not."""

    path: Path
    may_go: bool
    reason: str
    size_bytes: int
    age_days: float

    def line(self) -> str:
        verdict = "may go" if self.may_go else "stays"
        return (
            f"{verdict:<6}  {self.reason:<44} {self.size_bytes:>16,} bytes "
            f"{self.age_days:>7.1f} days  {self.path}"
        )


def judge(
    path: Path, *, named: dict[str, Path], runs: dict[str, str], missing: list[Path], days: float
) -> Folder:
    """What is known of a folder. It may go if no manifest and no experiment names it, no process
    holds its lock, and nothing in it changed for `days`."""
    stats = [file.stat() for file in (path, *path.rglob("*"))]
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    age = (time.time() - max(stat.st_mtime for stat in stats)) / DAY_SECONDS
    whose = owner(path, runs, missing)
    if path.name in named:
        reason = f"of {named[path.name]}"
    elif is_locked(path / LOCK):
        reason = "a training is at work in it"
    elif whose not in (NOBODY, UNKNOWN):
        reason = f"unfinished: {whose}"
    elif age <= days:
        reason = f"{whose}, but changed within {days:g} days"
    else:
        return Folder(path, True, f"no train.json, {whose}", size, age)
    return Folder(path, False, reason, size, age)


def named_by_manifests() -> dict[str, Path]:
    """Fingerprint: train.json, for all runs and searches of all scales, whichever configuration,
    seeds or options they were made with. Raises ValueError for one that can't be read."""
    found = {}
    for path in sorted(RESULTS.glob("*/*/*/train.json")):
        manifest = read_json(path)
        fingerprint = manifest.get("fingerprint") if isinstance(manifest, dict) else manifest
        if not isinstance(fingerprint, str):
            raise ValueError(
                f"{path}: names no checkpoint folder; make it again (snakemake {path}), or remove "
                f"it if its training may go: fingerprint {fingerprint}"
            )
        found[fingerprint] = path
    return found


def _remove(folders: list[Folder], *, yes: bool, days: float) -> None:
    total = sum(folder.size_bytes for folder in folders)
    if not folders:
        print(
            f"nothing may go: of no train.json, not at work, and older than {days:g} days "
            "(--older-than-days)",
            file=sys.stderr,
        )
        return
    if not yes:
        print(
            f"nothing was removed; {len(folders)} folders of {total:,} bytes go with: "
            "--remove --yes",
            file=sys.stderr,
        )
        return
    if locks := sorted(LOCKS.glob("*.lock")):
        raise ValueError(
            "a Snakemake is at work in this folder, or was killed, so nothing is removed; wait "
            f"for it, or snakemake --unlock: {locks[0]}"
        )
    for folder in folders:
        with _held(folder.path / LOCK) as held:
            still = held and folder.path.name not in named_by_manifests()
            if still:
                shutil.rmtree(folder.path)
        verdict = "removed" if still else "stays, a training went on in it"
        print(f"{verdict}: {folder.path}", file=sys.stderr)


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold the lock of a training's folder, so that none begins meanwhile; False if one did."""
    with open(path, "a+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a training's folder."""
    try:
        with open(path, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _days(text: str) -> float:
    days = float(text)
    if not 0 <= days <= 36_500:
        raise argparse.ArgumentTypeError(f"must be from 0 to 36500 days: {text}")
    return days


def owner(folder: Path, runs: dict[str, str], missing: list[Path]) -> str:
    """Whose checkpoints a folder holds, as far as can be told."""
    return runs.get(folder.name, UNKNOWN if missing else NOBODY)


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
