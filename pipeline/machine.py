"""What the rule `train` is given (workflow/profiles), as the resources that schedulers read.

    nodes            machines of one training
    ranks            processes of one training on each of them, one a GPU
    gpu_type         on a cluster: as `sinfo -o %G` names it, `unnamed` without a name, `none`
    warning_seconds  on a cluster: how long before the time limit a training is told to save
    retries          how often a training that failed is started again

They are looked up before the rule exists, since other resources follow from them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline import gpus, slurm
from pipeline.config.bounds import MOST_NODES, MOST_RANKS, MOST_TOKENS, WEEK_SECONDS

LIMITS = {
    "nodes": (1, MOST_NODES),
    "ranks": (1, MOST_RANKS),
    "warning_seconds": (0, WEEK_SECONDS),
    "retries": (0, 1_000),
    "max_tokens": (1, MOST_TOKENS),
}


@dataclass(frozen=True)
class Machine:
    """Settings of `train`; gpu_type is None where no cluster's profile is used."""

    nodes: int = 1
    ranks: int = 1
    gpu_type: str | None = None
    warning_seconds: int = 300
    retries: int = 2
    slurm_partition: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Machine":
        """From all resources that a profile sets. Raises ValueError naming one that can't be."""
        values = {name: given[name] for name in cls.__dataclass_fields__ if name in given}
        for name, (least, most) in LIMITS.items():
            value = given.get(name, least)
            if not isinstance(value, int) or not least <= value <= most:
                raise ValueError(
                    f"{name} of rule train must be a whole number from {least} to {most}: {value}"
                )
        zero_stage = given.get("zero_stage", 0)
        if zero_stage not in (0, 1, 2):
            raise ValueError(f"zero_stage of rule train must be 0, 1 or 2: {zero_stage}")
        machine = cls(**values)
        if machine.nodes > 1 and machine.gpu_type is None:
            raise ValueError(
                "nodes of rule train: more than one needs a cluster, "
                f"snakemake --workflow-profile slurm: {machine.nodes}"
            )
        return machine

    def gres(self, count: int) -> dict[str, str]:
        """So many GPUs a node, as Slurm wants it said; nothing off a cluster or without GPUs."""
        if self.gpu_type in (None, "none"):
            return {}
        kind = "" if self.gpu_type == "unnamed" else f":{self.gpu_type}"
        return {"gres": f"gpu{kind}:{count}"}

    def training(self) -> dict[str, Any]:
        """Resources of `train` beside those of the profile."""
        if self.gpu_type is None:
            return {"accelerators": self.ranks, "on_stop": "exit"}
        extra = [f"--signal=TERM@{self.warning_seconds}"] if self.warning_seconds else []
        asked: dict[str, Any] = {"on_stop": "requeue", **self.gres(self.ranks)}
        if self.nodes > 1:  # one task a rank: the step starts them by srun
            extra.append(f"--ntasks-per-node={self.ranks}")
            asked |= {"mpi": "srun", "tasks": self.nodes * self.ranks, "tasks_per_gpu": 0}
        else:  # one task, which starts its ranks
            asked["cpus_per_task"] = lambda wildcards, threads: threads * self.ranks
        return asked | ({"slurm_extra": " ".join(extra)} if extra else {})

    def evaluation(self, *, accelerators: int = 0) -> dict[str, Any]:
        """Resources of the rules that use a trained model: on a cluster one job does all of them
        for a run, with one GPU where trainings run; elsewhere each says what it needs."""
        if self.gpu_type is None:
            return {"accelerators": accelerators}
        partition = {"slurm_partition": self.slurm_partition} if self.slurm_partition else {}
        return {**self.gres(1), **partition}


def gpus_here() -> int:
    """GPUs of this machine that may be used."""
    return len(gpus.visible())


def request_of(rule: str, resources: Any, threads: int) -> slurm.Request:
    """What a job asks of Slurm for each of its nodes, from its resources."""
    asked = resources.get
    nodes = asked("nodes") or 1
    tasks_a_node = (asked("tasks") or 1) // nodes if asked("mpi") else 1
    kind, count = "", 0
    if gres := asked("gres"):  # gpu:4, gpu:a100:4
        _, *kinds, number = gres.split(":")
        kind, count = "".join(kinds), int(number)
    return slurm.Request(
        rule=rule,
        partition=asked("slurm_partition") or "",
        nodes=nodes,
        gpus=count,
        gpu_type=kind,
        cpus=(asked("cpus_per_task") or threads) * tasks_a_node,
        memory_mb=asked("mem_mb") or 0,
        minutes=asked("runtime") or 0,
    )


def impossible(jobs: Iterable[Any], machine: Machine) -> list[str]:
    """Why jobs can never run here, each reason once, naming the setting. Empty if all can.

    jobs: Snakemake's, with `rule`, `resources`, `threads` and `is_local`.
    """
    found: dict[str, None] = {}
    if machine.gpu_type is None:
        usable = gpus_here()
        if 0 < usable < machine.ranks:
            found[f"ranks of rule train: this machine has {usable} GPUs: {machine.ranks}"] = None
    elif kinds := slurm.partitions():
        for job in jobs:
            if job.resources.get("slurm_partition") or not job.is_local:
                request = request_of(job.rule.name, job.resources, job.threads)
                found |= dict.fromkeys(slurm.problems(request, kinds))
            minutes, warning = map(job.resources.get, ("runtime", "warning_seconds"))
            if minutes and warning and warning >= 60 * minutes:  # Slurm would warn at the start
                found[
                    f"warning_seconds of rule {job.rule.name}: must be less than its runtime, "
                    f"{minutes} minutes: {warning}"
                ] = None
    return list(found)
