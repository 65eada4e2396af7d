"""How far a row lies from the base of its table, and whether by more than chance."""

import math
import os
import resource
import subprocess
import sys

import pandas as pd
import pytest
from built_tables import build, cells_of, row

from pipeline.evaluation.scores import score_of
from pipeline.evaluation.significance import paired_test


def test_distance_from_base(demo_scale, paths):
    demo_scale.score("ende_base", split="dev", bleu=80.0)
    demo_scale.score("table3_c_n2", split="dev", bleu=70.0)
    found = row(build(demo_scale, paths, "table3").frame, "table3_c_n2")
    assert math.isclose(found["from_base"], -10.0)
    assert math.isclose(found["paper_from_base"], 23.7 - 25.8)


@pytest.mark.parametrize(("loss", "significant"), [(0.0, False), (0.1, True)])
def test_distance_from_base_is_tested_and_marked(demo_scale, paths, loss, significant):
    demo_scale.score("ende_base", split="dev", bleu=80.0)
    demo_scale.score("table3_c_n2", split="dev", bleu=70.0)
    base = demo_scale.statistics("ende_base", split="dev", loss=0.0)
    counts = demo_scale.statistics("table3_c_n2", split="dev", loss=loss)
    built = build(demo_scale, paths, "table3")
    found = row(built.frame, "table3_c_n2")
    expected = paired_test(base, counts, score_of("tokenized_bleu"))["p_value"]
    assert found["from_base_p_value"] == expected
    assert found["from_base_significant"] == significant == (expected < 0.05)
    assert found["from_base_test"] == "approximate randomisation, 10000 trials, seed 12345"
    assert cells_of(built, "n_layers 2", "ours, from base") == ["−10.0" + "‡" * significant]
    shown = "<0.001" if expected < 0.001 else f"{expected:.3f}"
    assert cells_of(built, "n_layers 2", "p") == [shown]
    assert any("approximate randomisation" in note for note in built.notes)
    untested = row(built.frame, "ende_base")
    assert math.isnan(untested["from_base_p_value"])
    assert not untested["from_base_significant"]


@pytest.mark.parametrize(
    ("table", "base", "other", "heading"),
    [
        ("table2", "enfr_base", "enfr_big", "ours, from base"),
        ("table4", "parsing_wsj", "parsing_semi", "ours, from WSJ only"),
    ],
)
def test_big_and_semi_supervised_are_tested_too(demo_scale, paths, table, base, other, heading):
    demo_scale.everything()
    demo_scale.statistics(base, loss=0.1)
    demo_scale.statistics(other, loss=0.0)
    built = build(demo_scale, paths, table)
    found = row(built.frame, other)
    assert found["from_base_significant"]
    metric = "bracket_f1" if table == "table4" else "tokenized_bleu"
    assert math.isclose(found["from_base"], found[metric] - row(built.frame, base)[metric])
    place = [column.heading for column in built.columns].index(heading)
    marked = [r for s in built.sections for r in s.rows if r.cells[place].endswith("‡")]
    assert len(marked) == 1


def test_distances_over_seeds_use_those_that_both_have(demo_scale, paths):
    """Counts are added over seeds 1 and 2; seed 3 of base has no counterpart."""
    counts = {}
    for name, seeds in (("ende_base", (1, 2, 3)), ("table3_c_n2", (1, 2))):
        for seed in seeds:
            demo_scale.score(name, seed, split="dev", bleu=80.0 + seed * (3 if seed > 1 else 1))
            counts[name, seed] = demo_scale.statistics(
                name, seed, split="dev", loss=0.02 * (name != "ende_base")
            )
    found = row(build(demo_scale, paths, "table3").frame, "table3_c_n2")
    sums = [sum(counts[name, seed] for seed in (1, 2)) for name in ("ende_base", "table3_c_n2")]
    expected = paired_test(*sums, score_of("tokenized_bleu"))["p_value"]
    assert found["from_base_p_value"] == expected
    assert math.isclose(found["from_base"], (81 + 86) / 2 - (81 + 86 + 89) / 3)
    assert found["from_base_deviation"] == 0.0


def test_a_table_of_twenty_tested_rows_takes_under_five_seconds(demo_scale, paths, tmp_path):
    """CPU seconds of the whole step: a busy machine makes none of them."""
    demo_scale.everything()
    for path in demo_scale.scores:
        if "/dev/" in str(path):
            demo_scale.statistics(path.parents[2].name.partition("-")[0], split="dev", loss=0.01)
    command = [sys.executable, "-m", "pipeline.steps.table3"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*command, *demo_scale.arguments("table3", tmp_path / "table3")],
        cwd=paths.root,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5.0
    read = pd.read_csv(tmp_path / "table3.csv")
    assert read["from_base_p_value"].notna().sum() == 19


def test_other_references_are_not_tested_and_stale_counts_are_named(demo_scale, paths):
    demo_scale.score("ende_base", split="dev", bleu=80.0)
    demo_scale.score("table3_c_n2", split="dev", bleu=70.0, reference_sha256="cd" * 32)
    demo_scale.statistics("ende_base", split="dev", loss=0.0)
    demo_scale.statistics("table3_c_n2", split="dev", loss=0.1)
    found = row(build(demo_scale, paths, "table3").frame, "table3_c_n2")
    assert math.isclose(found["from_base"], -10.0)
    assert math.isnan(found["from_base_p_value"])
    demo_scale.score("table3_c_n4", split="dev", lines=399)
    demo_scale.statistics("table3_c_n4", split="dev", loss=0.1)
    with pytest.raises(ValueError, match=r"statistics\.npz: holds 400 sentences, .* 399"):
        build(demo_scale, paths, "table3")
