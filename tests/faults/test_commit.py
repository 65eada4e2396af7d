"""Manifests name the commit of this code, and of nothing else that lies around it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.results.notes import at_commit, short

SAYS = "from pipeline.files import commit; print(commit())"


def git(folder: Path, *arguments: str) -> str:
    names = {
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }  # fmt: skip
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **names}
    ).stdout.strip()


def commit_all(folder: Path) -> str:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def copy(tmp_path, project_folder) -> Path:
    """The code in a folder of someone's own, not in a repository."""
    folder = tmp_path / "theirs" / "reattend"
    (folder / "pipeline").mkdir(parents=True)
    for name in ("__init__.py", "files.py"):
        shutil.copy(project_folder / "pipeline" / name, folder / "pipeline")
    (folder / "pyproject.toml").write_text('[project]\nname = "reattend"\nversion = "7.8.9"\n')
    (folder / ".gitignore").write_text("__pycache__/\n")
    return folder


def said(folder: Path, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", SAYS],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return result.stdout.removesuffix("\n")


@pytest.mark.parametrize("tracked", [False, True])
def test_a_repository_around_the_folder_is_not_ours(copy, tracked):
    """Whether or not it tracks the folder's files: its commit says nothing about this code."""
    theirs = copy.parent
    (theirs / "notes.txt").write_text("theirs")
    if not tracked:
        (theirs / ".gitignore").write_text("reattend/\n")
    commit_all(theirs)
    assert said(copy) == "version 7.8.9, no commit"


def test_no_repository_and_no_git(copy):
    assert said(copy) == "version 7.8.9, no commit"
    assert said(copy, PATH="/nowhere") == "version 7.8.9, no commit"
    git(copy, "init", "--quiet")
    assert said(copy) == "version 7.8.9, no commit"  # a repository without a commit


def test_our_own_commit_and_what_was_changed(copy):
    head = commit_all(copy)
    assert said(copy) == head
    (copy / "README.md").write_text("no code")
    assert said(copy) == head
    new = copy / "pipeline" / "new.py"
    new.write_text("")
    assert said(copy) == f"{head}-dirty"
    new.unlink()
    with open(copy / "pipeline" / "files.py", "a") as code:
        code.write("# changed\n")
    assert said(copy) == f"{head}-dirty"


def test_the_environment_names_no_other_repository(copy, tmp_path):
    """As inside a hook of git, which exports its own folder."""
    head = commit_all(copy)
    other = tmp_path / "other"
    other.mkdir()
    commit_all(other)
    names = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    assert said(copy, **names) == head


def test_a_repository_reached_by_a_link(copy, tmp_path):
    head = commit_all(copy)
    (tmp_path / "link").symlink_to(copy)
    assert said(tmp_path / "link") == head


def test_how_it_reads_in_tables_and_reports():
    head = "0123456789abcdef0123456789abcdef01234567"
    assert short(head) == "0123456789ab"
    assert at_commit([short(head), short(f"{head}-dirty")]) == (
        "commit 0123456789ab, 0123456789ab-dirty"
    )
    without = "version 7.8.9, no commit"
    assert at_commit([short(without)]) == without
