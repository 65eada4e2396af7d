"""Where Snakemake is started from, and where code and data lie, changes nothing."""

import json
import os
import shutil
import subprocess

import pytest
import yaml

from pipeline.config.corpus import RawCorpus
from pipeline.corpora.grammar import write_corpus

NAMES = ("code {corpus} 'é' \"q\"", "work {run} {} 'ß' & $HOME", "data {wildcards} '~' #")
TARGETS = ("results/tiny/corpora/tiny/card", "ende_base", "results/tiny/tables/table2.md")


@pytest.fixture(scope="module")
def places(make_workspace, tmp_path_factory):
    """Code, working folder and data in folders of odd names; the corpus is read from files."""
    root = tmp_path_factory.mktemp("places")
    code, work, data = (root / name for name in NAMES)
    for folder in (code, work, data / "mine"):
        folder.mkdir(parents=True)
    workspace = make_workspace(code)
    path = code / "config" / "corpora" / "tiny.yaml"
    corpus = yaml.safe_load(path.read_text())
    raw = {key: corpus[key] for key in ("kind", "languages", "source")} | {"name": "tiny"}
    write_corpus(RawCorpus.model_validate(raw), data / "mine")
    sides = ("en", "de")
    corpus["source"] = {
        "kind": "files",
        "downloads": {
            f"{split}_{side}": {"local": f"mine/{split}.{side}"}
            for split in ("train", "dev", "test")
            for side in sides
        },
        "splits": {
            split: [{"name": "mine", "files": {side: f"{split}_{side}" for side in sides}}]
            for split in ("train", "dev", "test")
        },
    }
    path.write_text(yaml.safe_dump(corpus))
    return workspace, work, data


def run(workspace, work, *arguments, **environment):
    command = workspace.command("-s", str(workspace.folder / "Snakefile"), *arguments)
    result = subprocess.run(
        command,
        cwd=work,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return result.returncode, result.stdout + result.stderr


def files_below(folder):
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_code_data_and_working_folder_lie_anywhere(places):
    """And nothing is written into the code's folder, which may be read-only."""
    workspace, work, data = places
    before = files_below(workspace.folder)
    settings = ("--config", f"data_root={data}")
    code, said = run(workspace, work, *TARGETS, *settings, PYTHONSAFEPATH="1")
    assert code == 0, said
    assert files_below(workspace.folder) == before
    assert (work / TARGETS[0] / "card.md").exists()
    manifest = json.loads((work / "results/tiny/corpora/tiny/sources.json").read_text())
    path = manifest["splits"]["train"][0]["sides"]["en"]["path"]
    assert path == str(data / "mine" / "train.en")
    code, said = run(workspace, work, "-n", *TARGETS, *settings)
    assert "Nothing to be done" in said


def test_the_working_folders_own_config_comes_first(places, tmp_path):
    workspace, _, data = places
    shutil.copytree(workspace.folder / "config", tmp_path / "config")
    (tmp_path / "config" / "scales" / "tiny.yaml").rename(tmp_path / "config/scales/other.yaml")
    settings = ("--config", f"data_root={data}", "scale=other")
    code, said = run(workspace, tmp_path, "-n", "-d", str(tmp_path), "ende_base", *settings)
    assert code == 0, said
    assert "results/other/runs/ende_base-seed1/train.json" in said
    assert run(workspace, places[1], "-n", "ende_base", *settings)[0] == 1


def test_the_folder_of_d_holds_the_results(places, tmp_path):
    workspace, work, data = places
    settings = ("--config", f"data_root={data}")
    target = "results/tiny/corpora/tiny/text"
    code, said = run(workspace, work, "-d", str(tmp_path / "new"), target, *settings)
    assert code == 0, said
    assert (tmp_path / "new" / target / "train.de").exists()


def test_it_can_be_a_module_of_another_workflow(places, tmp_path):
    workspace, _, data = places
    snakefile = f"""
module reattend:
    snakefile: {str(workspace.folder / "Snakefile")!r}

use rule * from reattend
"""
    (tmp_path / "Snakefile").write_text(snakefile)
    target = "results/tiny/corpora/tiny/text"
    result = subprocess.run(
        workspace.command(target, "--config", f"data_root={data}"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / target / "train.de").exists()


def test_a_folder_in_which_snakemake_cannot_lock_is_named(places, tmp_path):
    workspace, _, data = places
    work = tmp_path / "{0}"
    work.mkdir()
    code, said = run(workspace, work, "-n", "--config", f"data_root={data}")
    assert code == 1
    assert f"start it in another folder: {work}" in said
    assert "Traceback" not in said
