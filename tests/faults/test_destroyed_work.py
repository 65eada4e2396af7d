"""`checkpoints --remove` takes what nothing needs, shows it first, and takes nothing else."""

import fcntl
import os
import shutil
import time

import pytest

from pipeline.__main__ import main
from pipeline.files import write_json
from pipeline.training.run import LOCK

DAY = 86_400
DAYS = {
    "other_seed": 90,
    "other_config": 90,
    "other_scale": 90,
    "at_work": 90,
    "young": 1,
    "old": 40,
}
REMOVE = ["checkpoints", "--remove"]


@pytest.fixture
def project(tmp_path, project_folder, monkeypatch):
    """Checkpoint folders of every kind, each of 3,000 bytes, all unknown to the configuration."""
    shutil.copytree(project_folder / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    checkpoints = tmp_path / "results/demo/checkpoints"
    for name, days in DAYS.items():
        folder = checkpoints / name / "step-00000100"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(bytes(3000))
        (checkpoints / name / LOCK).touch()
        changed = time.time() - days * DAY
        for path in (checkpoints / name, *(checkpoints / name).rglob("*")):
            os.utime(path, (changed, changed))
    for run, fingerprint in (
        ("demo/runs/ende_base-seed77", "other_seed"),
        ("demo/search/search_mine_1-seed1", "other_config"),
        ("mine/runs/mine-seed1", "other_scale"),
    ):
        write_json(tmp_path / "results" / run / "train.json", {"fingerprint": fingerprint})
    return tmp_path


def left(project):
    return {path.name for path in (project / "results/demo/checkpoints").iterdir()}


def lines(text):
    return {line.split("/")[-1]: line for line in text.splitlines()}


def test_a_list_changes_nothing_and_says_size_age_and_reason(project, capsys):
    with open(project / "results/demo/checkpoints/at_work" / LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["checkpoints"]) == 0
    listed = lines(capsys.readouterr().out)
    assert listed.keys() == DAYS.keys()
    assert left(project) == DAYS.keys()
    assert [name for name, line in listed.items() if line.startswith("may go")] == ["old"]
    for name, line in listed.items():
        assert "3,000 bytes" in line
        assert f"{DAYS[name]}.0 days" in line
    assert "results/demo/runs/ende_base-seed77/train.json" in listed["other_seed"]
    assert "results/demo/search/search_mine_1-seed1/train.json" in listed["other_config"]
    assert "results/mine/runs/mine-seed1/train.json" in listed["other_scale"]
    assert "at work" in listed["at_work"]
    assert "30 days" in listed["young"]


def test_only_what_nothing_needs_is_removed_and_on_yes_alone(project, capsys):
    with open(project / "results/demo/checkpoints/at_work" / LOCK) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(REMOVE) == 0
        said = capsys.readouterr()
        assert lines(said.out).keys() == {"old"}
        assert "nothing was removed" in said.err
        assert left(project) == DAYS.keys()
        assert main([*REMOVE, "--yes"]) == 0
        assert left(project) == DAYS.keys() - {"old"}
        assert main([*REMOVE, "--yes", "--older-than-days", "0"]) == 0
        assert left(project) == DAYS.keys() - {"old", "young"}
    assert main([*REMOVE, "--yes"]) == 0  # and once its lock is free
    assert left(project) == {"other_seed", "other_config", "other_scale"}


def test_a_manifest_behind_a_link_counts(project):
    shutil.move(project / "results/mine/runs", project / "elsewhere")
    (project / "results/mine/runs").symlink_to(project / "elsewhere")
    assert main([*REMOVE, "--yes", "--older-than-days", "0"]) == 0
    assert "other_scale" in left(project)


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"fingerprint": null}'])
def test_a_manifest_that_cannot_be_read_stops_before_anything_is_removed(project, capsys, content):
    path = project / "results/demo/runs/ende_base-seed77/train.json"
    path.write_text(content)
    assert main([*REMOVE, "--yes"]) == 1
    said = capsys.readouterr().err
    assert "results/demo/runs/ende_base-seed77/train.json" in said
    assert said.count("\n") == 1
    assert left(project) == DAYS.keys()


def test_nothing_is_removed_beside_a_snakemake(project, capsys):
    (project / ".snakemake/locks").mkdir(parents=True)
    (project / ".snakemake/locks/0.output.lock").touch()
    assert main([*REMOVE, "--yes"]) == 1
    assert "snakemake --unlock" in capsys.readouterr().err
    assert left(project) == DAYS.keys()


@pytest.mark.parametrize("days", ["-1", "nan", "1e9", "x"])
def test_an_age_that_makes_no_sense_is_refused(project, days):
    with pytest.raises(SystemExit):
        main([*REMOVE, "--yes", "--older-than-days", days])
    assert left(project) == DAYS.keys()
