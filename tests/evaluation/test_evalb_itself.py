"""Against the original program, where it is installed (`evalb` on the PATH; it is in C, free)."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.evaluation.brackets import (
    CUTOFF_LENGTH,
    DELETED_FOR_LENGTH,
    DELETED_LABELS,
    EQUAL_LABELS,
    ERROR,
    SKIP,
    VALID,
    score_brackets,
)
from pipeline.evaluation.evalb_report import evalb_report
from pipeline.files import read_lines, write_lines

pytestmark = pytest.mark.skipif(shutil.which("evalb") is None, reason="needs evalb on the PATH")

LABELS = st.sampled_from(["S", "NP", "NP-SBJ", "VP=2", "ADVP", "PRT", "TOP", "-NONE-", "", "X-1"])
TAGS = st.sampled_from(["NN", "VB", "ADVP", "PRT", ".", ",", "-NONE-", "NN-X", "``", "TOP"])
CHANGES = ("none", "none", "none", "blank", "other word", "word more", "unclosed", "no words")


@st.composite
def bracketed(draw, n_words: int) -> str:
    nodes = [f"({draw(TAGS)} w{i})" for i in range(n_words)]
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start + 1, len(nodes)))
        nodes[start:end] = [f"({draw(LABELS)} {' '.join(nodes[start:end])})"]
    return f"(TOP {' '.join(nodes)})"


@st.composite
def pairs(draw) -> tuple[str, str]:
    n_words = draw(st.sampled_from([1, 2, 5, 9, 42]))
    gold, test = draw(bracketed(n_words)), draw(bracketed(n_words))
    change = draw(st.sampled_from(CHANGES))
    changed = {
        "blank": "",
        "other word": test.replace("w0", "v0"),
        "word more": f"(X {test} (Y y))",
        "unclosed": f"(X (Y y) {test}",
        "no words": "(TOP (. .))",
    }
    return gold, changed.get(change, test)


@given(st.lists(pairs(), min_size=1, max_size=20))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whole_listing(tmp_path: Path, lines: list[tuple[str, str]]) -> None:
    compare(tmp_path, [g for g, _ in lines], [t for _, t in lines])


def compare(folder: Path, gold: list[str], test: list[str]) -> None:
    write_lines(folder / "gold", gold)
    write_lines(folder / "test", test)
    write_lines(
        folder / "prm",
        [
            "MAX_ERROR 100000",
            f"CUTOFF_LEN {CUTOFF_LENGTH}",
            "LABELED 1",
            *(f"DELETE_LABEL {label}" for label in DELETED_LABELS),
            *(f"DELETE_LABEL_FOR_LENGTH {label}" for label in DELETED_FOR_LENGTH),
            *(f"EQ_LABEL {one} {other}" for one, other in EQUAL_LABELS.items()),
        ],
    )
    command = ["evalb", "-p", "prm", "gold", "test"]
    printed = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    expected = [
        line.replace(b"-nan", b"0.00").replace(b"nan", b"0.00") for line in printed.split(b"\n")
    ]
    found = [line.encode() for line in evalb_report(score_brackets(test, gold))]
    assert [b" ".join(line.split()) for line in found] == [
        b" ".join(line.split()) for line in expected[:-1]
    ]


def test_real_trees_with_damage(tmp_path: Path, shared_data: Path) -> None:
    """Some hypotheses are gone, have a word too many, or stop halfway with a whole pair."""
    folder = shared_data / "oracle_evalb"
    for case in ("craft_p10", "gum_p35"):
        pairs = zip(
            read_lines(folder / f"{case}.gold"), read_lines(folder / f"{case}.test"), strict=True
        )
        within_limits = [(g, t) for g, t in pairs if len(g) < 3000 and g.count("(") < 190]
        gold = [g for g, _ in within_limits]
        test = [t for _, t in within_limits]
        test[::10] = ["" for _ in test[::10]]
        test[1::10] = [f"(S (XX new) {line})" for line in test[1::10]]
        test[2::10] = [f"(S (XX new) {line[: line.rindex('(')]}" for line in test[2::10]]
        statuses = {sentence.status for sentence in score_brackets(test, gold)}
        assert statuses == {VALID, ERROR, SKIP}
        compare(tmp_path, gold, test)
