"""Each file of envs/ holds what its rules import, and with --sdm conda its Python runs them."""

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from linked_environment import LOG, listed

ENVIRONMENTS = ("text", "training", "results")
TARGETS = ("results/tiny/corpora/tiny/text", "results/tiny/tables/table1.md")
CONDA = """#!{python}
import json, subprocess, sys
arguments = sys.argv[1:]
if arguments == ["info", "--json"]:
    print(json.dumps({{"conda_prefix": {base!r}, "platform": "linux-64"}}))
elif arguments == ["--version"]:
    print("conda 99.9.9")
elif arguments[:1] == ["config"]:
    print(json.dumps({{"get": {{"channel_priority": "strict"}}}}))
elif arguments[:2] == ["env", "create"]:
    named = {{
        option: next(
            value.partition("=")[2] or arguments[number + 1]
            for number, value in enumerate(arguments)
            if value.split("=")[0] == f"--{{option}}"
        ).strip("'")
        for option in ("file", "prefix")
    }}
    sys.exit(subprocess.call([{python!r}, {maker!r}, named["file"], named["prefix"]]))
elif arguments[:1] != ["clean"]:
    sys.exit(f"not expected: {{arguments}}")
"""
ACTIVATE = """# As conda does where another environment stands before its own in PATH.
export CONDA_PREFIX="$1"
export PATH="$PATH:$1/bin"
"""


def steps_of_rules(project):
    """Environment: the modules of steps that its rules run."""
    found = {}
    for path in (project / "workflow" / "rules").glob("*.smk"):
        for block in re.split(r"\n(?=(?:use )?rule )", path.read_text()):
            for step in re.findall(r"-m (pipeline\.steps\.\w+)", block):
                (name,) = re.findall(r'environment\("(\w+)"\)', block)
                found.setdefault(name, set()).add(step)
    return found


def imports(project, module, found):
    """Adds what a module of the package imports, early or late, to `found`; and theirs."""
    path = project.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if module in found or not path.is_file():
        return
    found[module] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found[module] |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found[module] |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    for name in found[module]:
        imports(project, name, found)


def test_every_step_runs_in_an_environment(project_folder):
    steps = steps_of_rules(project_folder)
    assert steps.keys() == set(ENVIRONMENTS)
    files = {f"pipeline.steps.{p.stem}" for p in project_folder.glob("pipeline/steps/[a-z]*.py")}
    assert set().union(*steps.values()) == files


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_lists_all_that_its_rules_import(project_folder, name):
    packages = {package.lower() for package in listed(project_folder / "envs" / f"{name}.yaml")}
    found = {}
    for step in steps_of_rules(project_folder)[name]:
        imports(project_folder, step, found)
    wanted = {name.split(".")[0] for names in found.values() for name in names}
    wanted -= {*sys.stdlib_module_names, "pipeline"}
    assert len(wanted) > 4
    for module in wanted:
        assert packages & {p.lower() for p in packages_distributions()[module]}, module


@pytest.mark.timeout(1200)
def test_with_sdm_conda_rules_run_in_environments_of_their_own(fresh, tmp_path):
    """Though the Python of Snakemake stands before them in PATH."""
    base = tmp_path / "base"
    (base / "bin").mkdir(parents=True)
    maker = Path(__file__).with_name("linked_environment.py")
    code = CONDA.format(python=sys.executable, base=str(base), maker=str(maker))
    (base / "bin" / "conda").write_text(code)
    (base / "bin" / "conda").chmod(0o755)
    (base / "bin" / "activate").write_text(ACTIVATE)
    path = f"{Path(sys.executable).parent}:{base / 'bin'}:{os.environ['PATH']}"
    result = subprocess.run(
        fresh.command(*TARGETS, "--sdm", "conda", "--conda-prefix", str(tmp_path / "made")),
        cwd=fresh.folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=1000,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    ran = (tmp_path / "made" / LOG).read_text().split()
    assert set(ran) == {path.name for path in (tmp_path / "made").iterdir() if path.is_dir()}
    assert len(set(ran)) == len(ENVIRONMENTS)
    assert len(ran) == 4  # generate, prepare, layer_times, table1
