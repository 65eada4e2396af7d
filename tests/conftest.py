"""Shared by all tests: where the project lies, and real data where it is at hand."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("reattend", deadline=None)  # a busy machine is no failure
settings.load_profile("reattend")

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def project_folder() -> Path:
    return PROJECT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real text and trees; tests that need them skip where the folder is absent."""
    folder = Path(os.environ.get("REATTEND_SHARED_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs real data; set REATTEND_SHARED_DATA to its folder: {folder}")
    return folder
