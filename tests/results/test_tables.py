"""Tables 2-4: the paper's rows, ours beside them, and what is said of each."""

import math
import statistics

import pandas as pd
import pytest
from built_tables import STEPS, build, cells_of, row

from pipeline.config.loading import load_project
from pipeline.results.published import load_published
from pipeline.results.rows import sizes_of


def test_difference_is_ours_minus_the_papers(demo_scale, paths):
    frame = build(demo_scale.everything(), paths, "table2").frame
    ours = frame[frame["experiment"] != ""]
    assert len(ours) == 4
    for _, found in ours.iterrows():
        expected = found["tokenized_bleu"] - found["paper_tokenized_bleu"]
        assert math.isclose(found["tokenized_bleu_difference"], expected)


def test_all_rival_systems_stand_in_their_table(demo_scale, paths):
    assert len(build(demo_scale, paths, "table2").frame) == 17
    assert len(build(demo_scale, paths, "table3").frame) == 20
    assert len(build(demo_scale, paths, "table4").frame) == 12


@pytest.mark.parametrize("table", STEPS)
def test_a_row_that_was_not_run_is_blank_and_says_so(demo_scale, paths, table):
    built = build(demo_scale, paths, table, reasons={"ende_big": "too dear"})
    ours = built.frame[built.frame["experiment"] != ""]
    assert (ours["remark"].str.startswith("not run at scale demo")).all()
    numbers = [name for name in ("tokenized_bleu", "perplexity", "bracket_f1") if name in ours]
    assert ours[numbers].isna().all(axis=None)
    if table == "table2":
        assert row(ours, "ende_big")["remark"] == "not run at scale demo: too dear"


def test_a_run_without_scores_says_that_it_was_trained(demo_scale, paths):
    demo_scale.train("ende_base")
    found = row(build(demo_scale, paths, "table2").frame, "ende_base")
    assert found["remark"] == "trained, but test not scored"
    assert found["training_seconds"] == 120.0


def test_a_missing_file_leaves_its_row_blank(demo_scale, paths):
    demo_scale.train("ende_base")
    demo_scale.score("ende_base")
    demo_scale.scores[0].unlink()
    found = row(build(demo_scale, paths, "table2").frame, "ende_base")
    assert math.isnan(found["tokenized_bleu"])


def test_seeds_give_mean_and_sample_deviation(demo_scale, paths):
    values = [80.0, 82.0, 87.0]
    for seed, value in enumerate(values, start=1):
        demo_scale.score("enfr_base", seed, bleu=value)
    found = row(build(demo_scale, paths, "table2").frame, "enfr_base")
    assert found["n_seeds"] == 3
    assert math.isclose(found["tokenized_bleu"], statistics.mean(values))
    assert math.isclose(found["tokenized_bleu_deviation"], statistics.stdev(values))


@pytest.mark.parametrize("test_set", ["newstest2014", "grammar test"])
@pytest.mark.parametrize(("bleu", "outside"), [(27.3, False), (28.2, False), (28.4, True)])
def test_difference_is_marked_when_the_papers_value_is_outside(
    demo_scale, paths, bleu, outside, test_set
):
    """Its interval is one point on each side of our score; another test set tells nothing."""
    demo_scale.score("ende_base", bleu=bleu, test_set=test_set)  # paper 27.3
    built = build(demo_scale, paths, "table2")
    marked = outside and test_set == "newstest2014"
    assert any("† marks" in note for note in built.notes) == (test_set == "newstest2014")
    assert row(built.frame, "ende_base")["outside_interval"] == marked
    cells = next(r.cells for r in built.sections[0].rows if r.cells[0] == "Transformer (base)")
    headings = [column.heading for column in built.columns]
    assert cells[headings.index("difference")].endswith("†") == marked


@pytest.mark.parametrize(("bleu", "remark"), [(50.3, "undertrained"), (50.5, "")])
def test_table3_marks_rows_with_dev_sacrebleu_under_50(demo_scale, paths, bleu, remark):
    demo_scale.score("table3_c_n2", split="dev", bleu=bleu)  # sacrebleu is 0.4 lower
    built = build(demo_scale, paths, "table3")
    assert row(built.frame, "table3_c_n2")["remark"] == remark
    assert any(note.startswith("Undertrained: dev sacrebleu under 50") for note in built.notes) == (
        remark != ""
    )


def test_table3_takes_dev_scores_without_averaging_alone(demo_scale, paths):
    demo_scale.score("ende_base", split="test", bleu=11.0)
    demo_scale.score("ende_base", split="dev", bleu=22.0, n_average=5)
    assert math.isnan(row(build(demo_scale, paths, "table3").frame, "ende_base")["tokenized_bleu"])
    demo_scale.score("ende_base", split="dev", bleu=33.0)
    found = row(build(demo_scale, paths, "table3").frame, "ende_base")
    assert found["tokenized_bleu"] == 33.0
    assert found["n_average"] == 1


def test_energy_of_training_is_shown_where_it_was_measured(demo_scale, paths):
    demo_scale.train("ende_base", energy_joules=7200.0)
    demo_scale.train("ende_big", energy_joules=None)
    built = build(demo_scale, paths, "table2")
    assert row(built.frame, "ende_base")["energy_joules"] == 7200.0
    assert math.isnan(row(built.frame, "ende_big")["energy_joules"])
    assert cells_of(built, "Transformer (base)", "training energy")[0] == "2.00 Wh"


def test_a_row_says_what_it_changes_at_this_scale(demo_scale, paths):
    demo_scale.train("ende_base")
    changed = {**paths.model, "n_heads": 1, "d_k": 128, "d_v": 128, "max_positions": 9}
    demo_scale.train("table3_a_h1", model=changed)
    demo_scale.train("table3_c_n2", model={**paths.model, "n_layers": 2})
    demo_scale.train("table3_d_dropout0", training={**paths.training, "max_steps": 7})
    built = build(demo_scale, paths, "table3")
    here = {name: row(built.frame, name)["here"] for name in built.frame["experiment"]}
    assert here["ende_base"] == "n_layers 3, d_model 128, d_ff 512, max_steps 300"
    assert here["table3_a_h1"] == "n_heads 1, d_k = d_v 128"
    assert here["table3_c_n2"] == "n_layers 2"
    assert here["table3_d_dropout0"] == "max_steps 7"
    place = [column.heading for column in built.columns].index("at this scale")
    cells = {r.cells[1]: r.cells[place] for r in built.sections[0].rows}
    assert cells["n_heads 1, d_k = d_v 512"] == "n_heads 1, d_k = d_v 128"
    assert cells["n_layers 2"] == ""  # as the paper's


@pytest.mark.parametrize(
    ("table", "experiment", "sizes"),
    [
        ("table2", "ende_base", "n_layers 3, d_model 128, d_ff 512, max_steps 300"),
        ("table4", "parsing_wsj", "n_layers 3, d_model 128, d_ff 512"),
    ],
)
def test_a_label_with_sizes_says_what_they_are_here(demo_scale, paths, table, experiment, sizes):
    demo_scale.train(experiment)
    built = build(demo_scale, paths, table)
    assert row(built.frame, experiment)["here"] == sizes
    assert any("Labels name the paper's models" in note for note in built.notes)
    place = [column.heading for column in built.columns].index("at this scale")
    shown = [r.cells[place] for section in built.sections for r in section.rows]
    assert [cell for cell in shown if cell] == [sizes]


def test_the_papers_sizes_are_those_of_the_experiments_and_say_nothing_there(demo_scale, paths):
    """At the paper's scale nothing stands beside a label."""
    project = load_project(paths.root / "config", {"scale": "paper"})
    for name in ("table2", "table3", "table4"):
        for published in load_published(paths.paper / f"{name}.yaml").rows():
            if published.sizes:
                resolved = project.experiments[published.experiment]
                sections = {k: getattr(resolved, k).model_dump() for k in ("model", "training")}
                assert sizes_of(published, sections) == "", published.experiment


def test_without_base_no_row_says_what_it_changes(demo_scale, paths):
    demo_scale.train("table3_c_n2", model={**paths.model, "n_layers": 2})
    assert (build(demo_scale, paths, "table3").frame["here"] == "").all()


def test_two_files_for_one_place_are_refused_by_name(demo_scale, paths):
    demo_scale.score("ende_base", bleu=80.0)
    demo_scale.score("ende_base", bleu=81.0, n_average=1)
    copy = demo_scale.folder / "copy.json"
    copy.write_bytes(demo_scale.scores[0].read_bytes())
    demo_scale.scores[1] = copy
    with pytest.raises(ValueError, match=r"two scores files of experiment ende_base.*copy\.json"):
        build(demo_scale, paths, "table2")


def test_another_scale_is_refused(demo_scale, paths):
    demo_scale.score("ende_base", scale="lab")
    with pytest.raises(ValueError, match=r"scores\.json: is of scale 'lab'"):
        build(demo_scale, paths, "table2")


@pytest.mark.parametrize("table", STEPS)
def test_notes_state_scale_test_set_signature_checkpoints_commit(demo_scale, paths, table):
    notes = "\n".join(build(demo_scale.everything(), paths, table).notes)
    metric = "bracket_f1: labelled" if table == "table4" else "sacrebleu: nrefs:1|case:mixed"
    for fact in ("Scale demo", "grammar", metric, "averaged", "at commit 0123456789ab", "ababab"):
        assert fact in notes


@pytest.mark.parametrize(("table", "split"), [("table2", "test"), ("table3", "dev")])
def test_notes_name_the_split_that_was_scored(demo_scale, paths, table, split):
    demo_scale.score("ende_base", split=split)
    demo_scale.statistics("ende_base", split=split, loss=0.0)
    demo_scale.score("ende_big", split=split)
    demo_scale.score("table3_c_n2", split=split)
    for name in ("ende_big", "table3_c_n2"):
        demo_scale.statistics(name, split=split, loss=0.1)
    notes = build(demo_scale, paths, table).notes
    assert any(f"our {split} set: grammar {split}" in note for note in notes)
    assert sum(f"over the sentences of the {split} set" in note for note in notes) == 2


def test_warnings_of_scores_are_notes(demo_scale, paths):
    demo_scale.score("ende_base", warnings=["3 hypotheses are empty"])
    notes = build(demo_scale, paths, "table2").notes
    assert "ende_base-seed1: 3 hypotheses are empty" in notes


@pytest.mark.parametrize("table", STEPS)
def test_step_writes_four_formats_and_csv_keeps_its_types(demo_scale, tmp_path, paths, table):
    demo_scale.everything()
    STEPS[table].main(demo_scale.arguments(table, tmp_path / "tables" / table))
    suffixes = {path.suffix for path in (tmp_path / "tables").iterdir()}
    assert suffixes == {".md", ".csv", ".tex", ".html"}
    frame = build(demo_scale, paths, table).frame
    read = pd.read_csv(tmp_path / "tables" / f"{table}.csv")
    assert list(read.columns) == list(frame.columns)
    for name, kind in frame.dtypes.items():
        if kind == "float64" and frame[name].notna().any():
            assert read[name].dtype == "float64", name
            pd.testing.assert_series_equal(read[name], frame[name])
    assert read["outside_interval"].dtype == bool
    assert read["from_base_significant"].dtype == bool
    assert read["from_base_p_value"].dtype == "float64"
    assert read["n_seeds"].dtype == "int64"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cost_flops: 1e19", "cost_flops"),
        ("tokenized_blue: 27.3", "tokenized_blue"),
        ("tokenized_bleu: -1.0", "tokenized_bleu"),
    ],
)
def test_a_wrong_published_value_names_file_and_key(tmp_path, text, message):
    path = tmp_path / "table2.yaml"
    path.write_text(
        "table: table2\ntitle: x\nsplit: test\ntest_set: y\n"
        f"sections:\n  - title: z\n    rows:\n      - {{label: a, {text}}}\n"
    )
    with pytest.raises(ValueError, match=rf"table2\.yaml: .*{message}"):
        load_published(path)


def test_notes_name_the_precision_and_the_class_of_device(demo_scale, paths):
    here = {"device": "cpu: Ryzen", "device_class": "x86-64 AVX2", "precision": "fp32"}
    demo_scale.train("ende_base", **here)
    demo_scale.train("ende_big", **here)
    alike = build(demo_scale, paths, "table2").notes
    assert "Trained in fp32 on cpu: Ryzen (x86-64 AVX2)." in alike
    there = {"device": "NVIDIA H100", "device_class": "compute capability 9.0", "precision": "bf16"}
    demo_scale.train("enfr_base", **there)
    (mixed,) = (n for n in build(demo_scale, paths, "table2").notes if n.startswith("Trained in"))
    assert mixed == (
        "Trained in bf16 on NVIDIA H100 (compute capability 9.0) and fp32 on cpu: Ryzen (x86-64 "
        "AVX2); rows of different precisions stand here, bf16: enfr_base-seed1; fp32: "
        "ende_base-seed1, ende_big-seed1."
    )
