"""What is printed survives every encoding of a terminal, a pipe or a file."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.__main__ import COMMANDS

TABLE = "results/demo/tables/table1.html"
PLACES = {
    "ASCII": {"PYTHONIOENCODING": "ascii"},
    "Latin-1": {"PYTHONIOENCODING": "latin-1:strict"},
    "a C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.fixture(scope="module")
def latin(tmp_path_factory) -> dict[str, str]:
    """A true locale of ISO-8859-1."""
    folder = tmp_path_factory.mktemp("locales")
    name = "en_US.ISO-8859-1"
    if shutil.which("localedef") is None:
        pytest.skip("needs localedef")
    made = subprocess.run(
        ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(folder / name)], capture_output=True
    )
    if not (folder / name).is_dir():
        pytest.skip(f"localedef makes no locale: {made.stderr!r}")
    return {"LOCPATH": str(folder), "LC_ALL": name}


@pytest.fixture(params=["a locale of ISO-8859-1", *PLACES])
def place(request) -> dict[str, str]:
    return PLACES.get(request.param) or request.getfixturevalue("latin")


def call(folder: Path, place: dict[str, str], *arguments: str) -> tuple[str, str]:
    ours = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "PYTHONIOENCODING")}
    result = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**ours, **place},
        capture_output=True,
    )
    out, err = (text.decode("latin-1") for text in (result.stdout, result.stderr))
    assert result.returncode == 0, err
    assert "UnicodeEncodeError" not in err
    return out, err


@pytest.fixture(scope="module")
def table_folder(tmp_path_factory) -> Path:
    """A table with every kind of character that ours have, and more."""
    folder = tmp_path_factory.mktemp("scale") / "tables"
    folder.mkdir()
    row = "| 3.3·10¹⁸ ± 0.2 | O(logₖ n) | α ≤ 1, – † − × | Größe, été | 猫 | 😀 |"
    (folder / "table2.md").write_text(f"### Table 2\n\n{row}\n", encoding="utf-8")
    return folder


def test_tables(place, table_folder, tmp_path, project_folder):
    out, _ = call(project_folder, place, "pipeline", "tables", "--folder", str(table_folder))
    assert "O(log\\u2096 n)" in out
    assert "1 tables in" in out


def test_where_an_encoding_holds_it_all_nothing_is_escaped(table_folder, project_folder):
    out, _ = call(
        project_folder, {"PYTHONUTF8": "1"}, "pipeline", "tables", "--folder", str(table_folder)
    )
    assert (table_folder / "table2.md").read_bytes().decode("latin-1") in out


def test_what_snakemake_prints_at_the_end(place, with_layer_times):
    out, err = call(with_layer_times, place, "snakemake", "--cores", "1", TABLE)
    assert "O(log\\u2096 n)" in out + err
    assert "1 tables in" in out + err


def test_json_stays_json(place, tmp_path, project_folder):
    (tmp_path / "猫").write_text("Der Hund – 猫\n", encoding="utf-8")
    shutil.copy(tmp_path / "猫", tmp_path / "out")
    texts = ["--hypotheses", str(tmp_path / "out"), "--references", str(tmp_path / "out")]
    score = ["pipeline", "score", "--languages", "en-de", "--resamples", "0", "--json", *texts]
    out, _ = call(project_folder, place, *score)
    assert json.loads(out)["systems"][0]["scores"]["sacrebleu"]["score"] == pytest.approx(100)


@pytest.mark.parametrize("name", ["plan", *sorted(COMMANDS)])
def test_plans_and_help(name, project_folder, tmp_path):
    arguments = ["--results", str(tmp_path)] if name == "plan" else ["--help"]
    out, _ = call(project_folder, PLACES["ASCII"], "pipeline", name, *arguments)
    assert out.isascii()


def test_every_character_that_a_table_may_hold_is_printed(project_folder, tmp_path):
    """No step and no file of the paper's figures holds a character that breaks printing."""
    texts = sorted((project_folder / "config" / "paper").glob("*.yaml"))
    said = "".join(path.read_text(encoding="utf-8") for path in texts)
    (tmp_path / "table3.md").write_text(said, encoding="utf-8")
    arguments = ["pipeline", "tables", "--folder", str(tmp_path)]
    out, _ = call(project_folder, PLACES["ASCII"], *arguments)
    unescaped = re.sub(r"\\(?:x(..)|u(....))", lambda m: chr(int(m[1] or m[2], 16)), out)
    assert said in unescaped
