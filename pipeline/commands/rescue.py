"""After a killed Snakemake, a lost node or a full disk: what there is, and what to do next.

Nothing is changed. Arguments after `--` are those that you give Snakemake:

    python -m pipeline rescue -- --workflow-profile slurm table2
"""

import argparse
import base64
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline import slurm
from pipeline.commands.checkpoints import is_locked, owner, runs_by_fingerprint
from pipeline.config.command_line import settings_of
from pipeline.config.loading import config_folder, load_project
from pipeline.training.run import FINISHED, LOCK

STATE = Path(".snakemake")
LITTLE_BYTES = 5 << 30  # a training of the paper's big model writes 2.6 GB a checkpoint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--no-dry-run", action="store_true", help="don't ask what will run")
    parser.add_argument("snakemake", nargs="*", help="arguments of your snakemake, after --")


def run(args: argparse.Namespace) -> int:
    """The state on stdout, a heading a line; the commands to run next at the end."""
    again = list(args.snakemake)
    project = load_project(config_folder(), settings_in(again))
    results = Path("results") / project.scale.name
    cluster = "--workflow-profile" in again

    free = shutil.disk_usage(".").free
    say("disk", f"{free / 1e9:,.1f} GB free" + (", too little" if free < LITTLE_BYTES else ""))
    here = list(snakemakes())
    say("snakemake", ", ".join(f"runs here: pid {pid}" for pid in here) or "none runs here")
    locked = any((STATE / "locks").glob("*.lock"))
    say("lock", "held" if locked else "none")
    queued = slurm.jobs_of(os.getcwd())
    say("slurm", "not on this machine" if queued is None else f"{len(queued)} jobs of this folder")
    for job in queued or ():
        print(f"    {job.number} {job.state:<10} {job.elapsed:>12} {job.nodes:<12} {job.comment}")

    incomplete = [path for path in half_made() if os.path.lexists(path)]
    say("half made", f"{len(incomplete)} files or folders, which will be made again")
    for path in incomplete:
        print(f"    {path}")

    runs, missing = runs_by_fingerprint(project, results)
    trainings = list(trainings_in(results / "checkpoints"))
    say("trainings", f"{len(trainings)} with checkpoints")
    for training in trainings:
        print(f"    {owner(training.folder, runs, missing):<32} {training.state}")

    if not args.no_dry_run:
        print("asking Snakemake what will run (--no-dry-run leaves it out)", file=sys.stderr)
        say("will run", planned(again))

    print("\nnext:")
    if free < LITTLE_BYTES:
        print("    python -m pipeline checkpoints --remove    # lists what may go; then make room")
    if here:
        print(f"    kill -INT {here[0]}    # or leave it: it is at work, and ends its jobs itself")
    elif queued:
        numbers = " ".join(job.number for job in queued)
        print(f"    scancel {numbers}    # they would write beside new ones")
    elif any(training.trains for training in trainings):
        print("    # a training is still at work on this machine: wait, or stop it by kill -TERM")
    if locked:
        print("    snakemake --unlock")
    print(f"    {shlex.join(['snakemake', *([] if cluster else ['--cores', 'all']), *again])}")
    return 0


def settings_in(arguments: list[str]) -> dict[str, Any]:
    """What `--config` of a snakemake says."""
    found, inside = [], False
    for argument in arguments:
        if argument.startswith("-"):
            inside = argument in ("--config", "-C")
        elif inside:
            found.append(argument)
    return settings_of(found)


def say(heading: str, text: str) -> None:
    print(f"{heading + ':':<11} {text}")


def snakemakes() -> Iterator[int]:
    """Process ids of Snakemakes that were started in this folder, on this machine."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if os.readlink(folder / "cwd") != os.getcwd():
                continue
        except OSError:
            continue
        called = [Path(word).name for word in words[:3]]
        job = any(word in ("remote", "subprocess") for word in words) and "--mode" in words
        if ("snakemake" in called or "snakemake" in words[:3]) and not job:
            yield int(folder.name)


def half_made() -> Iterator[str]:
    """Outputs of jobs that were started and not seen to end."""
    root = STATE / "incomplete"
    for path in sorted(root.rglob("*")):
        if path.is_file():
            parts = [part.removeprefix("@") for part in path.relative_to(root).parts]
            try:
                yield base64.urlsafe_b64decode("".join(parts)).decode()
            except ValueError:  # another kind of file
                continue


@dataclass(frozen=True)
class Training:
    """A folder of checkpoints; `trains`: a process of this machine is at work there."""

    folder: Path
    trains: bool
    state: str


def trainings_in(checkpoints: Path) -> Iterator[Training]:
    from pipeline.training.checkpoints import read_checkpoint, steps_in  # torch

    for folder in sorted(path for path in checkpoints.glob("*") if path.is_dir()):
        trains = is_locked(folder / LOCK)
        if (folder / FINISHED).exists():
            yield Training(folder, trains, "finished")
            continue
        damaged = []
        state = "no whole checkpoint: starts anew"
        for step in reversed(steps_in(folder)):
            try:
                checkpoint = read_checkpoint(folder, step)
            except (ValueError, KeyError):
                damaged.append(step)
                continue
            last = checkpoint.state["sections"]["training"]["max_steps"]
            state = f"goes on after step {step:,} of {last:,}"
            break
        if damaged:
            state += f"; damaged, passed over: {', '.join(f'step {step:,}' for step in damaged)}"
        yield Training(folder, trains, state + ("; at work now" if trains else ""))


def planned(arguments: list[str]) -> str:
    """How often each rule would run."""
    result = subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", "--rerun-incomplete", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
    )
    output = result.stdout + result.stderr
    if result.returncode:
        last = output.strip().split("\n")[-1]
        return f"snakemake -n fails: {last}"
    if "Nothing to be done" in output or "Job stats:" not in output:
        return "nothing"
    block = output.split("Job stats:")[1].split("total")[0]
    counts = re.findall(r"^(\w+)\s+(\d+)$", block, re.M)
    return ", ".join(f"{rule} {number}" for rule, number in counts if rule != "all")
