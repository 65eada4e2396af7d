"""The house is in order: style, import rules, Snakemake's lint, and quick dry runs."""

import re
import subprocess
import sys
import time

import pytest


def output_of(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "ruff", "check", "."),
        ("-m", "ruff", "format", "--check", "."),
        ("-c", "from importlinter.cli import lint_imports_command as c; c()"),
        ("-m", "snakefmt", "--check", "Snakefile", "workflow"),
    ],
    ids=["ruff", "format", "imports", "snakefmt"],
)
def test_style(project_folder, command):
    output_of(sys.executable, *command, cwd=project_folder)


def test_snakemake_lint(plain):
    result = plain.run("--lint")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("scale", ["demo", "lab", "paper"])
def test_dry_run_of_every_scale_needs_nothing_downloaded(plain, scale):
    start = time.monotonic()
    planned = plain.planned("--config", f"scale={scale}")
    assert planned["train"] == 24
    assert time.monotonic() - start < 30  # a hang, not a speed: that is measured in bench/
    assert not (plain.folder / "results").exists()


@pytest.mark.parametrize("target", ["table1", "table2", "table3", "table4", "figures", "enfr_big"])
def test_targets_by_name(plain, target):
    assert plain.planned(target)


def test_one_stage_of_one_experiment(plain):
    planned = plain.planned("train_table3_c_n2")
    assert planned["train"] == 1
    assert "decode" not in planned


def test_bad_config_stops_before_any_job_and_names_the_key(fresh):
    fresh.edit("table3_c_n2", model={"n_layer": 2})
    result = fresh.run()
    output = result.stdout + result.stderr
    assert result.returncode != 0
    assert re.search(r"table3_c_n2\.yaml:\d+: model\.n_layer: unknown key; did you mean", output)
    assert not re.search(r"Traceback|WorkflowError|common\.smk", output)
    assert not (fresh.folder / "results").exists()


def test_snakefile_is_short_and_functions_and_rules_have_files_of_their_own(project_folder):
    assert (project_folder / "Snakefile").read_text().count("\n") <= 40
    for path in (project_folder / "workflow" / "rules").glob("*.smk"):
        wrong = r"^\s*rule\b" if path.name.endswith("common.smk") else r"^\s*def "
        assert not re.search(wrong, path.read_text(), re.M), path


def test_a_rule_its_step_log_and_benchmark_share_one_name(project_folder):
    for path in (project_folder / "workflow" / "rules").glob("*.smk"):
        for block in path.read_text().split("\nrule ")[1:]:
            name = block.split(":")[0]
            for module in re.findall(r"pipeline\.steps\.(\w+)", block):
                assert module == name, path
                assert f"<logs>/{name}/" in block
                assert f"<benchmarks>/{name}/" in block
                assert (project_folder / "pipeline" / "steps" / f"{module}.py").exists()
