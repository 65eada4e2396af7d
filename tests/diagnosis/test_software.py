"""Python, packages, programs and the compiler: what is missing is named, with the fix."""

import ast
import os
import sys
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pipeline.diagnosis import software

versions = st.tuples(st.just(3), st.integers(9, 15), st.integers(0, 3))
clauses = st.tuples(
    st.sampled_from([">=", "<=", "<", ">", "==", "!="]),
    st.tuples(st.just(3), st.integers(9, 15)) | versions,
)


@given(versions, st.lists(clauses, min_size=1, max_size=3))
def test_specifiers_mean_what_pip_means(version, parts):
    text = ",".join(operator + ".".join(map(str, bound)) for operator, bound in parts)
    expected = SpecifierSet(text).contains(Version(".".join(map(str, version))))
    assert software.allows(text, version) is expected


def test_this_projects_specifier_is_read_and_another_operator_refused():
    stated = software.supported_pythons()
    assert stated
    assert software.allows(stated, sys.version_info[:3])
    with pytest.raises(ValueError, match=r"~=3\.11"):
        software.allows("~=3.11", (3, 11, 0))


def test_a_wrong_python_is_an_error_with_a_fix(monkeypatch):
    assert software.python()[0].state == "ok"
    monkeypatch.setattr(software.sys, "version_info", (3, 9, 1, "final", 0))
    (finding,) = software.python()
    assert finding.state == "error"
    assert software.supported_pythons() in finding.text
    assert "PYTHON=" in finding.fix


def imported(folder):
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield node.module.split(".")[0]


def test_what_is_needed_is_what_the_pipeline_imports(project_folder):
    others = set(imported(project_folder / "pipeline")) - set(sys.stdlib_module_names)
    exports = {"ctranslate2", "transformers"}  # no stage writes these; the command export says so
    assert others - {"pipeline"} - exports <= set(software.NEEDED.values())
    pins = {name.lower() for name in software.pinned()}
    assert {name.lower() for name in software.NEEDED} <= pins


def test_a_missing_package_is_an_error(monkeypatch):
    real = metadata.version

    def version(name):
        if name in ("torch", "snakemake"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(software.metadata, "version", version)
    (finding,) = software.packages()
    assert finding.state == "error"
    assert finding.text.endswith("packages are missing: torch, snakemake")
    assert finding.fix == software.INSTALL


def test_other_versions_than_pinned_are_a_warning_and_builds_of_one_are_none(monkeypatch):
    real = metadata.version
    changed = {"numpy": "1.26.4", "torch": software.pinned()["torch"] + "+cu130"}
    monkeypatch.setattr(software.metadata, "version", lambda name: changed.get(name) or real(name))
    monkeypatch.setattr(software, "import_errors", lambda modules: {})
    texts = [f.text for f in software.packages() if f.state == "warning"]
    assert any(f"numpy 1.26.4 (pinned {software.pinned()['numpy']})" in text for text in texts)
    assert not any("torch" in text for text in texts)


def test_why_modules_cannot_be_imported(tmp_path, monkeypatch):
    sources = {
        "whole_one": "print('noise')",
        "broken_one": "raise OSError('libx.so: cannot open\\nmore')",
        "silent_one": "raise ImportError",
        "leaving_one": "import os; os._exit(3)",
        "never_reached": "",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert software.import_errors(["whole_one"]) == {}
    assert software.import_errors(list(sources)) == {
        "broken_one": "libx.so: cannot open",
        "silent_one": "ImportError",
        "leaving_one": "Python ends with exit code 3",
    }


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """PATH of these programs alone, each a line that answers --version."""

    def put(*names):
        for name in names:
            (tmp_path / name).write_text(f"#!/bin/sh\necho {name} 1.0\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    monkeypatch.delenv("CXX", raising=False)
    return put


def test_a_missing_compiler_is_said_and_is_no_fault(programs):
    programs()
    (finding,) = software.compiler()
    assert finding.state == "ok"
    assert finding.text.startswith("no C++ compiler; not needed")
    programs("clang++")
    assert "clang++; not needed" in software.compiler()[0].text


def test_programs_of_the_shell_lines(programs):
    programs("bash", "tee")
    (finding,) = software.tools()
    assert (finding.state, finding.fix) == ("error", "install awk, or add the folder to PATH")
    programs("awk")
    without_git, rest = software.tools()
    assert (without_git.state, rest.state) == ("warning", "ok")
    assert "no make" in rest.text
    programs("git", "make")
    (finding,) = software.tools()
    assert (finding.state, finding.text) == ("ok", "bash, awk, tee, git 1.0, make 1.0")


def test_the_interpreter_that_is_asked_is_this_one():
    assert sys.executable in software.python()[0].text
    assert os.path.exists(sys.executable)
