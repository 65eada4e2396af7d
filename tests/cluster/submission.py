"""Snakemakes that submit to the cluster, and trainings caught and frozen in the middle."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil

SAVED = "step 120 of"  # the log says so after step 80 waited for the checkpoint of step 40
WARNING = 100  # seconds before its time limit in which a training on a busy machine can save
PATIENCE = 450.0  # seconds, for a busy machine; a quiet one needs a tenth


def train_json(seed: int, experiment: str = "ende_base") -> str:
    return f"results/tiny/runs/{experiment}-seed{seed}/train.json"


def weights(workspace, seed: int, experiment: str = "ende_base") -> list[tuple[int, str]]:
    manifest = json.loads((workspace.folder / train_json(seed, experiment)).read_text())
    return [(entry["step"], entry["sha256"]) for entry in manifest["checkpoints"]]


def log_of(workspace, seed: int, experiment: str = "ende_base") -> str:
    path = workspace.folder / f"results/tiny/logs/train/{experiment}-seed{seed}.log"
    return path.read_text() if path.exists() else ""


class Submission:
    """A Snakemake that submits to the cluster; ended with the test (`submit`)."""

    def __init__(self, workspace, cluster, *arguments: str) -> None:
        self.workspace, self.cluster = workspace, cluster
        self.output = workspace.folder / f"snakemake-{time.monotonic_ns()}.txt"
        with open(self.output, "w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", "--workflow-profile", "slurm", *arguments],
                cwd=workspace.folder,
                env={**cluster.environment(), "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def finish(self, *, code: int = 0) -> str:
        found = self.process.wait(timeout=PATIENCE)
        assert found == code, self.said
        return self.said

    def jobs(self, seed: int, experiment: str = "ende_base") -> list[dict[str, str]]:
        """Jobs of one training, oldest first."""
        comment = f"rule_train_wildcards_{experiment}-seed{seed}"
        return [job for job in self.cluster.jobs() if job["comment"] == comment]

    def states(self, seed: int) -> list[str]:
        """Of one training's jobs, oldest first."""
        return [job["state"] for job in self.jobs(seed)]

    def told(self, *seeds: int) -> str:
        """What jobs that did not end well said: Slurm's logs, then those of the trainings."""
        logs = self.workspace.folder / ".snakemake" / "slurm_logs" / "rule_train"
        texts = [
            f"job {path.stem}:\n{path.read_text()}"
            for seed in seeds
            for path in sorted(logs.glob(f"*-seed{seed}/*.log"))
        ]
        return "\n".join([*texts, *(log_of(self.workspace, seed) for seed in seeds)])

    def catch(self, *seeds: int, text: str = SAVED, rank: int = -1) -> list["Caught"]:
        """Freeze each training once its log says so: one rank of it, the last by default."""
        caught: dict[int, Caught] = {}
        deadline = time.monotonic() + PATIENCE
        while len(caught) < len(seeds):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, f"caught {list(caught)} of {seeds}: {self.said}"
            for seed in set(seeds) - caught.keys():
                ranks = (
                    ranks_of(self.workspace, seed) if text in log_of(self.workspace, seed) else []
                )
                if ranks:
                    ranks[rank].suspend()
                    caught[seed] = Caught(self.jobs(seed)[-1], ranks)
            time.sleep(0.05)
        return [caught[seed] for seed in seeds]


@dataclass(frozen=True)
class Caught:
    """A training with a frozen rank, in its job."""

    job: dict[str, str]
    ranks: list[psutil.Process]

    def resume(self) -> None:
        for process in self.ranks:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def asked_to_stop(self) -> bool:
        """Whether SIGTERM waits for the frozen process, or was delivered (Slurm may wake it)."""
        try:
            with open(f"/proc/{self.ranks[-1].pid}/status") as status:
                told = status.read()
        except FileNotFoundError:
            return True
        pending = int(re.search(r"^ShdPnd:\s*(\w+)", told, re.M)[1], 16)
        return bool(pending >> (signal.SIGTERM - 1) & 1) or not re.search(
            r"^State:\s*T", told, re.M
        )


def ranks_of(workspace, seed: int) -> list[psutil.Process]:
    """Processes that train, by their rank; not the one that started them."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            if (
                "pipeline.steps.train" in command[1:3]
                and f"ende_base-seed{seed}" in command
                and process.cwd() == str(workspace.folder)
            ):
                environment = process.environ()
                launched = "REATTEND_STEP" in environment
                found[int(environment["SLURM_PROCID"]) if launched else -1] = process
    if len(found) > 1:
        found.pop(-1, None)
    return [found[rank] for rank in sorted(found)]


def end_family(process: subprocess.Popen) -> None:
    """SIGKILL to a process that still runs, and to all that it started here."""
    if process.poll() is None:
        family = [*psutil.Process(process.pid).children(recursive=True), process]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.wait()
