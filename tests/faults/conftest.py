"""A copy of the project in which Table 1 can be made without a training."""

import json
import shutil
from pathlib import Path

import pytest

from pipeline.steps.layer_times import main as time_layers

SMALL = (
    *("--lengths", "8", "16", "32", "--widths", "8", "16", "32", "--seconds-each", "0.001"),
    *("--fixed-length", "16", "--fixed-width", "16", "--neighbourhood", "4"),
)


@pytest.fixture(scope="session")
def layer_times(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("times") / "layer_times.json"
    time_layers([*SMALL, "--output", str(path)])
    assert json.loads(path.read_text())["measurements"]
    return path


@pytest.fixture
def with_layer_times(tmp_path, project_folder, layer_times) -> Path:
    """What Table 1 is made of lies there: `results/demo/tables/table1.html` takes seconds."""
    folder = tmp_path / "reattend"
    for name in ("pipeline", "workflow", "config", "envs", "docs"):
        shutil.copytree(
            project_folder / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(project_folder / "Snakefile", folder)
    (folder / "profiles").symlink_to("workflow/profiles")
    times = folder / "results" / "demo" / layer_times.name
    times.parent.mkdir(parents=True)
    shutil.copy(layer_times, times)
    return folder
