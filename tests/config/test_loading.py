"""The configuration: what is right is resolved by the stated rules, what is wrong is named."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from spoiled import edit, error_of

from pipeline.config.json_schema import FILES, schema_text
from pipeline.config.loading import ConfigError, load_corpus, load_project, reserved_names
from pipeline.config.schema import ModelConfig

PROJECT_CONFIG = Path(__file__).parents[2] / "config" / "config.yaml"
SCALES = ("demo", "lab", "paper")


@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_of_every_scale_is_valid(folder, scale):
    project = load_project(folder, {"scale": scale})
    assert len(project.experiments) == 24
    assert {project.corpus_of(name).kind for name in project.experiments} == {
        "translation",
        "parsing",
    }


def test_every_corpus_file_is_valid(folder):
    paths = sorted((folder / "corpora").glob("*.yaml"))
    assert paths
    for path in paths:
        assert load_corpus(path).name == path.stem


def test_paper_scale_states_the_paper(folder):
    experiments = load_project(folder, {"scale": "paper"}).experiments
    base, big = experiments["ende_base"], experiments["ende_big"]
    assert (base.model.n_layers, base.model.d_model, base.model.d_ff) == (6, 512, 2048)
    assert (base.model.n_heads, base.model.d_k, base.model.d_v) == (8, 64, 64)
    assert (base.training.max_steps, base.training.warmup_steps) == (100_000, 4_000)
    assert base.training.adam_betas == (0.9, 0.98)
    assert base.training.adam_eps == 1e-9
    assert (big.model.d_model, big.model.d_ff, big.model.n_heads) == (1024, 4096, 16)
    assert (big.model.dropout, experiments["enfr_big"].model.dropout) == (0.3, 0.1)
    assert (base.decoding.n_average, big.decoding.n_average) == (5, 20)
    parser = experiments["parsing_semi"]
    assert (parser.model.n_layers, parser.model.d_model) == (4, 1024)
    assert (parser.decoding.beam_size, parser.decoding.length_penalty) == (21, 0.3)
    assert parser.decoding.max_extra_tokens == 300


def test_heads_times_width_is_the_model_in_every_row_but_those_that_vary_the_keys(folder):
    for name, experiment in load_project(folder, {"scale": "paper"}).experiments.items():
        model = experiment.model
        assert model.n_heads * model.d_v == model.d_model, name
        assert (model.n_heads * model.d_k == model.d_model) != name.startswith("table3_b"), name


def test_a_row_of_table_3_differs_from_base_in_its_own_keys_alone(folder):
    project = load_project(folder, {"scale": "demo"})
    base = project.experiments["ende_base"]
    for name, row in project.experiments.items():
        if not name.startswith("table3_"):
            continue
        stated = yaml.safe_load((folder / "experiments" / f"{name}.yaml").read_text())
        for section in ("model", "training", "decoding"):
            ours, theirs = getattr(row, section), getattr(base, section)
            differing = {key for key, value in ours if value != getattr(theirs, key)}
            assert differing == set(stated.get(section, {})), name


BAD = {
    "unknown key": (lambda d: d["model"].update(d_modle=512), "model.d_modle: unknown key"),
    "wrong type": (lambda d: d["model"].update(d_model="wide"), "model.d_model: "),
    "text for a number": (lambda d: d["training"].update(adam_eps="1e-9"), "1.0e-9"),
    "odd width": (lambda d: d["model"].update(d_model=511), "model.d_model: must be even"),
    "dropout of one": (lambda d: d["model"].update(dropout=1.0), "model.dropout: "),
    "a missing key": (lambda d: d["model"].pop("d_ff"), "model.d_ff: is missing"),
    "an unknown task": (lambda d: d.update(task="en-it"), "task: "),
    "no such parent": (lambda d: d.update(extends="base"), "no such experiment: 'base'"),
    "a circle": (lambda d: d.update(extends="ende_big"), "circle"),
    "infinite": (lambda d: d["training"].update(learning_rate_scale=float("inf")), ": .inf"),
    "not a number": (lambda d: d["model"].update(dropout=float("nan")), "finite number: .nan"),
    "nothing": (lambda d: d["model"].update(d_model=None), "whole number: nothing"),
    "an empty section": (lambda d: d.update(model=None), "`key: value` lines: nothing"),
    "no title": (lambda d: d.update(title=""), "title: must not be empty"),
    "no table": (lambda d: d.update(tables=[]), "tables: must not be empty"),
    "a table twice": (lambda d: d.update(tables=["table2"] * 2), "has an entry twice: table2"),
    "another task's table": (lambda d: d.update(tables=["table4"]), "table2, table3 for task"),
    "equal seeds": (lambda d: d.update(seeds=[1, 1]), "seeds: has an entry twice: 1"),
    "a negative seed": (lambda d: d.update(seeds=[-1]), "seeds.0: must be at least 0: -1"),
    "no seed": (lambda d: d.update(seeds=[]), "seeds: must not be empty"),
    "trees": (lambda d: d["decoding"].update(constrained=True), "unless the task is parsing"),
    "too few checkpoints": (lambda d: d["decoding"].update(n_average=1000), "1000 checkpoints"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_experiment_is_named_with_file_key_and_value(folder, case):
    change, expected = BAD[case]
    edit(folder, "experiments/ende_base", change)
    message = error_of(folder, "paper")
    assert expected in message
    assert "experiments/ende_base.yaml" in message


@pytest.mark.parametrize("case", BAD)
def test_words_are_for_users_and_a_mistake_is_reported_once(folder, case):
    edit(folder, "experiments/ende_base", BAD[case][0])
    lines = error_of(folder, "paper").split("\n")
    assert len(lines) <= 2  # en-fr's words may differ from en-de's
    for line in lines:
        assert re.match(r".*/ende_base\.yaml(:\d+)?: ", line)
        assert not re.search(r"Input should|NoneType|Literal|pydantic|\bdict\b|\bstr\b", line)


def test_a_mistake_of_base_stands_at_its_line_and_says_how_many_inherit_it(folder):
    path = folder / "experiments" / "ende_base.yaml"
    path.write_text(path.read_text().replace("n_average: 5 ", "n_average: 500 "))
    number = (
        path.read_text()
        .split("\n")
        .index(next(line for line in path.read_text().split("\n") if "n_average" in line))
    )
    (line,) = error_of(folder, "paper").split("\n")
    assert f"ende_base.yaml:{number + 1}: decoding.n_average: asks for 500 checkpoints" in line
    assert line.endswith("; 21 more experiments inherit this")  # not big's, which state their own


def test_a_wrong_parent_is_named_beside_what_else_is_wrong(folder):
    def change(data):
        data.update(extends="ende_bsae")
        data.pop("tables")

    edit(folder, "experiments/enfr_base", change)
    message = error_of(folder, "paper")
    assert "tables: is missing" in message
    assert "no such experiment: 'ende_bsae'" in message


def test_two_files_with_one_mistake_are_two_mistakes(folder):
    for name in ("ende_base", "ende_big"):
        edit(folder, f"experiments/{name}", lambda data: data["decoding"].update(n_average=9999))
    lines = error_of(folder, "paper").split("\n")
    assert sorted(re.findall(r"ende_\w+", line)[0] for line in lines) == ["ende_base", "ende_big"]


@pytest.mark.parametrize(
    "name", ["train", "all", "report", "table1", "decode_x", "train_ende_base"]
)
def test_an_experiment_named_like_a_rule_or_target_is_refused(folder, name):
    shutil.copy(folder / "experiments/table3_c_n2.yaml", folder / f"experiments/{name}.yaml")
    assert f"{name}.yaml: {name} names a rule or a target" in error_of(folder)


def test_every_rule_and_target_is_a_reserved_name(project_folder):
    text = "".join(p.read_text() for p in (project_folder / "workflow/rules").glob("*.smk"))
    rules = set(re.findall(r"^rule (\w+):", text, re.M))
    assert len(rules) > 10
    assert rules <= reserved_names()


def test_names_of_files(folder):
    text = (folder / "experiments/table3_c_n2.yaml").read_text()
    (folder / "experiments/My-row.yaml").write_text(text)
    assert "My-row.yaml: name: may hold a to z" in error_of(folder)
    (folder / "experiments/My-row.yaml").rename(folder / "experiments/row.yml")
    assert "row.yml: is not read; rename it to row.yaml" in error_of(folder)
    (folder / "experiments/row.yml").unlink()
    shutil.copy(folder / "scales/demo.yaml", folder / "scales/downloads.yaml")
    assert "results/downloads holds other files" in error_of(folder, "downloads")


def test_files_stay_strict(folder):
    for key, value in (("seeds", 1), ("seeds", ["1"]), ("results", "table2"), ("data_root", 2026)):
        edit(folder, "config", lambda data, key=key, value=value: data.update({key: value}))
        with pytest.raises(ConfigError, match=rf"config\.yaml:\d+: {key}(\.0)?: must be"):
            load_project(folder)
        shutil.copy(PROJECT_CONFIG, folder / "config.yaml")


def test_keys_in_a_corpus_file_are_named_as_they_stand_there(folder):
    path = folder / "corpora" / "grammar_ende.yaml"
    text = path.read_text()
    path.write_text(text.replace("  train:", "  trian:").replace("sizes: {train", "sizes: {trian"))
    assert re.search(
        r"grammar_ende\.yaml:\d+: source\.sizes\.trian: must be train", error_of(folder)
    )
    path.write_text(text.replace("kind: grammar", "kind: gramar"))
    assert re.search(r"grammar_ende\.yaml:\d+: source: kind must be grammar", error_of(folder))


def test_numbers_of_a_corpus_that_make_no_sense(folder):
    edit(folder, "corpora/grammar_ende", lambda data: data["source"].update(seed=-1))
    with pytest.raises(ConfigError, match=r"source\.seed: must be at least 0: -1"):
        load_corpus(folder / "corpora" / "grammar_ende.yaml")
    edit(
        folder, "corpora/template", lambda d: d["source"]["splits"]["train"][0].update(take=[9, 1])
    )
    with pytest.raises(
        ConfigError, match=r"splits\.train\.0\.take: must be the first and the last"
    ):
        load_corpus(folder / "corpora" / "template.yaml")


def test_every_bad_experiment_is_listed_not_the_first_alone(folder):
    for name in ("table3_c_n2", "table3_c_n4"):
        edit(folder, f"experiments/{name}", lambda data: data["model"].update(n_layers=0))
    message = error_of(folder)
    assert "table3_c_n2.yaml" in message
    assert "table3_c_n4.yaml" in message


def test_unknown_corpus_scale_result_and_doubled_key(folder):
    with pytest.raises(ConfigError, match="scale: no such file"):
        load_project(folder, {"scale": "huge"})
    with pytest.raises(ConfigError, match="results: unknown: 'table9'"):
        load_project(folder, {"results": ["table9"]})
    with pytest.raises(ConfigError, match="threads: unknown key"):
        load_project(folder, {"threads": 4})
    edit(folder, "scales/demo", lambda data: data["tasks"].update({"en-de": "wmt99"}))
    assert "tasks.en-de: no such file" in error_of(folder)
    edit(folder, "scales/demo", lambda data: data["tasks"].update({"en-de": "grammar_enfr"}))
    assert "tasks.en-de: needs a corpus of en and de" in error_of(folder)
    path = folder / "experiments" / "ende_base.yaml"
    path.write_text(path.read_text() + "\ntitle: again\n")
    assert "title: key stated twice, first in line " in error_of(folder, "paper")


@given(st.text(max_size=200))
def test_any_text_as_a_file_gives_a_config_error_or_a_project(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("config")
    (folder / "config.yaml").write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        load_project(folder)


def test_config_is_frozen_and_closed():
    values = {
        **dict.fromkeys(("n_layers", "d_ff", "n_heads", "d_k", "d_v", "max_positions"), 2),
        "d_model": 4,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "positions": "none",
        "causal": True,
    }
    model = ModelConfig(**values)
    with pytest.raises(ValidationError):
        model.d_model = 8
    with pytest.raises(ValidationError):
        ModelConfig(**values, width=4)
    with pytest.raises(ValidationError):
        ModelConfig(**{**values, "n_layers": 2.0})


@pytest.mark.parametrize("name", FILES)
def test_json_schema_has_not_drifted(project_folder, name):
    path = project_folder / "config" / "schema" / f"{name}.schema.json"
    assert path.read_text() == schema_text(name), "run: make schema"
