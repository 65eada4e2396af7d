"""A training that was killed, stopped, damaged or moved ends as the unbroken one does."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from pipeline.files import iter_lines, read_json, read_lines

pytestmark = pytest.mark.slow  # whole trainings, killed and begun again

KILLS = int(os.environ.get("REATTEND_KILLS", "3"))  # 20 was run once: docs/training.md
LONG = {"max_steps": 120, "checkpoint_interval_steps": 10, "dev_interval_steps": 60}


def start(arguments: list[str]) -> subprocess.Popen:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.steps.train", *arguments],
        env=environment,
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def last_weights(train_json: Path) -> dict[str, torch.Tensor]:
    return load_file(read_json(train_json)["checkpoints"][-1]["path"])


def assert_identical(first: Path, second: Path) -> None:
    """All checkpoints that remain, byte by byte."""
    digests = [[c["sha256"] for c in read_json(path)["checkpoints"]] for path in (first, second)]
    assert digests[0] == digests[1]


def train(arguments: list[str]) -> str:
    """To the end; what was logged."""
    code, errors = finish(start(arguments))
    assert code == 0, errors
    return errors


@pytest.fixture(scope="module")
def unbroken(arguments, tmp_path_factory):
    root = tmp_path_factory.mktemp("unbroken")
    train(arguments(root, training_changes=LONG))
    return root / "train.json"


def wait_for_steps(folder: Path, process: subprocess.Popen, *, last: int = 0) -> None:
    """Until the run writes metrics, of step `last` where that is given (in a folder whose name is
    not known beforehand)."""
    sizes = {p: p.stat().st_size for p in folder.glob("*/metrics.jsonl")}
    wanted = f'"step": {last},' if last else ""
    while process.poll() is None:
        for path in folder.glob("*/metrics.jsonl"):
            if path.stat().st_size > sizes.get(path, 0) and wanted in path.read_text():
                return
        time.sleep(0.01)


def test_kills_leave_no_trace(arguments, tmp_path, unbroken):
    """Dropout on; SIGKILL at random moments, start-up among them."""
    chance = random.Random(time.time_ns())
    command = arguments(tmp_path, training_changes=LONG)
    for number in range(KILLS):
        process = start(command)
        if number % 3 == 2:
            time.sleep(chance.uniform(0.0, 4.0))
        else:
            wait_for_steps(tmp_path / "checkpoints", process)
            time.sleep(chance.uniform(0.0, 0.8))
        process.kill()
        finish(process)
    train(command)
    assert_identical(tmp_path / "train.json", unbroken)
    (metrics,) = (tmp_path / "checkpoints").glob("*/metrics.jsonl")
    steps = [json.loads(line)["step"] for line in read_lines(metrics)]
    assert steps == sorted(set(steps))
    assert steps[-1] == LONG["max_steps"]


def test_sigterm_saves_and_asks_for_another_try(arguments, tmp_path, unbroken):
    command = arguments(tmp_path, training_changes=LONG)
    process = start(command)
    wait_for_steps(tmp_path / "checkpoints", process)
    process.send_signal(signal.SIGTERM)
    code, errors = finish(process)
    assert code == 75, errors
    assert "saved after step" in errors
    assert not (tmp_path / "train.json").exists()
    assert "resuming after step" in train(command)
    assert_identical(tmp_path / "train.json", unbroken)
    (tmp_path / "train.json").unlink()  # as Snakemake does: it is declared again in seconds
    log = train(command)
    assert "trained already" in log
    assert "step 1 of" not in log
    assert_identical(tmp_path / "train.json", unbroken)


@pytest.mark.parametrize("ranks", [1, 2])
def test_sigterm_after_the_last_step_fails_nothing(arguments, tmp_path, ranks):
    """From the moment the last step is reported until the process is gone, without a pause."""
    changes = {"max_steps": 30, "checkpoint_interval_steps": 15}
    process = start([*arguments(tmp_path, training_changes=changes), "--ranks", str(ranks)])
    wait_for_steps(tmp_path / "checkpoints", process, last=30)
    family = [psutil.Process(process.pid)]
    if ranks > 1:
        family += family[0].children()
        assert len(family) == 1 + ranks
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.terminate()
        time.sleep(0.005)
    code, errors = finish(process)
    assert code == 0, errors
    assert len(read_json(tmp_path / "train.json")["checkpoints"]) > 0


MOVES = {
    "model_changes": {"dropout": 0.0, "attention_dropout": 0.0},
    "training_changes": {"max_steps": 30, "checkpoint_interval_steps": 15},
}


@pytest.fixture(scope="module")
def unmoved(arguments, tmp_path_factory):
    root = tmp_path_factory.mktemp("unmoved")
    train(arguments(root, **MOVES))
    return root / "train.json"


@pytest.mark.parametrize(("before", "after"), [((1, 0), (2, 1)), ((2, 2), (1, 0))])
def test_training_moves_to_other_ranks_and_zero_stages(arguments, tmp_path, unmoved, before, after):
    """Without dropout, whose masks belong to a rank, the loss goes on within float noise."""
    command = arguments(tmp_path, **MOVES, keep=1)
    process = start([*command, "--ranks", str(before[0]), "--zero-stage", str(before[1])])
    wait_for_steps(tmp_path / "checkpoints", process)
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 75
    log = train([*command, "--ranks", str(after[0]), "--zero-stage", str(after[1])])
    assert "resuming after step" in log
    wanted = last_weights(unmoved)
    for name, weight in last_weights(tmp_path / "train.json").items():
        error = (weight - wanted[name]).norm() / wanted[name].norm()
        assert error < 1e-4, f"{name}: {error}"
    moved, still = (loss_curve(path) for path in (tmp_path / "train.json", unmoved))
    assert list(moved) == list(still) == list(range(1, 31))
    for step, loss in still.items():
        assert moved[step] == pytest.approx(loss, rel=1e-5), f"step {step}"


def loss_curve(train_json: Path) -> dict[int, float]:
    lines = iter_lines(Path(read_json(train_json)["folder"]) / "metrics.jsonl")
    return {line["step"]: line["loss"] for line in map(json.loads, lines)}


def test_a_dead_rank_ends_the_others(arguments, tmp_path):
    """Within seconds, with an exit code that says so; then training goes on where it was."""
    command = arguments(tmp_path, training_changes=LONG | {"max_steps": 100_000})
    process = start([*command, "--ranks", "2"])
    wait_for_steps(tmp_path / "checkpoints", process)
    ranks = psutil.Process(process.pid).children()
    assert len(ranks) == 2
    ranks[1].kill()
    begun = time.monotonic()
    code, errors = finish(process)
    assert code not in (0, 75), errors
    assert time.monotonic() - begun < 40
    assert not any(rank.is_running() for rank in ranks)
