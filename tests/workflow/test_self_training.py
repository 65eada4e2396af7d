"""Self-training in the workflow: parser, silver trees, second parser; and what can't be made."""

import json
import shutil

import pytest
import yaml

from pipeline.config.loading import ConfigError, load_project
from pipeline.corpora.sources import Sources
from pipeline.files import count_lines, read_lines

CORPORA = "results/tiny/corpora"
SOURCE = {
    "kind": "self_training",
    "treebank": "tiny_trees",
    "parser": "parsing_wsj",
    "raw": {
        "corpus": "tiny", "side": "en", "words": "penn", "max_sentences": 60, "max_words": 12,
        "seed": 1,
    },
    "share": 0.5,
    "beam_size": 2,
    "shards": 2,
}  # fmt: skip


def write(path, data):
    path.write_text(yaml.safe_dump(data))


@pytest.fixture(scope="module")
def add_parsers(add_treebank):
    """Gives the scale `tiny` a treebank and a self-trained corpus whose source has `changes`."""

    def add(config, **changes):
        # seed 2: other sentences than the text that will be parsed
        scale = add_treebank(config, train=300, held_out=20, seed=2, beam_size=2)
        made = {
            "title": "made", "kind": "parsing", "languages": ["words", "trees"], "filters": {},
            "source": {**SOURCE, **changes},
        }  # fmt: skip
        write(config / "corpora" / "tiny_self.yaml", made)
        scale["tasks"]["parsing-silver"] = "tiny_self"
        settings = scale["settings"]["tasks"]
        settings["parsing-silver"] = settings["parsing"]
        write(config / "scales" / "tiny.yaml", scale)

    return add


@pytest.fixture(scope="module")
def made(bare, add_parsers):
    add_parsers(bare.folder / "config")
    bare.make("parsing_semi")
    return bare


def test_the_second_parser_learns_from_the_treebank_and_the_surest_trees(made):
    folder = made.folder / CORPORA
    report = json.loads((folder / "tiny_self" / "silver.json").read_text())
    silver = read_lines(folder / "tiny_self" / "raw" / "silver.trees")
    assert report["parsed"] == 60
    assert report["repaired"] == 0
    assert report["kept"] == len(silver) == sum(report["kept_by_most_words"].values())
    assert 0 < len(silver) <= 35  # half of each class, rounded up, less what the treebank holds
    trees = read_lines(folder / "tiny_trees" / "text" / "train.trees")
    assert read_lines(folder / "tiny_self" / "text" / "train.trees") == [*trees, *silver]
    words = set(read_lines(folder / "tiny_trees" / "text" / "train.words"))
    words |= set(read_lines(folder / "tiny_trees" / "text" / "test.words"))
    assert not words & set(read_lines(folder / "tiny_self" / "text" / "train.words")[len(trees) :])
    shards = [folder / "tiny_self" / "parsed" / f"{n}.trees" for n in (0, 1)]
    assert [count_lines(shard) for shard in shards] == [30, 30]
    assert (made.folder / "results/tiny/runs/parsing_semi-seed1/average2/test/scores.json").exists()


def test_vocabulary_and_held_out_trees_are_those_of_the_treebank(made):
    ours, theirs = (made.folder / CORPORA / name for name in ("tiny_self", "tiny_trees"))
    for file in (
        "subwords/subwords.model", "subwords/symbols.json", "text/dev.trees", "text/test.words",
        "encoded/test/tgt_tokens.npy", "encoded/dev/src_tokens.npy",
    ):  # fmt: skip
        assert (ours / file).read_bytes() == (theirs / file).read_bytes(), file


def test_treebank_copies_and_a_beam_edit_train_the_second_parser_alone(made):
    path = made.folder / "config" / "corpora" / "tiny_self.yaml"
    before = path.read_text()
    data = yaml.safe_load(before)
    data["source"] |= {"beam_size": 1, "treebank_copies": 3}
    write(path, data)
    planned = made.planned("parsing_wsj", "parsing_semi")
    assert planned["parse_raw"] == 2
    assert planned["train"] == 1
    made.make(f"{CORPORA}/tiny_self/sources.json")
    sources = Sources.read(made.folder / CORPORA / "tiny_self" / "sources.json")
    assert [part.name for part in sources.splits["train"]] == ["train"] * 3 + ["silver"]
    path.write_text(before)


@pytest.fixture
def config(fresh):
    return fresh.folder / "config"


def problems(config):
    with pytest.raises(ConfigError) as caught:
        load_project(config)
    return str(caught.value)


@pytest.mark.parametrize("parser", ["parsing_semi", "again"])
def test_a_parser_that_learns_from_what_it_parses_is_a_circle_that_names_the_files(
    config, add_parsers, parser
):
    add_parsers(config, parser=parser)
    again = yaml.safe_load((config / "experiments" / "parsing_semi.yaml").read_text())
    write(config / "experiments" / "again.yaml", again)
    text = problems(config)
    assert "tiny_self.yaml" in text
    assert "source.parser: goes round in a circle" in text
    assert (
        f"config/corpora/tiny_self.yaml is parsed by config/experiments/{parser}.yaml, which is "
        "trained on config/corpora/tiny_self.yaml"
    ) in text


def test_raw_text_that_is_made_of_the_corpus_itself_is_a_circle(config, add_parsers):
    add_parsers(config, raw={**SOURCE["raw"], "corpus": "second", "side": "words"})
    shutil.copy(config / "corpora" / "tiny_self.yaml", config / "corpora" / "second.yaml")
    second = yaml.safe_load((config / "corpora" / "second.yaml").read_text())
    second["source"]["raw"]["corpus"] = "tiny_self"
    write(config / "corpora" / "second.yaml", second)
    text = problems(config)
    assert "tiny_self.yaml parses second" in text
    assert "second.yaml parses tiny_self" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parser": "nobody"}, "source.parser: no experiment of this scale: 'nobody'"),
        ({"parser": "ende_base"}, "ende_base is trained on tiny, whose vocabulary is not"),
        ({"treebank": "nothing"}, "source.treebank: no such file"),
        ({"treebank": "tiny_self"}, "made by a parser itself"),
        (
            {"treebank": "tiny"},
            "source.treebank: must be a treebank, not a corpus for",
        ),
        ({"raw": {**SOURCE["raw"], "corpus": "nowhere"}}, "source.raw.corpus: no such file"),
        ({"raw": {**SOURCE["raw"], "side": "fr"}}, "tiny has the sides en, de: 'fr'"),
        ({"share": 0.0}, "source.share: must be above 0"),
        ({"shares": 1}, "source.shares: unknown key; did you mean share?"),
    ],
)
def test_what_can_not_be_made_is_named(config, add_parsers, changes, message):
    add_parsers(config, **changes)
    assert message in problems(config)


def test_keys_of_the_treebank_are_not_stated_twice(config, add_parsers):
    add_parsers(config)
    path = config / "corpora" / "tiny_self.yaml"
    data = yaml.safe_load(path.read_text())
    write(path, {**data, "tags": "keep"})
    assert "tags: is that of tiny_trees, its treebank; leave it out" in problems(config)


def test_a_parser_of_a_self_trained_corpus_may_parse_for_the_next_one(config, add_parsers):
    """Two rounds: not a circle."""
    add_parsers(config)
    data = yaml.safe_load((config / "corpora" / "tiny_self.yaml").read_text())
    data["source"]["parser"] = "parsing_semi"
    write(config / "corpora" / "third.yaml", data)
    scale = yaml.safe_load((config / "scales" / "tiny.yaml").read_text())
    assert load_project(config).corpora["tiny_self"].tags == "keep"
    assert scale["tasks"]["parsing-silver"] == "tiny_self"


def test_the_paper_scale_with_a_parser_of_ones_own_is_planned_without_any_data(fresh):
    path = fresh.folder / "config" / "scales" / "paper.yaml"
    text = path.read_text()
    assert "parsing-silver: wsj_silver" in text
    path.write_text(text.replace("parsing-silver: wsj_silver", "parsing-silver: wsj_self"))
    planned = fresh.planned("parsing_semi", "--config", "scale=paper")
    assert planned["parse_raw"] == 16
    assert planned["select_silver"] == 1
    assert planned["train"] == 2
    assert planned["learn_subwords"] == 1  # of WSJ: text is parsed as it was prepared
