"""What a scale divides and sets, and what an experiment keeps."""

import re
import shutil

import yaml
from hypothesis import given
from hypothesis import strategies as st
from spoiled import edit, error_of

from pipeline.config.loading import load_project


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


def test_a_variation_keeps_what_it_states_whatever_a_scale_sets_for_what_it_extends(folder):
    """Of a base, a task and an experiment alike; the file of the task itself is replaced."""
    own = {"training": {"max_steps": 240, "learning_rate_scale": 2.0}}
    for name, parent in (("mine", "ende_base"), ("mine_big", "ende_big"), ("mine_en_fr", "mine")):
        path = folder / "experiments" / f"{name}.yaml"
        texts = {"extends": parent, "title": name, "tables": ["table2"]}
        path.write_text(yaml.safe_dump(texts | (own if parent.startswith("ende") else {})))
    edit(folder, "experiments/mine_en_fr", lambda data: data.update(task="en-fr"))
    path = folder / "experiments/my_parser.yaml"
    path.write_text(
        "extends: parsing_wsj\ntitle: mine\ntables: [table4]\ndecoding: {constrained: false}\n"
    )
    edit(
        folder,
        "scales/demo",
        lambda data: data["settings"]["tasks"].update(
            {"en-fr": {"training": {"learning_rate_scale": 0.7}}}
        ),
    )
    experiments = load_project(folder, {"scale": "demo"}).experiments
    settings = yaml.safe_load((folder / "scales" / "demo.yaml").read_text())["settings"]
    warmup_steps = settings["base"]["training"]["warmup_steps"]
    of_big = settings["experiments"]["ende_big"]["training"]["max_steps"]
    for name in ("mine", "mine_big"):
        assert experiments[name].training.max_steps == 240
        assert experiments[name].training.learning_rate_scale == 2.0
        assert experiments[name].training.warmup_steps == warmup_steps
    assert experiments["mine_en_fr"].training.max_steps == 240
    assert experiments["mine_en_fr"].training.learning_rate_scale == 0.7
    assert experiments["ende_big"].training.max_steps == of_big
    assert not experiments["my_parser"].decoding.constrained
    assert experiments["my_parser"].decoding.max_extra_tokens == 100


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


def test_a_value_that_a_scale_sets_is_named_in_the_scale(folder):
    edit(folder, "scales/demo", lambda d: d["settings"]["base"]["training"].update(max_steps=10))
    (line,) = error_of(folder).split("\n")
    assert re.search(r"scales/demo\.yaml:\d+: settings\.base\.training\.checkpoint_inter", line)
    assert line.endswith("; 21 more experiments inherit this")


def test_a_problem_of_two_keys_names_the_file_of_the_other_too(folder):
    def change(data):
        data["settings"]["base"]["training"] = {"max_steps": 120}
        del data["settings"]["experiments"]

    edit(folder, "scales/demo", change)
    line = next(line for line in error_of(folder).split("\n") if "not exceed" in line)
    assert "experiments/ende_base.yaml:" in line
    assert re.search(r"max_steps 120: 1500 \(at scale demo; max_steps: \S+demo\.yaml:\d+\)", line)
