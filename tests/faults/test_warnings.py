"""What a step warns of stands on the terminal once, and in a list at the end of the run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.results.published import load_published, rows_without_experiment

TABLES = ("table2", "table3", "table4")
WARNS = 'from pipeline.progress import warn; warn("Größe: 3 of 9")'


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip


@pytest.fixture
def with_treeless_text(with_layer_times) -> Path:
    """A corpus whose preparation warns: published lines that are not there."""
    folder = with_layer_times
    path = folder / "data" / "text"
    path.mkdir(parents=True)
    for side in ("en", "de"):
        (path / f"all.{side}").write_text("".join(f"a {n} {side}\n" for n in range(30)))
    part = {"files": {"en": "en", "de": "de"}, "name": "all"}
    corpus = yaml.safe_load((folder / "config/corpora/grammar_ende.yaml").read_text())
    corpus["source"] = {
        "kind": "files",
        "downloads": {side: {"local": f"text/all.{side}"} for side in ("en", "de")},
        "splits": {
            "train": [part | {"lines": 40}],
            "dev": [part],
            "test": [part],
        },
    }
    (folder / "config/corpora/warns.yaml").write_text(yaml.safe_dump(corpus))
    scale = yaml.safe_load((folder / "config/scales/demo.yaml").read_text())
    scale["tasks"]["en-de"] = "warns"
    (folder / "config/scales/demo.yaml").write_text(yaml.safe_dump(scale))
    return folder


def test_once_and_in_the_list(with_treeless_text):
    target = "results/demo/corpora/warns/text"
    data = ("--config", f"data_root={with_treeless_text / 'data'}")
    result = run(with_treeless_text, target, *data)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    live, mark, listed = said.partition("warnings of this run:\n")
    assert mark
    (warning,) = re.findall(r"^warning: (.*40.*)$", live, re.M)
    assert f"  prepare/warns: {warning}\n" in listed
    assert said.count(warning) == 2
    again = run(with_treeless_text, target, *data)
    assert "warnings of this run" not in again.stdout + again.stderr  # nothing ran


def test_a_step_writes_where_the_shell_kept_the_terminal(tmp_path, project_folder):
    script = project_folder / "workflow" / "show_error.sh"
    shell = f". {script}; {sys.executable} -c '{WARNS}' 2> {tmp_path / 'log'}"
    result = subprocess.run(
        ["bash", "-c", shell], cwd=project_folder, capture_output=True, text=True
    )
    assert result.stderr == "warning: Größe: 3 of 9\n"
    assert result.stdout == ""
    assert re.fullmatch(r"\d\d:\d\d:\d\d warning: .*: 3 of 9\n", (tmp_path / "log").read_text())


def test_a_child_without_it_writes_nowhere_else(tmp_path, project_folder):
    """A process that its step started has other files under that number."""
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WARNS!r}])"
    opens = f"f = open({str(tmp_path / 'other')!r}, 'w'); {inner}"
    (tmp_path / "outer.py").write_text(opens)
    script = project_folder / "workflow" / "show_error.sh"
    shell = f". {script}; {sys.executable} {tmp_path / 'outer.py'} 2> {tmp_path / 'log'}"
    result = subprocess.run(
        ["bash", "-c", shell],
        cwd=project_folder,
        env={"PYTHONPATH": str(project_folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "warning: " in (tmp_path / "log").read_text()
    assert (tmp_path / "other").read_text() == ""


def tables(project: Path) -> dict:
    return {name: load_published(project / "config" / "paper" / f"{name}.yaml") for name in TABLES}


def shown(project: Path) -> dict[str, tuple[str, ...]]:
    from pipeline.config.loading import load_project

    return load_project(project / "config").tables_of


def test_every_row_of_ours_has_its_experiment(project_folder):
    assert rows_without_experiment(tables(project_folder), shown(project_folder)) == {}


@pytest.mark.parametrize("name", ["ende_big", "table3_a_h1", "table3_b_dk16", "parsing_semi"])
def test_the_row_of_an_experiment_that_was_removed_is_named(name, project_folder):
    without = {key: value for key, value in shown(project_folder).items() if key != name}
    found = rows_without_experiment(tables(project_folder), without)
    assert list(found) == [name]
    assert f"no such file: config/experiments/{name}.yaml" in found[name]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("ende_bsae", "ende_base"), ("ende_bas", "ende_base"), ("table3_a_hh16", "table3_a_h16")],
)
def test_a_slip_is_an_error_that_names_what_was_meant(wrong, right, project_folder):
    found = {}
    for name, table in tables(project_folder).items():
        text = table.model_dump_json().replace(f'"{right}"', f'"{wrong}"')
        found[name] = type(table).model_validate_json(text)
    with pytest.raises(ValueError, match=rf"{wrong}\.yaml; did you mean {right}, which has no row"):
        rows_without_experiment(found, shown(project_folder))


def test_a_variation_of_another_number_is_no_slip(project_folder):
    """h1 was removed and h2 is the user's own."""
    other = shown(project_folder)
    other["table3_a_h2"] = other.pop("table3_a_h1")
    found = rows_without_experiment(tables(project_folder), other)
    assert list(found) == ["table3_a_h1"]


def test_snakemake_says_so(with_layer_times):
    experiment = with_layer_times / "config" / "experiments" / "table3_d_dropout0.yaml"
    experiment.unlink()
    result = run(with_layer_times, "results/demo/tables/table1.html")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("no such file: config/experiments/table3_d_dropout0.yaml") == 2
    paper = with_layer_times / "config" / "paper" / "table2.yaml"
    paper.write_text(paper.read_text().replace("experiment: ende_base", "experiment: ende_bsae"))
    result = run(with_layer_times, "-n")
    assert result.returncode == 1
    assert "did you mean ende_base, which has no row?" in result.stderr
