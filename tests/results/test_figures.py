import json
import math
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from pipeline.evaluation.cost import load_devices
from pipeline.results.costs import Rates
from pipeline.results.figure_style import COLOURS, LINES, style, variant
from pipeline.results.figures_model import draw_positions
from pipeline.results.figures_scores import (
    Translations,
    bleu_by_length,
    draw_ablation,
    length_bins,
)
from pipeline.results.figures_training import (
    draw_curves,
    draw_learning_rate,
    draw_speed,
    panels_of,
)
from pipeline.results.metrics import read_curves, smooth
from pipeline.results.published import load_published
from pipeline.results.runs import gather_runs, read_manifests
from pipeline.results.tables import build_table
from pipeline.steps import figures

LINE = st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, max_size=12).map(" ".join)
TABLES = ("table2", "table3", "table4")


def draw(demo, paths, output, *more):
    lists = {"runs": demo.trains, "scores": demo.scores, "perplexities": demo.perplexities}
    given_paths = [
        text for name, files in lists.items() for text in (f"--{name}", *map(str, files))
    ]
    folders = ["--corpora", str(demo.folder / "corpora"), "--paper", str(paths.paper)]
    devices = ["--devices", str(paths.root / "config" / "devices.yaml")]
    options = ["--scale", "demo", "--output", str(output)]
    figures.main([*given_paths, *folders, *devices, *options, *more])
    return json.loads((output / "figures.json").read_text())["figures"]


def test_every_figure_is_drawn_as_svg_and_png_with_a_caption(demo_scale, paths, tmp_path):
    demo_scale.everything()
    found = draw(demo_scale, paths, tmp_path, "--attention", str(demo_scale.attention()))
    names = [entry["name"] for entry in found]
    assert {
        "attention_1_long_distance",
        "attention_1_one_word",
        "attention_1_two_heads",
        "positions",
        "learning_rate",
        "training_loss",
        "dev_perplexity",
        "speed",
        "ablation",
        "bleu_by_length",
    } == set(names)
    for entry in found:
        assert len(entry["caption"]) > 30
        svg, png = (tmp_path / name for name in entry["files"])
        assert ElementTree.parse(svg).getroot().tag.endswith("svg")
        assert png.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_left_out(demo_scale, paths, tmp_path):
    assert draw(demo_scale, paths, tmp_path) == []
    demo_scale.train("ende_base")
    names = {entry["name"] for entry in draw(demo_scale, paths, tmp_path)}
    assert "training_loss" in names
    assert not names & {"ablation", "bleu_by_length", "layer_times"}


def test_equal_data_give_equal_files(demo_scale, paths, tmp_path):
    demo_scale.train("ende_base")
    for folder in ("first", "second"):
        draw(demo_scale, paths, tmp_path / folder)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


@given(st.lists(LINE, min_size=1, max_size=60), st.integers(1, 8))
def test_every_sentence_is_in_one_length_bin(lines, n_bins):
    bins = length_bins(lines, n_bins=n_bins)
    assert len(bins) <= n_bins
    for line in lines:
        assert sum(first <= len(line.split()) <= last for first, last in bins) == 1


@given(st.lists(LINE, min_size=1, max_size=60), st.integers(1, 8))
def test_length_bins_are_as_equal_as_whole_lengths_allow(lines, n_bins):
    lengths = [len(line.split()) for line in lines]
    most = max(map(lengths.count, lengths))
    for first, last in length_bins(lines, n_bins=n_bins):
        size = sum(first <= length <= last for length in lengths)
        assert size <= len(lines) / n_bins + 1.5 * most


def test_length_bins_of_the_grammar_have_no_small_one():
    """Edges at the quantiles themselves left 29 sentences of 500 in the first of six."""
    counts = [5, 24, 58, 59, 55, 59, 53, 38, 37, 21, 26, 21, 26, 18]
    lines = ["w " * length for length, count in enumerate(counts, start=2) for _ in range(count)]
    sizes = [sum(counts[a - 2 : b - 1]) for a, b in length_bins(lines)]
    assert sizes == [87, 59, 114, 91, 58, 91]


def test_a_bin_has_the_sacrebleu_of_its_sentences():
    references = ["a b c d e", "a b c d e f g h", "x y z w"]
    hypotheses = ["a b c d x", "a b c d e f g h", "x y z w"]
    texts = Translations("x", references, hypotheses, references)
    (short, n_short), (long, n_long) = bleu_by_length(texts, [(1, 5), (6, 9)])
    expected = BLEU().corpus_score([hypotheses[0], hypotheses[2]], [[references[0], references[2]]])
    assert (n_short, n_long) == (2, 1)
    assert math.isclose(short, expected.score)
    assert math.isclose(long, 100.0)


def test_a_step_written_twice_counts_once_the_last_time(tmp_path):
    lines = [{"step": 10, "loss": 5.0}, {"step": 20, "loss": 4.0}, {"step": 20, "loss": 3.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    train = {"folder": str(tmp_path), "run": "r", "experiment": "e", "seed": 1}
    assert read_curves(train).points("loss") == ([10, 20], [5.0, 3.0])
    assert read_curves(train).points("learning_rate") == ([], [])


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step":\n')
    train = {"folder": str(tmp_path), "run": "r", "experiment": "e", "seed": 1}
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 2"):
        read_curves(train)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_smoothing_stays_within_the_values_and_keeps_straight_lines(values):
    shown = smooth(values)
    assert len(shown) == len(values)
    slack = 1e-9 * (1 + max(map(abs, values)))
    assert min(values) - slack <= min(shown)
    assert max(shown) <= max(values) + slack
    line = [3.0 * i for i in range(len(values))]
    assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(smooth(line), line, strict=True))


def test_each_run_stands_in_one_panel_and_base_beside_its_variations(paths):
    tables = [load_published(paths.paper / f"{name}.yaml") for name in TABLES]
    experiments = {row.experiment for table in tables for row in table.rows()} - {None}
    runs = [SimpleNamespace(experiment=name) for name in (*sorted(experiments), "my_own")]
    places = {run.experiment: [] for run in runs}
    for panel, members in panels_of(runs, tables).items():
        for _, found in members:
            places[found[0].experiment].append(panel)
    variations = [f"Table 3 ({letter})" for letter in "ABCDE"]
    assert places.pop("ende_base") == ["English to German", *variations]
    assert places.pop("my_own") == ["others"]
    assert all(len(panels) == 1 for panels in places.values())


def test_no_two_curves_differ_by_colour_alone():
    styles = [variant(index) for index in range(len(COLOURS))]
    assert len({str(style["linestyle"]) for style in styles}) == len(COLOURS) == len(LINES)


def test_positions_are_the_papers():
    drawn = draw_positions(8)
    image = drawn.figure.axes[0].images[0].get_array()
    sines, cosines = np.asarray(image)[:, :4], np.asarray(image)[:, 4:]
    for position in (0, 1, 50):
        for i in range(4):
            angle = position / 10000 ** (2 * i / 8)
            assert math.isclose(sines[position, i], math.sin(angle), abs_tol=1e-12)
            assert math.isclose(cosines[position, i], math.cos(angle), abs_tol=1e-12)


def test_ablation_shows_distances_from_base(demo_scale, paths):
    demo_scale.score("ende_base", split="dev", bleu=80.0)
    demo_scale.score("table3_c_n2", split="dev", bleu=70.0)
    published = load_published(paths.paper / "table3.yaml")
    scores = read_manifests(demo_scale.scores)
    runs = gather_runs(
        trains={}, scores=scores, perplexities={}, scale="demo", split="dev", n_average=1
    )
    rates = Rates(load_devices(paths.root / "config" / "devices.yaml"))
    drawn = draw_ablation(build_table(published, runs, rates=rates).frame, scale="demo")
    paper, ours = drawn.figure.axes[0].collections[1:3]
    row = [label.get_text() for label in drawn.figure.axes[0].get_yticklabels()].index(
        "C  n_layers 2"
    )
    assert math.isclose(ours.get_offsets()[row][0], -10.0)
    assert math.isclose(paper.get_offsets()[row][0], 23.7 - 25.8)
    others = np.delete(np.asarray(ours.get_offsets())[:, 0], row)
    assert np.isnan(others.astype(float)).all()


def test_ablation_has_bars_over_seeds(demo_scale, paths):
    """Distances of seeds 1 and 2 from base are -10 and -13: 2.12 on each side of their mean."""
    for seed, lower in ((1, 10.0), (2, 13.0)):
        demo_scale.score("ende_base", seed, split="dev", bleu=80.0)
        demo_scale.score("table3_c_n2", seed, split="dev", bleu=80.0 - lower)
        demo_scale.perplexity("ende_base", seed, value=4.0)
        demo_scale.perplexity("table3_c_n2", seed, value=4.0 + lower / 10)
    published = load_published(paths.paper / "table3.yaml")
    manifests = read_manifests(demo_scale.scores), read_manifests(demo_scale.perplexities)
    runs = gather_runs(
        trains={}, scores=manifests[0], perplexities=manifests[1], scale="demo", split="dev"
    )
    rates = Rates(load_devices(paths.root / "config" / "devices.yaml"))
    drawn = draw_ablation(build_table(published, runs, rates=rates).frame, scale="demo")
    for ax, low, high in zip(
        drawn.figure.axes, (-11.5 - 4.5**0.5, 28.75 - 5.303), (-11.5 + 4.5**0.5, 28.75 + 5.303),
        strict=True,
    ):  # fmt: skip
        (bars,) = ax.containers
        ends = np.concatenate([s[:, 0] for s in bars.lines[2][0].get_segments() if len(s)])
        ends = ends[~np.isnan(ends)]
        assert ends == pytest.approx([low, high], rel=1e-3)
    assert "deviation over seeds" in drawn.caption


def test_curves_of_all_seeds_are_drawn_and_the_legend_names_each_once(demo_scale):
    for seed in (1, 2, 3):
        demo_scale.train("ende_base", seed)
    curves = [read_curves(json.loads(path.read_text())) for path in demo_scale.trains]
    panel = {"English to German": [("base", curves)]}
    texts = dict.fromkeys(("name", "title", "heading", "caption"), "x")
    ax = draw_curves(panel, key="loss", **texts).figure.axes[0]
    assert len(ax.lines) == 3
    assert len({line.get_color() for line in ax.lines}) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["base"]


def test_heads_and_word_can_be_chosen_by_hand(demo_scale, paths, tmp_path):
    attention = ("--attention", str(demo_scale.attention()))
    choices = {"attention_1": {"query": 2, "chosen_heads": [3, 5]}}
    found = draw(demo_scale, paths, tmp_path, *attention, "--choices", json.dumps(choices))
    captions = {entry["name"]: entry["caption"] for entry in found}
    assert "'law': chosen by hand" in captions["attention_1_long_distance"]
    assert "'law': heads chosen by hand" in captions["attention_1_one_word"]
    assert "heads chosen by hand" in captions["attention_1_two_heads"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"attention_1": {"query": 99}}, "query must be from 1 to"),
        ({"attention_1": {"chosen_heads": [0]}}, "chosen_heads must be from 1 to 8: 0"),
        ({"other": {"query": 1}}, r"there are: attention_1\): other"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(demo_scale, paths, tmp_path, choices, message):
    attention = ("--attention", str(demo_scale.attention()))
    with pytest.raises(ValueError, match=message):
        draw(demo_scale, paths, tmp_path, *attention, "--choices", json.dumps(choices))


def test_grid_lines_lie_below_the_bars(demo_scale):
    demo_scale.train("ende_base")
    train = json.loads(demo_scale.trains[0].read_text())
    with style():
        axes = draw_speed([read_curves(train)]).figure.axes
    for ax in axes:
        assert ax.patches
        assert all(ax.xaxis.get_zorder() < bar.get_zorder() for bar in ax.patches)


def test_learning_rate_lies_on_the_formula(demo_scale):
    demo_scale.train("ende_base")
    train = json.loads(demo_scale.trains[0].read_text())
    recorded, formula = draw_learning_rate([read_curves(train)]).figure.axes[0].lines[:2]
    steps, rates = recorded.get_data()
    assert len(steps) == 30
    for step, rate in zip(steps, rates, strict=True):
        expected = np.interp(step, *formula.get_data())
        assert math.isclose(rate, expected, rel_tol=0.01)
