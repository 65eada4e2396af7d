"""No two steps on one GPU: locks that a process holds as long as it lives."""

import os
import signal
import subprocess
import sys

import pytest

from pipeline import gpus

HOLD = """
import sys
from pipeline.gpus import claimed
with claimed(int(sys.argv[1])) as held:
    print(",".join(held), flush=True)
    sys.stdin.read()
"""
DRIVER = """#!/bin/sh
for i in 0 1 2; do echo "GPU $i: pretended (UUID: GPU-0000000$i-aa)"; done
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Three GPUs, as its driver says."""
    driver = tmp_path / "nvidia-smi"
    driver.write_text(DRIVER)
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("REATTEND_GPU_LOCKS", str(tmp_path / "locks"))
    for name in (gpus.VISIBLE, *gpus.SCHEDULERS):
        monkeypatch.delenv(name, raising=False)
    return ["GPU-00000000-aa", "GPU-00000001-aa", "GPU-00000002-aa"]


@pytest.fixture
def hold(project_folder):
    """Starts a process that claims so many GPUs; ended with the test."""
    started = []

    def start(count: int) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(count)],
            cwd=project_folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def held_by(process: subprocess.Popen) -> list[str]:
    return process.stdout.readline().strip().split(",")


def test_steps_side_by_side_hold_different_gpus(machine, hold):
    found = [held_by(hold(1)) for _ in machine]
    assert sorted(name for names in found for name in names) == machine


def test_one_too_many_waits_and_a_killed_one_makes_room(machine, hold):
    first, second = hold(2), hold(1)
    names = held_by(first)
    held_by(second)
    waiting = hold(2)
    assert "waiting for a free GPU" in waiting.stderr.readline()
    first.send_signal(signal.SIGKILL)
    assert held_by(waiting) == names


def test_two_that_want_several_do_not_block_each_other(machine, hold):
    first = hold(2)
    held_by(first)
    second, third = hold(3), hold(3)
    for process in (second, third):
        assert "waiting" in process.stderr.readline()
    first.stdin.close()  # ends it
    for process in (second, third):  # whichever is first must end for the other
        process.stdin.close()
    for process in (second, third):
        process.wait(timeout=60)
        assert held_by(process) == machine


def test_only_visible_gpus_are_taken_and_named(machine, monkeypatch):
    monkeypatch.setenv(gpus.VISIBLE, "2")
    assert gpus.visible() == machine[2:]
    with gpus.claimed(1) as held:
        assert held == machine[2:]
        assert os.environ[gpus.VISIBLE] == machine[2]
    assert os.environ[gpus.VISIBLE] == "2"
    with (
        pytest.raises(ValueError, match=r"ranks: this machine has 1 GPUs to use: 2"),
        gpus.claimed(2),
    ):
        pass


def test_slices_of_a_gpu_are_taken_one_by_one(machine, tmp_path):
    (tmp_path / "nvidia-smi").write_text(
        "#!/bin/sh\n"
        "echo 'GPU 0: A (UUID: GPU-a)'\n"
        "echo '  MIG 1g.10gb Device 0: (UUID: MIG-b)'\n"
        "echo '  MIG 1g.10gb Device 1: (UUID: MIG-c)'\n"
        "echo 'GPU 1: A (UUID: GPU-d)'\n"
    )
    assert gpus.visible() == ["MIG-b", "MIG-c", "GPU-d"]


@pytest.mark.parametrize("scheduler", gpus.SCHEDULERS)
def test_a_scheduler_has_placed_the_job_itself(machine, monkeypatch, scheduler):
    monkeypatch.setenv(scheduler, "7")
    monkeypatch.setenv(gpus.VISIBLE, "1")
    with gpus.claimed(2) as held:
        assert held == []
        assert os.environ[gpus.VISIBLE] == "1"


def test_without_a_gpu_nothing_happens(monkeypatch):
    monkeypatch.setattr(gpus.shutil, "which", lambda name: None)
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    with gpus.claimed(1) as held:
        assert held == []
        assert gpus.VISIBLE not in os.environ
