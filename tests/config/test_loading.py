"""The configuration: what is right is resolved by the stated rules, what is wrong is named."""

import shutil

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.config.json_schema import FILES, schema_text
from pipeline.config.loading import ConfigError, load_corpus, load_project
from pipeline.config.schema import ModelConfig

SCALES = ("demo", "lab", "paper")


@pytest.fixture
def folder(tmp_path, project_folder):
    """A copy of the project's configuration, to be spoiled."""
    return shutil.copytree(project_folder / "config", tmp_path / "config")


def edit(folder, name, change):
    path = folder / f"{name}.yaml"
    data = yaml.safe_load(path.read_text())
    change(data)
    path.write_text(yaml.safe_dump(data))


def error_of(folder, scale="demo"):
    with pytest.raises(ConfigError) as caught:
        load_project(folder, {"scale": scale})
    return str(caught.value)


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


def test_scale_divides_then_sets_and_a_variation_keeps_its_own(folder):
    def settings(scale):
        scale["divide"] = {"model": {"d_model": 4}}
        scale["settings"] = {
            "base": {"model": {"dropout": 0.25, "n_layers": 3}},
            "tasks": {"en-fr": {"decoding": {"beam_size": 2}}},
            "experiments": {"enfr_base": {"decoding": {"beam_size": 3}}},
        }

    edit(folder, "scales/demo", settings)
    experiments = load_project(folder, {"scale": "demo"}).experiments
    assert experiments["ende_base"].model.d_model == 128
    assert experiments["ende_base"].model.dropout == 0.25
    assert experiments["table3_d_dropout2"].model.dropout == 0.2
    assert experiments["table3_c_n8"].model.n_layers == 8
    assert experiments["enfr_big"].decoding.beam_size == 2
    assert experiments["enfr_base"].decoding.beam_size == 3
    assert experiments["ende_base"].decoding.beam_size == 4


@given(value=st.integers(1, 10_000), divisor=st.integers(1, 100))
def test_division_is_exact_or_an_error(tmp_path_factory, project_folder, value, divisor):
    folder = tmp_path_factory.mktemp("division") / "config"
    shutil.copytree(project_folder / "config", folder)
    edit(folder, "experiments/table3_c_ff1024", lambda data: data["model"].update(d_ff=value))
    edit(folder, "scales/paper", lambda data: data.update(divide={"model": {"d_ff": divisor}}))
    if all(number % divisor == 0 for number in (value, 2048, 4096)):
        d_ff = load_project(folder, {"scale": "paper"}).experiments["table3_c_ff1024"].model.d_ff
        assert d_ff * divisor == value
    else:
        message = error_of(folder, "paper")
        assert "leaves a fraction" in message
        assert "divide.model.d_ff" in message


BAD = {
    "unknown key": (lambda d: d["model"].update(d_modle=512), "model.d_modle: unknown key"),
    "wrong type": (lambda d: d["model"].update(d_model="wide"), "model.d_model: "),
    "text for a number": (lambda d: d["training"].update(adam_eps="1e-9"), "1.0e-9"),
    "odd width": (lambda d: d["model"].update(d_model=511), "d_model must be even"),
    "dropout of one": (lambda d: d["model"].update(dropout=1.0), "model.dropout: "),
    "a missing key": (lambda d: d["model"].pop("d_ff"), "model.d_ff: is missing"),
    "an unknown task": (lambda d: d.update(task="en-it"), "task: "),
    "no such parent": (lambda d: d.update(extends="base"), "no such experiment: 'base'"),
    "a circle": (lambda d: d.update(extends="ende_big"), "circle"),
    "too few checkpoints": (lambda d: d["decoding"].update(n_average=1000), "1000 checkpoints"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_experiment_is_named_with_file_key_and_value(folder, case):
    change, expected = BAD[case]
    edit(folder, "experiments/ende_base", change)
    message = error_of(folder, "paper")
    assert expected in message
    assert "experiments/ende_base.yaml" in message


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
    assert "key stated twice: title" in error_of(folder, "paper")


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
