"""One Slurm for all tests of this folder; copies of the project whose trainings take seconds."""

import importlib.util
import os
import signal
from pathlib import Path

import pytest
import slurm
import yaml

# =required: what can't be tested fails; =skipped: no cluster is started (.ci/run says both in turn)
WANTED = "REATTEND_CLUSTER_TESTS"


def _workspaces():
    """Those of tests/workflow, a folder that pytest imports under a name of its own."""
    path = Path(__file__).parents[1] / "workflow" / "conftest.py"
    spec = importlib.util.spec_from_file_location("workspaces", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A running Slurm of two nodes; stopped, and nothing left of it, at the end."""
    wanted = os.environ.get(WANTED)
    reason = f"{WANTED}=skipped" if wanted == "skipped" else slurm.missing()
    if reason is not None and wanted == "required":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # which cleans up
    with slurm.Slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def project(tmp_path_factory, project_folder):
    """Makes a workspace in which corpora are made and nothing is trained.

    `profile(data)` edits the shipped profile `slurm`, as a user does.
    """
    workspaces = _workspaces()

    def make(name: str, profile=lambda data: None, *, max_steps: int = 480):
        made = workspaces.make_tiny(
            workspaces.Workspace(tmp_path_factory.mktemp(name), project_folder)
        )
        scale = made.folder / "config" / "scales" / "tiny.yaml"
        data = yaml.safe_load(scale.read_text())
        steps = {
            "max_steps": max_steps,  # 480 are some seconds: long enough to be caught twice
            "warmup_steps": 60,
            "checkpoint_interval_steps": 40,
            "dev_interval_steps": 40,
        }
        data["settings"]["base"]["training"] |= steps
        data["settings"]["experiments"]["ende_big"]["training"] |= {
            "max_steps": max_steps,
            "checkpoint_interval_steps": 40,
        }
        scale.write_text(yaml.safe_dump(data))
        path = made.folder / "workflow" / "profiles" / "slurm" / "config.yaml"
        data = yaml.safe_load(path.read_text())
        small_cluster(data)
        profile(data)
        path.write_text(yaml.safe_dump(data))
        return made

    return make


def small_cluster(profile: dict) -> None:
    """What a user of so small a cluster, whose jobs take seconds, sets. No job meets its limit on a
    busy machine, unless `end_soon` moves that."""
    asked = {"mem_mb": "attempt * 1500", "runtime": 30}
    profile["default-resources"] |= asked
    for resources in profile["set-resources"].values():
        resources |= asked
    profile["set-resources"]["train"]["warning_seconds"] = 60
    profile["set-threads"] = dict.fromkeys(profile["set-threads"], 1)
    profile["slurm-init-seconds-before-status-checks"] = 5
    profile["latency-wait"] = 10
