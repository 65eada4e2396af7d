"""What is told after a crash, and whose checkpoints are whose; nothing is changed by asking."""

import base64
import shutil

import pytest

from pipeline.__main__ import main
from pipeline.commands import rescue
from pipeline.files import write_json

FOLDER = "results/demo/checkpoints/0123456789abcdef"
HALF_MADE = "results/demo/corpora/grammar_ende/encoded"


@pytest.fixture
def crashed(tmp_path, project_folder, monkeypatch):
    """A project folder with a lock, a half-made output and a damaged checkpoint."""
    shutil.copytree(project_folder / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")  # no Slurm
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text(HALF_MADE)
    marker = tmp_path / ".snakemake" / "incomplete"
    marker.mkdir()
    for path in (HALF_MADE, "results/demo/never_begun"):
        (marker / base64.urlsafe_b64encode(path.encode()).decode()).write_text("{}")
    (tmp_path / HALF_MADE).mkdir(parents=True)
    (tmp_path / FOLDER).mkdir(parents=True)
    sections = {"training": {"max_steps": 900}}
    for step, files in ((100, {}), (200, {"model.safetensors": "not there"})):
        state = {"step": step, "files": files, "sections": sections}
        (tmp_path / FOLDER / f"step-{step:08d}").mkdir()
        write_json(tmp_path / FOLDER / f"step-{step:08d}" / "state.json", state)
    return tmp_path


def files(folder):
    return sorted(str(path) for path in folder.rglob("*"))


def test_rescue_tells_the_state_and_the_commands(crashed, capsys, monkeypatch):
    before = files(crashed)
    monkeypatch.setattr(rescue, "snakemakes", lambda: iter(()))
    assert main(["rescue", "--no-dry-run", "--", "table2", "--config", "scale=demo"]) == 0
    told = capsys.readouterr().out
    assert "lock:       held" in told
    assert "slurm:      not on this machine" in told
    assert f"    {HALF_MADE}\n" in told
    assert "never_begun" not in told
    assert "unknown" in told
    assert "goes on after step 100 of 900; damaged, passed over: step 200" in told
    commands = told.split("next:\n")[1].splitlines()
    assert commands == [
        "    snakemake --unlock",
        "    snakemake --cores all table2 --config scale=demo",
    ]
    assert files(crashed) == before


def test_rescue_sends_nobody_to_scancel_beside_a_snakemake_at_work(crashed, capsys, monkeypatch):
    monkeypatch.setattr(rescue, "snakemakes", lambda: iter((4711,)))
    queued = rescue.slurm.QueuedJob("7", "RUNNING", "rule_train", str(crashed), "1:00", "node1")
    monkeypatch.setattr(rescue.slurm, "jobs_of", lambda folder: [queued])
    assert main(["rescue", "--no-dry-run"]) == 0
    commands = capsys.readouterr().out.split("next:\n")[1]
    assert "kill -INT 4711" in commands
    assert "scancel" not in commands


def test_checkpoints_are_listed_while_no_corpus_is_encoded(crashed, capsys):
    before = files(crashed)
    assert main(["checkpoints"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("stays   unknown")
    assert FOLDER in said.out
    assert HALF_MADE in said.err
    assert main(["checkpoints", "--remove", "--yes"]) == 0
    assert "nothing may go" in capsys.readouterr().err
    assert files(crashed) == before
