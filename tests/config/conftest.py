"""A configuration to be spoiled."""

import shutil

import pytest


@pytest.fixture
def folder(tmp_path, project_folder):
    """A copy of the project's configuration, to be spoiled."""
    return shutil.copytree(project_folder / "config", tmp_path / "config")
