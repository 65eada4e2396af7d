"""Scores as data: what travels with a number, the step's file, the command, and no torch."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.evaluation.scores import (
    compare,
    compare_statistics,
    score_of,
    score_translations,
    score_trees,
    write_statistics,
)
from pipeline.files import read_json, sha256_of, write_json, write_lines
from pipeline.steps import score as step

REFERENCES = ["Der Hund bellt am See, nicht wahr?", "Das ist die E-Mail-Adresse von ihm.", "Ja."]
HYPOTHESES = ["Der Hund bellt am See, oder?", "Das ist die E-Mail-Adresse.", "Ja."]
GOLD = ["(TOP (S (NP (NN a)) (VP (VB b))))", "(TOP (S (NP (NN c) (NN d)) (VP (VB e))))"]
PARSED = ["(TOP (S (NP (NN a)) (NP (VB b))))", ""]
FACTS = {
    "run": "ende_base-seed1", "experiment": "ende_base", "scale": "demo", "seed": 1,
    "split": "test",
    "n_average": 2, "checkpoint_steps": [10, 20],
}  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_lines(tmp_path / "hyp.de", HYPOTHESES)
    write_lines(tmp_path / "other.de", [line.replace("Hund", "Kater") for line in HYPOTHESES])
    write_lines(tmp_path / "ref.de", REFERENCES)
    write_lines(tmp_path / "gold", GOLD)
    write_lines(tmp_path / "parsed", PARSED)
    facts = {
        **FACTS,
    }
    write_json(tmp_path / "decode.json", {**facts, "beam_size": 4})
    return tmp_path


def run_step(files: Path, *more: str) -> dict:
    step.main(
        [
            "--hypotheses", str(files / "hyp.de"), "--references", str(files / "ref.de"),
            "--test-set", "newstest2014", "--decode", str(files / "decode.json"),
            "--output", str(files / "scores.json"), *more,
        ]
    )  # fmt: skip
    return read_json(files / "scores.json")


def run_command(*arguments: object) -> int:
    return main(["score", *map(str, arguments)])


def test_step_writes_what_a_number_needs(files: Path) -> None:
    scores = run_step(files, "--languages", "en-de", "--statistics", str(files / "counts.npz"))
    assert scores.pop("commit")
    details = scores.pop("scores")
    assert scores == {
        "kind": "translation",
        "lines": 3,
        "warnings": [],
        "test_set": "newstest2014",
        "languages": "en-de",
        "reference_sha256": sha256_of(files / "ref.de"),
        **FACTS,
    }
    assert list(details) == ["tokenized_bleu", "sacrebleu", "chrf"]
    for entry in details.values():
        low, high = entry["interval"]
        assert 0 <= low <= entry["score"] <= high <= 100
        assert "version:" in entry["signature"]
    with np.load(files / "counts.npz") as counts:
        for name, entry in details.items():
            assert len(counts[name]) == 3
            assert score_of(name)(counts[name].sum(axis=0)) == pytest.approx(entry["score"])


def test_step_on_trees(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = run_step(
        files, "--kind", "parsing",
        "--hypotheses", str(files / "parsed"), "--references", str(files / "gold"),
    )  # fmt: skip
    assert (scores["kind"], scores["lines"], scores["languages"]) == ("parsing", 2, None)
    dropped, wrong = scores["scores"]["bracket_f1"], scores["scores"]["bracket_f1_all_lines"]
    assert dropped["score"] == pytest.approx(100 * 2 / 3)
    assert wrong["score"] == pytest.approx(100 * 2 * 2 / (3 + 6))
    assert (dropped["skips"], wrong["up_to_40_words"]["sentences"]) == (1, 2)
    assert dropped["signature"].endswith("unusable:dropped")
    assert wrong["signature"].endswith("unusable:wrong")
    assert scores["warnings"][0].startswith("empty_trees: 1 of 2")
    assert "warning: empty_trees: 1 of 2" in capsys.readouterr().err


def test_step_leaves_no_half_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(files / "hyp.de", HYPOTHESES[:2])
    with pytest.raises(ValueError, match=r"hyp\.de has 2 lines, .*ref\.de has 3 lines"):
        run_step(files, "--languages", "en-de")
    with pytest.raises(SystemExit):
        run_step(files)
    assert "--kind translation needs --languages" in capsys.readouterr().err
    assert not list(files.glob("*scores*"))


def test_command_prints_a_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--references", files / "ref.de", "--languages", "en-de", "--resamples", "100"]
    assert run_command("--hypotheses", files / "hyp.de", *options) == 0
    printed = capsys.readouterr()
    scored = score_translations(HYPOTHESES, REFERENCES, languages="en-de", resamples=100)
    for name, entry in scored.scores.items():
        (row,) = [line for line in printed.out.splitlines() if f"  {name}  " in f"{line}  "]
        low, high = entry["interval"]
        assert f"{entry['score']:.2f}" in row.split()
        assert f"{low:.2f} - {high:.2f}" in row
        assert row.endswith(entry["signature"])
    assert printed.err == ""


def test_command_compares_two_systems(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems = ["--hypotheses", files / "hyp.de", "--hypotheses", files / "other.de"]
    options = ["--references", files / "ref.de", "--languages", "en-de", "--test", "bootstrap"]
    assert run_command(*systems, *options, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    scored = [
        score_translations(lines, REFERENCES, languages="en-de")
        for lines in (HYPOTHESES, [line.replace("Hund", "Kater") for line in HYPOTHESES])
    ]
    assert [system["scores"] for system in data["systems"]] == [s.scores for s in scored]
    assert data["systems"][1]["hypotheses_sha256"] == sha256_of(files / "other.de")
    assert data["comparison"] == compare(*scored, test="bootstrap")
    assert data["comparison"]["tokenized_bleu"]["difference"] < 0
    assert run_command(*systems, *options) == 0
    assert "p-value" in capsys.readouterr().out


def test_command_on_trees(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--hypotheses", files / "parsed", "--references", files / "gold", "--trees"]
    assert run_command(*options) == 0
    printed = capsys.readouterr()
    assert "66.67" in printed.out
    assert "44.44" in printed.out
    assert "warning: " in printed.err
    assert run_command(*options, "--evalb") == 0
    listing = capsys.readouterr().out.splitlines()
    assert listing[4] == (
        "   2    3    2    0.00   0.00     0      0    0      0      0     0     0.00"
    )
    assert "Bracketing FMeasure       =  66.67" in listing


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hypotheses", "gold", "--references", "ref.de", "--languages", "en-de"], "2 lines"),
        (["--hypotheses", "none", "--references", "ref.de", "--languages", "en-de"], "none"),
        (["--hypotheses", "hyp.de", "--references", "ref.de", "--languages", "de"], "en-de: 'de'"),
        (["--hypotheses", "hyp.de", "--references", "ref.de", "--trees"], "ref.de, line 1 is not"),
        (["--hypotheses", "latin1", "--references", "ref.de", "--languages", "en-de"], "not UTF-8"),
        (["--hypotheses", "empty", "--references", "ref.de", "--languages", "en-de"], "0 lines"),
        (
            [*["--hypotheses", "hyp.de"] * 3, "--references", "ref.de", "--languages", "en-de"],
            "one or two files: 3",
        ),
        (
            ["--hypotheses", "hyp.de", "--references", "ref.de", "--languages", "en-de", "--evalb"],
            "give --trees",
        ),
        (
            ["--hypotheses", "hyp.de", "--references", "ref.de", "--languages", "en-de",
             "--resamples", "-1"],
            "--resamples must be at least 0: -1",
        ),
        (
            ["--hypotheses", "hyp.de", "--references", "ref.de", "--languages", "en-de",
             "--resamples", "1"],
            "--resamples must be at least 100 for the ends of a 95 % interval (sacreBLEU takes "
            "1000), or 0 for none: 1",
        ),
        (
            ["--hypotheses", "hyp.de.gz", "--references", "ref.de", "--languages", "en-de"],
            "hyp.de.gz: compressed by gzip; unpack it first",
        ),
    ],
)  # fmt: skip
def test_command_says_what_is_wrong(
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (files / "empty").touch()
    (files / "latin1").write_bytes("Grüße\n".encode("latin-1"))
    (files / "hyp.de.gz").write_bytes(gzip.compress("\n".join(HYPOTHESES).encode()))
    monkeypatch.chdir(files)
    assert run_command(*arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("score: ")
    assert message in printed.err


def test_statistics_compare_runs_without_their_text(tmp_path: Path) -> None:
    first = score_translations(HYPOTHESES, REFERENCES, languages="en-de")
    second = score_translations(REFERENCES, REFERENCES, languages="en-de")
    write_statistics(tmp_path / "first.npz", first)
    write_statistics(tmp_path / "second.npz", second)
    compared = compare_statistics(tmp_path / "first.npz", tmp_path / "second.npz", test="bootstrap")
    assert compared == compare(first, second, test="bootstrap")
    trees = score_trees(PARSED, GOLD)
    write_statistics(tmp_path / "trees.npz", trees)
    assert compare_statistics(tmp_path / "trees.npz", tmp_path / "first.npz") == {}


def test_no_intervals_on_request() -> None:
    scored = score_translations(HYPOTHESES, REFERENCES, languages="en-fr", resamples=0)
    assert {entry["interval"] for entry in scored.scores.values()} == {None}


def test_blank_output_scores_zero() -> None:
    scored = score_translations(["", " ", ""], REFERENCES, languages="en-de")
    assert [entry["score"] for entry in scored.scores.values()] == [0.0, 0.0, 0.0]
    assert scored.warnings == ["blank_hypotheses: 3 of 3 lines, the first is line 1"]


def test_evaluation_starts_without_torch(project_folder: Path) -> None:
    program = (
        "import sys, pkgutil, importlib, pipeline.evaluation as evaluation\n"
        "for module in pkgutil.iter_modules(evaluation.__path__, 'pipeline.evaluation.'):\n"
        "    importlib.import_module(module.name)\n"
        "import pipeline.steps.score, pipeline.commands.score\n"
        "print(*{'torch', 'deepspeed', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project_folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""
