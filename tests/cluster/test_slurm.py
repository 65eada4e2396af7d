"""The DAG through a real Slurm: whole tables, trainings over nodes, and jobs that die.

Trainings are frozen (SIGSTOP) where a test has to wait for Slurm, so that neither a fast nor a slow
machine changes what is tested; every final checkpoint is compared with that of an unbroken run.
"""

import re
import subprocess
import sys
import time

import pytest
from slurm import NODES, wait_for
from submission import (
    PATIENCE,
    WARNING,
    Submission,
    end_family,
    log_of,
    train_json,
    weights,
)


@pytest.fixture
def submit(cluster):
    """Starts a Snakemake: submit(workspace, *arguments). Nothing of it outlives the test."""
    started = []

    def start(workspace, *arguments: str) -> Submission:
        started.append(Submission(workspace, cluster, *arguments))
        return started[-1]

    yield start
    for submission in started:
        end_family(submission.process)
    cluster.run("scancel", "--me")


@pytest.fixture
def unbroken(project):
    """Starts runs that nothing disturbs, on this machine: unbroken(seeds, ranks=N). What it gives
    tells, at the end of the test, the weights of a seed."""
    started = []

    def start(seeds: tuple[int, ...], *, ranks: int):
        workspace = project("unbroken")
        command = workspace.command(
            *("--set-resources", f"train:ranks={ranks}"),
            *("--config", f"seeds=[{','.join(map(str, seeds))}]"),
            *("--", *map(train_json, seeds)),
        )
        output = workspace.folder / "out.txt"
        with open(output, "w") as file:
            process = subprocess.Popen(command, cwd=workspace.folder, stdout=file, stderr=file)
        started.append(process)

        def of(seed: int):
            assert process.wait(timeout=PATIENCE) == 0, output.read_text()
            return weights(workspace, seed)

        return of

    yield start
    for process in started:
        end_family(process)


def mishaps(profile: dict) -> None:
    """Seed 1 to be cancelled, 2 and 3 to meet their time limit, 3 without a warning, 4 to need
    more memory."""
    profile["set-resources"]["train"] |= {
        "mem_mb": "300 if attempt == 1 and wildcards.run.endswith('seed4') else 1600",
        "slurm_extra": f"'' if wildcards.run.endswith('seed3') else '--signal=TERM@{WARNING}'",
    }


@pytest.fixture(scope="module")
def prepared(project):
    """A workspace with its corpora made, where trainings of one node are submitted."""
    workspace = project("cluster", mishaps)
    corpora = "results/tiny/corpora/tiny"
    workspace.make(f"{corpora}/buckets", f"{corpora}/subwords")
    return workspace


def test_cancelled_out_of_time_and_out_of_memory(cluster, submit, prepared, unbroken):
    seeds = (1, 2, 3, 4)
    targets = [train_json(seed) for seed in seeds]
    wanted = unbroken(seeds, ranks=1)
    run = submit(prepared, "--config", "seeds=[1,2,3,4]", "--", *targets)
    cancelled, warned, unwarned = run.catch(1, 2, 3)
    cluster.run("scancel", cancelled.job["id"])
    cluster.end_soon(warned.job["id"], seconds=WARNING + 20)
    cluster.end_soon(unwarned.job["id"])
    wait_for(warned.asked_to_stop, "the warning before the time limit", seconds=PATIENCE)
    warned.resume()

    run.finish()
    states = {seed: run.states(seed) for seed in seeds}
    assert states == {
        1: ["CANCELLED", "COMPLETED"],
        2: ["COMPLETED"],  # the same job, which went back into the queue
        3: ["TIMEOUT", "COMPLETED"],
        4: [states[4][0], "COMPLETED"],
    }, run.told(*seeds)
    assert states[4][0] in ("FAILED", "OUT_OF_MEMORY")
    (requeued,) = run.jobs(2)
    assert re.search(r"Restarts=[1-9]", cluster.run("scontrol", "show", "job", requeued["id"]))
    for seed in (1, 2, 3):
        assert "resuming after step" in log_of(prepared, seed)
    for seed in seeds:
        assert weights(prepared, seed) == wanted(seed)


def over_nodes(profile: dict) -> None:
    profile["set-resources"]["train"] |= {"nodes": 2, "ranks": 1, "warning_seconds": WARNING}


def test_two_nodes_equal_one_with_a_dead_rank_and_with_a_warning(
    cluster, submit, project, unbroken
):
    workspace = project("nodes", over_nodes)
    corpora = "results/tiny/corpora/tiny"
    workspace.make(f"{corpora}/buckets", f"{corpora}/subwords")
    targets = [train_json(seed) for seed in (5, 6)]
    wanted = unbroken((5, 6), ranks=2)
    run = submit(workspace, "--config", "seeds=[5,6]", "--", *targets)
    losing, warned = run.catch(5, 6)
    for training in (losing, warned):
        assert training.job["nodes"] == "node[1-2]"
        places = [rank.environ()["SLURMD_NODENAME"] for rank in training.ranks]
        assert places == list(NODES)
    cluster.end_soon(warned.job["id"], seconds=WARNING + 20)
    losing.ranks[1].kill()  # the other would wait 30 minutes for it
    wait_for(lambda: run.jobs(5)[0]["state"] == "FAILED", "the job to end", seconds=PATIENCE)
    wait_for(warned.asked_to_stop, "the warning before the time limit", seconds=PATIENCE)
    warned.resume()
    run.finish()
    assert run.states(5) == ["FAILED", "COMPLETED"], run.told(5)
    assert run.states(6) == ["COMPLETED"], run.told(6)  # requeued
    for seed in (5, 6):
        assert "resuming after step" in log_of(workspace, seed)
        assert weights(workspace, seed) == wanted(seed)


def test_lost_node_then_lost_snakemake_then_rescue(cluster, submit, prepared, unbroken):
    seeds = (7, 8)
    settings = ("--config", "seeds=[7,8]", "--", *(train_json(seed) for seed in seeds))
    wanted = unbroken(seeds, ranks=1)
    run = submit(prepared, *settings)
    first, second = run.catch(*seeds)
    node = first.job["nodes"]
    assert second.job["nodes"] == node
    cluster.lose_node(node)
    try:
        moved = run.catch(*seeds, text="resuming after step")
    finally:
        cluster.start_node(node)  # the tests after this one need both
    for before, after in zip((first, second), moved, strict=True):
        assert after.job["id"] == before.job["id"]
        assert after.job["nodes"] == NODES[1 - NODES.index(node)]

    run.process.kill()
    run.process.wait()
    told = rescue(prepared, cluster, "--workflow-profile", "slurm", *settings)
    numbers = [run.jobs(seed)[-1]["id"] for seed in seeds]
    assert re.search(r"^lock: +held$", told, re.M)
    assert re.search(r"^slurm: +2 jobs of this folder$", told, re.M)
    assert re.search(r"^will run: +train 2$", told, re.M)
    for seed in seeds:
        assert re.search(rf"^ +ende_base-seed{seed} +goes on after step \d+ of 480", told, re.M)
    commands = [line.split("#")[0].split() for line in told.split("next:\n")[1].splitlines()]
    assert commands[0] == ["scancel", *sorted(numbers, key=int)]
    cluster.run(*commands[0])
    wait_for(lambda: not rescue_jobs(cluster, numbers), "cancelled jobs to end", seconds=60)
    assert commands[1] == ["snakemake", "--unlock"]
    prepared.make("--unlock")
    assert commands[2][:3] == ["snakemake", "--workflow-profile", "slurm"]
    submit(prepared, *settings).finish()
    for seed in seeds:
        assert weights(prepared, seed) == wanted(seed)


def rescue(workspace, cluster, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "pipeline", "rescue", "--", *arguments],
        cwd=workspace.folder,
        env=cluster.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def rescue_jobs(cluster, numbers: list[str]) -> list[str]:
    """Those of the jobs that have not ended."""
    ended = ("CANCELLED", "COMPLETED", "FAILED")
    return [
        job["id"] for job in cluster.jobs() if job["id"] in numbers and job["state"] not in ended
    ]


def whole_nodes(profile: dict) -> None:
    profile["set-resources"]["train"]["ranks"] = 2  # both GPUs of a node


def test_a_table_with_two_trainings_on_different_nodes(cluster, submit, project):
    workspace = project("table", whole_nodes, max_steps=120)
    workspace.make("results/tiny/corpora/tiny/subwords")  # the first jobs, to save minutes
    run = submit(workspace, "table2")
    together: dict[str, str] = {}
    gpus: dict[str, str] = {}
    seen = set()
    while run.process.poll() is None:
        jobs = [job for job in cluster.jobs() if job["state"] == "RUNNING"]
        seen |= {job["comment"] for job in jobs}
        trainings = {job["id"]: job["nodes"] for job in jobs if "rule_train" in job["comment"]}
        if len(trainings) == 2:
            together |= trainings
            gpus |= {job["id"]: job["gres"] for job in jobs if job["id"] in trainings}
        time.sleep(0.5)
    run.finish()
    assert sorted(together.values()) == list(NODES)
    assert set(gpus.values()) == {"gres:gpu:2"}
    assert {"rule_train_wildcards_ende_base-seed1", "rule_encode_wildcards_tiny"} <= seen
    assert "rule_evaluate_average_decode_score" in seen  # one job for a run
    assert not any("table2" in comment for comment in seen)
    table = (workspace.folder / "results/tiny/tables/table2.md").read_text()
    assert "Transformer (base)" in table
    assert "Transformer (big)" in table
    localrules = workspace.run("-n", "--workflow-profile", "slurm", "table2")
    assert "Nothing to be done" in localrules.stdout + localrules.stderr


@pytest.mark.parametrize(
    ("resource", "complaint"),
    [
        ("ranks=9", "ranks of rule train: partition gpu has at most 2 GPUs a node: 9"),
        ("nodes=3", "nodes of rule train: partition gpu has 2 that fit the rest: 3"),
        ("runtime=7000", "runtime of rule train: partition gpu has at most 720 minutes: 7000"),
        ("warning_seconds=300", "warning_seconds of rule train: must be less than its runtime, 5"),
    ],
)
def test_what_can_never_run_is_refused_before_anything_is_queued(
    cluster, submit, prepared, resource, complaint
):
    before = cluster.jobs()
    name, value = resource.split("=")
    asked = {"slurm_partition": "gpu", "gpu_type": "unnamed", "mem_mb": 1000, "runtime": 5}
    asked[name] = value
    start = time.monotonic()
    run = submit(
        prepared,
        *("--set-resources", *(f"train:{key}={value}" for key, value in asked.items())),
        *("--config", "seeds=[99]", "--", train_json(99)),
    )
    assert complaint in run.finish(code=1)
    assert time.monotonic() - start < 60  # a hang, not a speed
    assert cluster.jobs() == before
