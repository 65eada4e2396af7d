"""What the package says it needs is what it imports, what is pinned, and what environments hold."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def project(project_folder):
    """The table [project] of pyproject.toml."""
    return tomllib.loads((project_folder / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def pins(project_folder):
    """Releases by the names of packages, as constraints.txt pins them."""
    lines = (project_folder / "constraints.txt").read_text().split("\n")
    entries = [line.split("==") for line in lines if line and not line.startswith("#")]
    names = [canonicalize_name(name) for name, _ in entries]
    assert len(set(names)) == len(names)
    return {name: release for name, (_, release) in zip(names, entries, strict=True)}


def needed(project, *extras):
    """Requirements of the package with these extras, and with those that they take over."""
    found = [Requirement(text) for text in project["dependencies"]]
    for extra in extras:
        own = [Requirement(text) for text in project["optional-dependencies"][extra]]
        found += [each for each in own if each.name != project["name"]]
        further = [name for each in own if each.name == project["name"] for name in each.extras]
        found += needed(project, *further) if further else []
    return found


def imported_by(folder):
    """Names of the top-level modules that files below a folder import, wherever in the file."""
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    return names


def test_pins_are_releases_that_the_package_allows(project, pins):
    for requirement in needed(project, "test", "bench", "tensorboard"):
        assert requirement.specifier, requirement
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_environments_hold_what_is_pinned(project, project_folder, pins):
    own = {canonicalize_name(each.name) for each in needed(project)}
    for path in sorted((project_folder / "envs").glob("*.yaml")):
        dependencies = yaml.safe_load(path.read_text())["dependencies"]
        (packages,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
        for name, release in (package.split("==") for package in packages):
            assert canonicalize_name(name) in own, path
            assert pins[canonicalize_name(name)] == release, path
        (python,) = [d for d in dependencies if isinstance(d, str) and d.startswith("python=")]
        assert python.removeprefix("python=") in supported(project)


def supported(project):
    """Versions of Python that the classifiers name."""
    found = [re.fullmatch(r".*:: (3\.\d+)", each) for each in project["classifiers"]]
    return [match[1] for match in found if match]


def test_one_range_of_pythons(project, project_folder):
    allowed = SpecifierSet(project["requires-python"])
    names = [f"3.{minor}" for minor in range(30) if allowed.contains(f"3.{minor}.9")]
    assert names == supported(project)
    first, last = names[0], names[-1]
    tools = tomllib.loads((project_folder / "pyproject.toml").read_text())["tool"]
    assert tools["ruff"]["target-version"] == "py" + first.replace(".", "")
    assert tools["mypy"]["python_version"] == first
    for path in ("README.md", "Makefile", "constraints.txt", "CHANGELOG.md"):
        assert f"Python {first} to {last}" in (project_folder / path).read_text(), path


def test_one_version(project, project_folder):
    citation = yaml.safe_load((project_folder / "CITATION.cff").read_text())
    changes = (project_folder / "CHANGELOG.md").read_text()
    assert str(citation["version"]) == project["version"]
    assert re.search(r"^## ([\d.]+)", changes, re.M)[1] == project["version"]


@pytest.mark.parametrize(
    ("folder", "extras"), [("pipeline", ()), ("tests", ("test",)), ("bench", ("bench",))]
)
def test_what_is_imported_is_required(project, project_folder, folder, extras):
    foreign = imported_by(project_folder / folder) - set(sys.stdlib_module_names)
    owners = packages_distributions()
    required = {canonicalize_name(each.name) for each in needed(project, *extras)}
    # asked for where they are used, with an error that names them
    optional = {"transformers", "ctranslate2", "tensorboard"}
    own = {"pipeline", "bench"} | {path.stem for path in (project_folder / "tests").rglob("*.py")}
    for module in sorted(foreign - own - optional):
        candidates = {canonicalize_name(owner) for owner in owners[module]}
        assert candidates & required, module


@pytest.fixture(scope="module")
def installed(tmp_path_factory, project_folder):
    """A folder into which a wheel of the package was installed, without what it needs."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(project_folder / name, source)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(project_folder / "pipeline", source / "pipeline", ignore=ignore)
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, capture_output=True)
    return target


def test_every_file_of_the_package_is_installed(installed, project_folder):
    files = {
        str(path.relative_to(project_folder))
        for path in (project_folder / "pipeline").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    found = {str(path.relative_to(installed)) for path in (installed / "pipeline").rglob("*")}
    assert files <= found


def test_the_installed_command_translates_from_any_folder(installed, toy_model_folder, tmp_path):
    def reattend(*arguments, given=b""):
        return subprocess.run(
            [sys.executable, str(installed / "bin" / "reattend"), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            input=given,
            capture_output=True,
        )

    assert reattend("--help").stdout.startswith(b"usage: reattend ")
    assert reattend("translate", "--help").stdout.startswith(b"usage: reattend translate ")
    result = reattend("translate", str(toy_model_folder), given=b"the red fox\n\na dog\n")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.count(b"\n") == 3
    wrong = reattend("translate", "nothing", given=b"the red fox\n")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(b"translate: no model folder")
    assert wrong.stderr.count(b"\n") == 1
