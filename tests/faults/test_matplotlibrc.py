"""Figures and cards are drawn under our settings alone, whatever matplotlib's user has set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRAWS = """
from pathlib import Path
from pipeline.results.card import length_figure
from pipeline.results.figure_style import save, style
facts = {"lengths": {"en": {"counts": [0, 3, 5, 2]}, "de": {"counts": [0, 2, 4, 4]}}}
with style():
    save(length_figure(facts), Path("out"))
"""
SETTINGS = {
    "TeX": b"text.usetex: True\n",
    "another backend": b"backend: TkAgg\n",
    "a backend that is not there": b"backend: nowhere\n",
    "a missing font": b"font.family: No Such Font\nfont.sans-serif: Nor This\n",
    "looks": b"savefig.bbox: tight\nsavefig.dpi: 20\nfigure.facecolor: red\nlines.linewidth: 9\n"
    b"axes.prop_cycle: cycler('color', ['y'])\nsvg.fonttype: none\nsavefig.transparent: True\n",
    "another encoding": "font.family: Größe\n".encode("latin-1"),
    "no settings": b"<html>\n",
}


def drawn(folder: Path, code: Path, **environment: str) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MPL", "MATPLOTLIB"))}
    result = subprocess.run(
        [sys.executable, "-c", DRAWS],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(code), "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "Font family" not in result.stderr
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory, project_folder) -> dict[str, bytes]:
    files = drawn(tmp_path_factory.mktemp("plain"), project_folder)
    assert files.keys() == {"lengths.svg", "lengths.png"}
    return files


@pytest.mark.parametrize("name", SETTINGS)
def test_a_matplotlibrc_changes_no_byte(name, plain, tmp_path, project_folder):
    settings = tmp_path / ".config" / "matplotlib"
    settings.mkdir(parents=True)
    (settings / "matplotlibrc").write_bytes(SETTINGS[name])
    assert drawn(tmp_path, project_folder) == plain


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "another encoding"])
def test_nor_does_one_in_the_folder(name, plain, tmp_path, project_folder):
    """Where it is looked for first. One that is not UTF-8 there stops matplotlib's import."""
    (tmp_path / "matplotlibrc").write_bytes(SETTINGS[name])
    assert drawn(tmp_path, project_folder) == plain


@pytest.mark.parametrize(
    "backend", ["nowhere", "TkAgg", "module://matplotlib_inline.backend_inline"]
)
def test_nor_does_the_environment(backend, plain, tmp_path, project_folder):
    assert drawn(tmp_path, project_folder, MPLBACKEND=backend) == plain
