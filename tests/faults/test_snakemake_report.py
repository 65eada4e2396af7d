"""`snakemake --report` needs nothing that the requirements don't bring."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

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


def plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def brought_along(project: Path) -> set[str]:
    """Names of the package and all distributions that it brings, its own extras left out."""
    own = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    found, waiting = {(plain_name(own["name"]), None)}, list(map(Requirement, own["dependencies"]))
    while waiting:
        one = waiting.pop()
        key = (plain_name(one.name), frozenset(one.extras))
        if key in found:
            continue
        found.add(key)
        try:
            needed = map(Requirement, metadata.requires(one.name) or [])
        except metadata.PackageNotFoundError:  # of another platform
            continue
        for other in needed:
            extras = one.extras or {""}
            if not other.marker or any(other.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(other)
    return {name for name, _ in found}


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
