"""A killed training goes on from its last checkpoint and ends at the same weights, bit for bit."""

import json
import os
import signal
import subprocess
import time

import psutil

TRAIN = "results/tiny/runs/ende_base-seed1/train.json"


def checkpoints(folder):
    return sorted((folder / "results" / "tiny" / "checkpoints").glob("*/step-*"))


def kill_tree(process):
    """SIGKILL to Snakemake and all that it started, as a lost machine would."""
    family = [process, *psutil.Process(process.pid).children(recursive=True)]
    for member in family:
        try:
            os.kill(member.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait(timeout=30)


def weights(folder):
    manifest = json.loads((folder / TRAIN).read_text())
    return [(c["step"], c["sha256"]) for c in manifest["checkpoints"]]


def test_sigkill_then_snakemake_again_equals_an_unbroken_run(fresh, tiny):
    fresh.make("results/tiny/corpora/tiny/buckets", "results/tiny/corpora/tiny/subwords")
    process = subprocess.Popen(
        fresh.command(TRAIN), cwd=fresh.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not checkpoints(fresh.folder):
        assert process.poll() is None, "the training ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    kill_tree(process)
    assert not (fresh.folder / TRAIN).exists()

    locked = fresh.run(TRAIN)
    assert locked.returncode != 0
    assert "--unlock" in locked.stdout + locked.stderr
    fresh.make("--unlock", TRAIN)
    fresh.make(TRAIN)
    log = (fresh.folder / "results/tiny/logs/train/ende_base-seed1.log").read_text()
    assert "resum" in log.lower(), log
    assert weights(fresh.folder) == weights(tiny.folder)
