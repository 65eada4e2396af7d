"""The search on dev: what it trains and decodes, that no test set is in its reach, its table."""

import csv

import pytest
import yaml

from pipeline.config.loading import ConfigError, load_project
from pipeline.results.search import search_table

SEARCH = {
    "title": "tiny", "experiment": "parsing_wsj", "model": {"dropout": [0.0, 0.1]},
    "decoding": {"beam_size": [1, 2]},
}  # fmt: skip


def write(path, data):
    path.write_text(yaml.safe_dump(data))


@pytest.fixture(scope="module")
def add_search(add_treebank):
    """Gives the scale `tiny` a treebank, and the search `tiny`."""

    def add(config, **changes):
        scale = add_treebank(config, train=200, held_out=10, seed=1, beam_size=4)
        write(config / "scales" / "tiny.yaml", scale)
        write(config / "searches" / "tiny.yaml", {**SEARCH, **changes})

    return add


@pytest.fixture(scope="module")
def searched(bare, add_search):
    add_search(bare.folder / "config")
    bare.make("search_tiny")
    return bare


def test_every_setting_is_ranked_by_its_dev_score(searched):
    folder = searched.folder / "results/tiny/search"
    with open(folder / "tiny.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert sorted(row["setting"] for row in rows) == ["1-1", "1-2", "2-1", "2-2"]
    scores = [float(row["dev_bracket_f1_all_lines"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    text = (folder / "tiny.md").read_text()
    best = rows[0]
    assert (
        f"Chosen: model.dropout {best['model.dropout']}, decoding.beam_size "
        f"{best['decoding.beam_size']}. Write it into config/experiments/parsing_wsj.yaml" in text
    )
    assert "no test set was decoded" in text


def test_nothing_of_a_test_set_is_made_and_nothing_can_be(searched):
    results = searched.folder / "results/tiny"
    assert not [path for path in (results / "search").rglob("*") if "test" in path.name]
    assert not list((results / "runs").glob("search_*"))
    for target in (
        "search/tiny/1-1/test/hypotheses.txt",
        "search/tiny/1-1/test/scores.json",
        "search/search_tiny_1-seed1/average2/test/hypotheses.txt",
        "runs/search_tiny_1-seed1/average2/test/hypotheses.txt",
        "runs/search_tiny_1-seed1/average2/test/perplexity.json",
    ):
        result = searched.run("-n", f"results/tiny/{target}")
        assert result.returncode != 0, target
        output = result.stdout + result.stderr
        assert "MissingRuleException" in output or "MissingInputException" in output, target


def test_another_beam_size_trains_nothing(searched):
    path = searched.folder / "config/searches/tiny.yaml"
    before = path.read_text()
    write(path, {**SEARCH, "decoding": {"beam_size": [1, 3]}})
    planned = searched.planned("search_tiny")
    assert planned["decode_dev"] == 2
    assert not planned.keys() & {"train", "train_setting", "average_setting"}
    path.write_text(before)
    assert not searched.planned("search_tiny")


def test_the_experiments_own_setting_is_not_trained_twice(searched):
    """A setting that is the experiment's own waits for its training, and takes its checkpoints."""
    planned = searched.planned("search_tiny", "parsing_wsj", "--forcerun", "train", "train_setting")
    assert planned["train"] == 1
    assert planned["train_setting"] == 2


def test_a_score_of_a_test_set_is_refused():
    score = {"split": "test", "run": "search_tiny_1-seed1"}
    with pytest.raises(ValueError, match="dev alone; this score is of test: search_tiny_1-seed1"):
        search_table(
            name="tiny", title="tiny", experiment="parsing_wsj", settings=[("1-1", {})],
            scores=[score], trains=[{}],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "parsing_wjs"}, "experiment: no such experiment: 'parsing_wjs'; did you"),
        ({"experiment": "ende_base"}, "a search ranks parsers by their brackets; ende_base is for"),
        ({"model": {"drop": [0.1]}}, "model.drop: unknown key; did you mean dropout?"),
        ({"model": {"dropout": [0.1, 1.5]}}, "model.dropout: must be at most 0.9"),
        ({"model": {"dropout": []}}, "model.dropout: must not be empty"),
        ({"model": {"dropout": 0.1}}, "model.dropout: must be a list"),
        ({"optimiser": {}}, "unknown key"),
    ],
)
def test_a_bad_search_is_named(fresh, add_search, changes, message):
    config = fresh.folder / "config"
    add_search(config, **changes)
    with pytest.raises(ConfigError) as caught:
        load_project(config)
    assert message in str(caught.value)
    assert "tiny.yaml" in str(caught.value)
