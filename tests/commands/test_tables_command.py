import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.commands.tables import print_tables

ROOT = Path(__file__).parents[2]


def test_prints_tables_in_order_and_where_they_lie(tmp_path, capsys):
    for name in ("table3", "table1"):
        (tmp_path / f"{name}.md").write_text(f"### {name}\n\n| a |\n")
        (tmp_path / f"{name}.csv").write_text("a\n")
    assert main(["tables", "--folder", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.index("### table1") < printed.index("### table3")
    assert f"2 tables in {tmp_path}/ as csv, md" in printed


@pytest.mark.parametrize("command", ["tables", "plan", "checkpoints"])
def test_the_scale_is_that_of_config_unless_named(command, tmp_path, capsys, monkeypatch):
    """A copy of the configuration that says lab; nothing was made there."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / "config.yaml"
    path.write_text(path.read_text().replace("scale: demo", "scale: lab"))
    monkeypatch.chdir(tmp_path)
    main([command])
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "scale lab" in shown or f"results{os.sep}lab" in shown
    main([command, "--scale", "demo"])
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "scale demo" in shown or f"results{os.sep}demo" in shown


def test_no_tables_says_how_to_make_them(tmp_path, capsys):
    assert main(["tables", "--folder", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "snakemake" in captured.err


def test_a_scale_without_tables_says_how_to_make_them(capsys, monkeypatch, tmp_path):
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    assert main(["tables", "--scale", "lab"]) == 1
    assert "`snakemake --cores all --config scale=lab` makes them" in capsys.readouterr().err


def test_an_unknown_scale_is_refused(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["tables", "--scale", "nope"]) != 0
    error = capsys.readouterr().err
    assert "nope" in error
    assert "demo" in error


def test_a_narrow_terminal_cuts_rows_not_notes(tmp_path, capsys, monkeypatch):
    (tmp_path / "table2.md").write_text(f"| {'x' * 200} |\n- {'y' * 200}\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    print_tables(tmp_path)
    lines = capsys.readouterr().out.split("\n")
    assert len(lines[0]) == 60
    assert lines[0].endswith("…")
    assert len(lines[1]) == 202


def test_printing_tables_imports_nothing_heavy():
    code = (
        "import sys, pipeline.commands.tables; print({'pandas', 'numpy', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"
