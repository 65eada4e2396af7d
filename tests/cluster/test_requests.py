"""What trainings ask of a cluster, and what it can't give; no Slurm is needed."""

import os
import resource
from types import SimpleNamespace

import pytest

from pipeline import machine, slurm
from pipeline.machine import Machine

KINDS = [
    slurm.node_kind("cpu*|10|64|256000|2-00:00:00|(null)"),
    slurm.node_kind("gpu|4|32|512000|12:00:00|gpu:a100:4(S:0-1)"),
    slurm.node_kind("gpu|2|96|1024000|12:00:00|gpu:h100:8,fast:1"),
]


def request(**asked) -> slurm.Request:
    return slurm.Request(**{"rule": "train", "partition": "gpu"} | asked)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("12:00:00", 720),
        ("3-12:00:00", 5040),
        ("30:00", 30),
        ("1-00:00:00", 1440),
        ("infinite", slurm.UNLIMITED),
    ],
)
def test_limits_as_sinfo_prints_them(text, minutes):
    assert slurm.minutes(text) == minutes


def test_nodes_as_sinfo_prints_them():
    assert [kind.gpus for kind in KINDS] == [{}, {"a100": 4}, {"h100": 8}]
    assert KINDS[0].default
    assert slurm.node_kind("p|1|4+|8000+|infinite|gpu:2").gpus == {"": 2}


@pytest.mark.parametrize(
    "asked",
    [
        {"nodes": 6, "gpus": 4},
        {"nodes": 2, "gpus": 8, "gpu_type": "h100", "memory_mb": 1_000_000, "minutes": 720},
        {"partition": "", "cpus": 64, "minutes": 2880},
    ],
)
def test_what_fits_is_not_refused(asked):
    assert slurm.problems(request(**asked), KINDS) == []


@pytest.mark.parametrize(
    ("asked", "setting"),
    [
        ({"gpus": 9}, "ranks"),
        ({"gpus": 8, "gpu_type": "a100"}, "ranks"),
        ({"gpus": 1, "gpu_type": "v100"}, "gpu_type"),
        ({"gpus": 8, "nodes": 3}, "nodes"),
        ({"partition": "gpus"}, "slurm_partition"),
        ({"memory_mb": 2_000_000}, "mem_mb"),
        ({"minutes": 721}, "runtime"),
        ({"cpus": 97}, "threads"),
        ({"partition": "", "gpus": 1}, "ranks"),
    ],
)
def test_what_never_fits_is_named_by_its_setting(asked, setting):
    (problem,) = slurm.problems(request(**asked), KINDS)
    assert problem.startswith(f"{setting} of rule train"), problem


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ({"ranks": 0}, "ranks"),
        ({"ranks": "two"}, "ranks"),
        ({"nodes": 2}, "nodes"),
        ({"zero_stage": 3}, "zero_stage"),
        ({"retries": -1}, "retries"),
    ],
)
def test_settings_that_make_no_sense_are_named(given, setting):
    with pytest.raises(ValueError, match=f"^{setting} of rule train"):
        Machine.of(given)


def resources_of(given: dict, *, threads: int = 4) -> dict:
    found = {"nodes": 1, "ranks": 1, **given, **Machine.of(given).training()}
    return {k: v({}, threads=threads) if callable(v) else v for k, v in found.items()}


@pytest.mark.parametrize(
    ("given", "gpus", "cpus", "nodes"),
    [
        ({"gpu_type": "unnamed", "ranks": 8}, 8, 32, 1),
        ({"gpu_type": "a100", "ranks": 4, "nodes": 2}, 4, 16, 2),
        ({"gpu_type": "none", "nodes": 3}, 0, 4, 3),
    ],
)
def test_a_request_counts_all_ranks_of_a_node(given, gpus, cpus, nodes):
    found = machine.request_of("train", resources_of(given), 4)
    assert (found.gpus, found.cpus, found.nodes) == (gpus, cpus, nodes)


def test_one_node_is_one_task_and_several_are_one_a_rank():
    assert "mpi" not in resources_of({"gpu_type": "a100", "ranks": 8})
    several = resources_of({"gpu_type": "a100", "ranks": 4, "nodes": 2})
    assert several["mpi"] == "srun"
    assert several["tasks"] == 8
    assert "--ntasks-per-node=4" in several["slurm_extra"]
    assert "--signal=TERM@300" in several["slurm_extra"]


def test_off_a_cluster_nothing_is_asked_of_slurm():
    asked = Machine.of({"ranks": 2}).training()
    assert asked == {"accelerators": 2, "on_stop": "exit"}


def test_more_ranks_than_gpus_of_this_machine_are_refused(monkeypatch):
    monkeypatch.setattr(machine.gpus, "visible", lambda: ["GPU-a", "GPU-b"])
    assert machine.impossible([], Machine(ranks=2)) == []
    (problem,) = machine.impossible([], Machine(ranks=3))
    assert problem == "ranks of rule train: this machine has 2 GPUs: 3"


def test_each_reason_is_said_once(monkeypatch):
    monkeypatch.setattr(machine.slurm, "partitions", lambda: KINDS)
    job = SimpleNamespace(
        rule=SimpleNamespace(name="train"),
        resources={"slurm_partition": "gpu", "gres": "gpu:16", "runtime": 900},
        threads=1,
        is_local=False,
    )
    problems = machine.impossible([job, job], Machine(gpu_type="unnamed"))
    assert [problem.split(" of ")[0] for problem in problems] == ["ranks", "runtime"]


@pytest.mark.parametrize(("minutes", "refused"), [(4, True), (5, True), (6, False)])
def test_a_warning_at_the_start_of_a_job_is_refused(monkeypatch, minutes, refused):
    monkeypatch.setattr(machine.slurm, "partitions", lambda: KINDS)
    job = SimpleNamespace(
        rule=SimpleNamespace(name="train"),
        resources={"slurm_partition": "gpu", "runtime": minutes, "warning_seconds": 300},
        threads=1,
        is_local=False,
    )
    problems = machine.impossible([job], Machine(gpu_type="unnamed"))
    wanted = f"warning_seconds of rule train: must be less than its runtime, {minutes} minutes: 300"
    assert problems == ([wanted] if refused else [])


def test_a_job_is_requeued_only_while_it_runs(monkeypatch):
    said = []

    def ask(*command):
        said.append(command[0])
        return "CANCELLED\n" if command[0] == "squeue" else ""

    monkeypatch.setattr(slurm, "ask", ask)
    monkeypatch.delenv(slurm.JOB_ID, raising=False)
    assert not slurm.requeue()
    monkeypatch.setenv(slurm.JOB_ID, "7")
    assert not slurm.requeue()
    assert said == ["squeue"]


def test_dry_run_of_the_paper_on_eight_gpus_is_quick(project):
    def eight(profile):
        profile["set-resources"]["train"]["ranks"] = 8

    workspace = project("paper", eight)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = ("scale=paper", "results=table1,table2,table3,table4", "seeds=1")
    output = workspace.make("-n", "--workflow-profile", "slurm", "--config", *settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "gres=gpu:8" in output
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("nodes=2", "nodes of rule train: more than one needs a cluster"),
        ("zero_stage=3", "zero_stage of rule train must be 0, 1 or 2: 3"),
        ("ranks=4", "ranks of rule train: this machine has 3 GPUs: 4"),
    ],
)
def test_one_machine_refuses_what_it_can_not_do(project, tmp_path, monkeypatch, setting, complaint):
    driver = tmp_path / "nvidia-smi"
    lines = (f"echo 'GPU {n}: pretended (UUID: GPU-{n})'" for n in range(3))
    driver.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    workspace = project(setting.split("=")[0])
    result = workspace.run("--set-resources", f"train:{setting}", "--", "train_ende_base")
    assert result.returncode != 0
    assert f"error: {complaint}" in result.stdout + result.stderr
    assert not list(workspace.folder.glob("results/tiny/corpora/*/sources.json"))
