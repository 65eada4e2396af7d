"""`snakemake --report` needs nothing that the requirements don't bring."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

# Stands for an environment in which the requirements alone are installed.
HIDES = """
import sys
HIDDEN = frozenset({hidden!r})
class Hider:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"hidden, not in the requirements: {{name}}", name=name)
sys.meta_path.insert(0, Hider())
"""


def plain_name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def required(project: Path) -> list[str]:
    """What a user installs: the package's dependencies, or the file of requirements."""
    listed = tomllib.loads((project / "pyproject.toml").read_text())["project"].get("dependencies")
    if listed is None:
        lines = (project / "requirements.txt").read_text().splitlines()
        listed = [line for line in lines if line and not line.startswith("#")]
    return listed


def brought_along(project: Path) -> set[str]:
    """Names of all distributions that the requirements bring, extras left out."""
    found, waiting = set(), [plain_name(line) for line in required(project)]
    while waiting:
        if (name := waiting.pop()) in found:
            continue
        found.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another platform
            continue
        waiting += [plain_name(line) for line in needed if "extra ==" not in line]
    return found


def test_the_report_is_made_by_what_the_requirements_bring(
    with_layer_times, tmp_path, project_folder
):
    brought = brought_along(project_folder)
    hidden = [
        module
        for module, names in metadata.packages_distributions().items()
        if not brought & {plain_name(name) for name in names}
    ]
    assert "pytest" in hidden
    assert "snakemake" not in hidden
    (tmp_path / "sitecustomize.py").write_text(HIDES.format(hidden=hidden))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def call(*arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=with_layer_times, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout + result.stderr

    table = "results/demo/tables/table1.html"
    call("snakemake", "--cores", "1", table)
    said = call("snakemake", "--cores", "1", table, "--report", "report.html")
    assert "Report created" in said
    page = (with_layer_times / "report.html").read_text()
    assert "table1.html" in page
    assert ".source .k" in page  # the colours of the rules' code
