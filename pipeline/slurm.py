"""What is asked of Slurm besides submitting, which Snakemake's plugin does."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

ASK_SECONDS = 30.0
JOB_ID = "SLURM_JOB_ID"
UNLIMITED = 1 << 40


@dataclass(frozen=True)
class QueuedJob:
    """A job of this user; `comment` is Snakemake's name for it, `folder` where it was submitted."""

    number: str
    state: str
    comment: str
    folder: str
    elapsed: str
    nodes: str


@dataclass(frozen=True)
class NodeKind:
    """Nodes of a partition that are alike; memory in MB, `gpus` by type ("" without a type)."""

    partition: str
    default: bool
    nodes: int
    cpus: int
    memory_mb: int
    limit_minutes: int
    gpus: dict[str, int]


@dataclass(frozen=True)
class Request:
    """What one job of a rule asks of each of its nodes."""

    rule: str
    partition: str
    nodes: int = 1
    gpus: int = 0
    gpu_type: str = ""
    cpus: int = 1
    memory_mb: int = 0
    minutes: int = 0


def ask(*command: str, seconds: float = ASK_SECONDS) -> str | None:
    """What a command of Slurm prints; None where it is missing, fails or says nothing in time."""
    if shutil.which(command[0]) is None:
        return None
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None


def requeue() -> bool:
    """Put the job that this process runs in back into the queue; Slurm then ends the process.

    False outside of a Slurm job, where the job was cancelled, and where Slurm refuses.
    """
    job = os.environ.get(JOB_ID)
    if job is None:
        return False
    state = ask("squeue", "--noheader", "--jobs", job, "--format=%T")
    if state is None or state.strip() != "RUNNING":
        return False
    return ask("scontrol", "requeue", job) is not None


def jobs_of(folder: str) -> list[QueuedJob] | None:
    """Jobs that were submitted from a folder and have not ended; None without Slurm here."""
    listing = ask("squeue", "--noheader", "--me", "--format=%i|%T|%k|%Z|%M|%N")
    if listing is None:
        return None
    jobs = (QueuedJob(*line.split("|")) for line in listing.split("\n") if line.count("|") == 5)
    return [job for job in jobs if os.path.realpath(job.folder) == os.path.realpath(folder)]


def partitions(*, seconds: float = ASK_SECONDS) -> list[NodeKind] | None:
    """What the cluster has, whether it is up or not; None without Slurm here, or where it says
    nothing for so long."""
    listing = ask("sinfo", "--noheader", "--exact", "--format=%P|%D|%c|%m|%l|%G", seconds=seconds)
    return None if listing is None else [node_kind(line) for line in listing.split("\n") if line]


def node_kind(line: str) -> NodeKind:
    """One line of sinfo, as `partitions` asks for it."""
    partition, nodes, cpus, memory, limit, gres = line.split("|", 5)
    gpus: dict[str, int] = {}
    for kind, count in re.findall(r"\bgpu:(?:([^:(,]+):)?(\d+)", gres):
        gpus[kind] = gpus.get(kind, 0) + int(count)
    return NodeKind(
        partition=partition.removesuffix("*"),
        default=partition.endswith("*"),
        nodes=int(nodes),
        cpus=int(cpus.rstrip("+")),
        memory_mb=int(memory.rstrip("+")),
        limit_minutes=minutes(limit),
        gpus=gpus,
    )


def minutes(limit: str) -> int:
    """Slurm's [days-]hours:minutes:seconds, in minutes; days-hours is not printed by sinfo."""
    if limit in ("infinite", "n/a"):
        return UNLIMITED
    days, _, clock = limit.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    hours, mins = ([0, 0, *parts])[-3:-1]
    return (int(days or 0) * 24 + hours) * 60 + mins


def problems(request: Request, kinds: list[NodeKind]) -> list[str]:
    """Why a cluster can never run this, each in words that name the setting; empty if it can."""
    names = sorted({kind.partition for kind in kinds})
    partition = request.partition or next((k.partition for k in kinds if k.default), "")
    here = [kind for kind in kinds if kind.partition == partition]
    rule = f"rule {request.rule}"
    if not here:
        return [f"slurm_partition of {rule} must be one of {', '.join(names)}: {partition}"]

    def gpus(kind: NodeKind) -> int:
        counts = kind.gpus
        return counts.get(request.gpu_type, 0) if request.gpu_type else sum(counts.values())

    found = []
    where = f"partition {partition}"
    if request.gpu_type and not any(request.gpu_type in kind.gpus for kind in here):
        types = sorted({name or "no type" for kind in here for name in kind.gpus}) or ["no GPU"]
        found.append(f"gpu_type of {rule}: {where} has {', '.join(types)}: {request.gpu_type}")
    else:
        limits = (
            ("ranks", "GPUs a node", request.gpus, gpus),
            ("threads", "CPUs a node", request.cpus, lambda kind: kind.cpus),
            ("mem_mb", "MB a node", request.memory_mb, lambda kind: kind.memory_mb),
            ("runtime", "minutes", request.minutes, lambda kind: kind.limit_minutes),
        )
        for key, what, asked, has in limits:
            if (most := max(map(has, here))) < asked:
                found.append(f"{key} of {rule}: {where} has at most {most} {what}: {asked}")
        fitting = sum(
            kind.nodes for kind in here if all(has(kind) >= asked for _, _, asked, has in limits)
        )
        if not found and fitting < request.nodes:
            found.append(
                f"nodes of {rule}: {where} has {fitting} that fit the rest: {request.nodes}"
            )
    return found
