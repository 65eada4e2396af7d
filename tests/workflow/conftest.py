"""A copy of the project in a folder of its own, with a scale so small that it runs in seconds."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

TINY = {
    "title": "for tests",
    "tasks": {"en-de": "tiny"},
    "divide": {
        "model": {"n_layers": 2, "d_model": 16, "d_ff": 16, "d_k": 16, "d_v": 16},
    },
    "settings": {
        "base": {
            "training": {
                "max_steps": 12,
                "warmup_steps": 6,
                "tokens_per_step": 400,
                "checkpoint_interval_steps": 3,
                "dev_interval_steps": 6,
            },
            "decoding": {"n_average": 2, "max_extra_tokens": 5},
        },
        "experiments": {
            "ende_big": {
                "training": {"max_steps": 12, "checkpoint_interval_steps": 3},
                "decoding": {"n_average": 2},
            }
        },
    },
}


class Workspace:
    """A project folder in which Snakemake runs, as a user's clone is."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.folder = folder
        for name in ("pipeline", "workflow", "config", "envs", "docs"):
            shutil.copytree(
                project / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(project / "Snakefile", folder)
        (folder / "profiles").symlink_to("workflow/profiles")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]

    def run(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run Snakemake; the caller judges its exit code."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def make(self, *targets: str) -> str:
        """Run Snakemake to the end; return what it printed."""
        result = self.run(*targets)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout + result.stderr

    def planned(self, *targets: str) -> Counter[str]:
        """How often each rule would run, by a dry run."""
        result = self.run("-n", *targets)
        output = result.stdout + result.stderr
        assert result.returncode == 0, output
        if "Nothing to be done" in output:
            return Counter()
        block = output.split("Job stats:")[1].split("total")[0]
        return Counter({rule: int(n) for rule, n in re.findall(r"^(\w+)\s+(\d+)$", block, re.M)})

    def edit(self, name: str, **sections) -> None:
        """Change keys of sections of an experiment file."""
        path = self.folder / "config" / "experiments" / f"{name}.yaml"
        data = yaml.safe_load(path.read_text())
        for section, values in sections.items():
            data.setdefault(section, {}).update(values)
        path.write_text(yaml.safe_dump(data))


def make_tiny(workspace: Workspace) -> Workspace:
    """Give a workspace the scale `tiny`: English-German alone, 300 sentences of the grammar."""
    config = workspace.folder / "config"
    corpus = yaml.safe_load((config / "corpora" / "grammar_ende.yaml").read_text())
    corpus["source"]["sizes"] = {"train": 300, "dev": 20, "test": 20}
    corpus["subwords"]["vocab_size"] = 300
    (config / "corpora" / "tiny.yaml").write_text(yaml.safe_dump(corpus))
    (config / "scales" / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    settings = {"scale": "tiny", "results": ["ende_base"], "seeds": [1], "data_root": None}
    (config / "config.yaml").write_text(yaml.safe_dump(settings))
    return workspace


@pytest.fixture(scope="session")
def add_treebank() -> Callable[..., dict]:
    """Gives the scale `tiny` of a configuration the treebank `tiny_trees`; returns the scale."""

    def add(config: Path, *, train: int, held_out: int, seed: int, beam_size: int) -> dict:
        trees = yaml.safe_load((config / "corpora" / "grammar_trees.yaml").read_text())
        trees["source"]["sizes"] = {"train": train, "dev": held_out, "test": held_out}
        trees["source"]["seed"] = seed
        trees["subwords"]["vocab_size"] = 340
        (config / "corpora" / "tiny_trees.yaml").write_text(yaml.safe_dump(trees))
        scale = yaml.safe_load((config / "scales" / "tiny.yaml").read_text())
        scale["tasks"]["parsing"] = "tiny_trees"
        decoding = {"max_extra_tokens": 60, "constrained": True, "beam_size": beam_size}
        scale["settings"]["tasks"] = {"parsing": {"decoding": decoding}}
        return scale

    return add


@pytest.fixture(scope="session")
def make_workspace(project_folder) -> Callable[[Path], Workspace]:
    """Makes a workspace of the scale `tiny` in a folder."""
    return lambda folder: make_tiny(Workspace(folder, project_folder))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, project_folder) -> Workspace:
    """A workspace in which `ende_base` was made; tests of a module share it in order."""
    workspace = make_tiny(Workspace(tmp_path_factory.mktemp("tiny"), project_folder))
    workspace.make()
    return workspace


@pytest.fixture(scope="module")
def bare(tmp_path_factory, project_folder) -> Workspace:
    """As `fresh`, for all tests of a module."""
    return make_tiny(Workspace(tmp_path_factory.mktemp("bare"), project_folder))


@pytest.fixture
def fresh(tmp_path, project_folder) -> Workspace:
    """A workspace of the scale `tiny` in which nothing was made."""
    return make_tiny(Workspace(tmp_path, project_folder))


@pytest.fixture(scope="session")
def plain(tmp_path_factory, project_folder) -> Workspace:
    """A workspace with the project's own configuration, in which nothing is made."""
    return Workspace(tmp_path_factory.mktemp("plain"), project_folder)
