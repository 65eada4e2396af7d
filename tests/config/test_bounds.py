"""Every number has a bound that someone could mean, and more is an error before any job."""

import argparse
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from spoiled import edit, error_of

import pipeline.steps
from pipeline.__main__ import COMMANDS, main
from pipeline.config.corpus import CorpusConfig
from pipeline.config.loading import load_project
from pipeline.config.scale import Config, Scale
from pipeline.config.schema import Closed, Experiment, ModelConfig, TrainingConfig
from pipeline.config.search import SearchFile
from pipeline.config.sections import ExperimentFile
from pipeline.evaluation.cost import Device
from pipeline.machine import LIMITS, Machine
from pipeline.results.published import PublishedLayers, PublishedTable

FILES = (
    Config, Scale, CorpusConfig, Experiment, ExperimentFile, SearchFile, Device, PublishedLayers,
    PublishedTable,
)  # fmt: skip
STEPS = [module.name for module in pkgutil.iter_modules(pipeline.steps.__path__)]
FAR_TOO_MUCH = "1" + 40 * "0"


def numbers_in(annotation: Any, metadata: list[Any], place: str) -> Iterator[tuple[str, list[Any]]]:
    """The place of each number that a value of this type can hold, with what bounds it."""
    if isinstance(annotation, FieldInfo):
        yield from numbers_in(annotation.annotation, annotation.metadata, place)
    elif get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        more = [m for one in more for m in getattr(one, "metadata", [one])]
        yield from numbers_in(inner, [*metadata, *more], place)
    elif annotation in (int, float):
        yield place, metadata
    elif isinstance(annotation, type) and issubclass(annotation, Closed):
        for name, field in annotation.model_fields.items():
            yield from numbers_in(field, [], f"{place}.{name}")
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from numbers_in(part, metadata, place)
    else:
        for part in get_args(annotation):
            yield from numbers_in(part, [], place)


@pytest.mark.parametrize("model", FILES)
def test_every_number_of_a_file_has_both_bounds(model):
    found = list(numbers_in(model, [], model.__name__))
    for place, metadata in found:
        assert any(hasattr(m, "ge") or hasattr(m, "gt") for m in metadata), place
        assert any(hasattr(m, "le") or hasattr(m, "lt") for m in metadata), place
    assert found or model in (SearchFile,)


class Parser(Exception):
    pass


def options_of(module: str, monkeypatch, *arguments: str) -> argparse.ArgumentParser:
    """The parser that a step builds."""

    def stop(self, *_, **__):
        raise Parser(self)

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", stop)
        with pytest.raises(Parser) as caught:
            importlib.import_module(module).main(*arguments)
    return caught.value.args[0]


def is_number(action: argparse.Action) -> bool:
    if action.type in (None, json.loads) or action.choices:
        return False
    for sample in ("1", "2", "0.5"):
        try:
            return isinstance(action.type(sample), int | float)
        except (ValueError, argparse.ArgumentTypeError):
            continue
    return False


@pytest.mark.parametrize("step", STEPS)
def test_every_number_of_a_step_has_both_bounds(step, monkeypatch):
    parser = options_of(f"pipeline.steps.{step}", monkeypatch)
    for action in filter(is_number, parser._actions):
        for wrong in (FAR_TOO_MUCH, f"-{FAR_TOO_MUCH}", "nan", "inf", "x"):
            with pytest.raises(argparse.ArgumentTypeError, match=wrong):
                action.type(wrong)


def test_most_steps_have_numbers(monkeypatch):
    parser = options_of("pipeline.steps.train", monkeypatch)
    named = {action.dest for action in filter(is_number, parser._actions)}
    assert {"max_tokens", "ranks", "nodes", "seed", "keep", "safety_minutes"} <= named


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_of_a_command_has_an_upper_bound(command, capsys):
    module = importlib.import_module(f"pipeline.commands.{command}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    needed = []
    for action in parser._actions:
        if action.required and not action.option_strings:
            needed.append("nothing")
        elif action.required or action.dest == "languages":
            needed += [
                action.option_strings[0],
                *([*action.choices][:1] if action.choices else "x"),
            ]
    for action in filter(is_number, parser._actions):
        if getattr(action.type, "__name__", "") not in ("int", "float"):
            with pytest.raises((ValueError, argparse.ArgumentTypeError)):
                action.type(FAR_TOO_MUCH)
            continue
        option = action.option_strings[0]
        assert main([command, *needed, option, FAR_TOO_MUCH]) == 1
        said = capsys.readouterr().err
        assert f"{command}: {option} must be at most " in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("name", LIMITS)
def test_every_number_of_the_profile_has_both_bounds(name):
    for value in (-1, 10**9, "many"):
        with pytest.raises(
            ValueError, match=rf"{name} of rule train must be a whole number.*{value}"
        ):
            Machine.of({name: value})
    assert Machine.of({name: LIMITS[name][0] + 1, "gpu_type": "none"})


@pytest.mark.parametrize(
    ("section", "key", "value", "bound"),
    [
        ("decoding", "length_penalty", 1000.0, "at most 10"),
        ("decoding", "beam_size", 100_000, "at most 1000"),
        ("model", "dropout", 0.99999, "at most 0.9"),
        ("training", "label_smoothing", 0.99, "at most 0.9"),
        ("training", "max_steps", 10**10, "at most 100000000"),
        ("training", "learning_rate_scale", 1.0e6, "at most 100"),
    ],
)
def test_a_slip_is_named_with_its_line(folder, section, key, value, bound):
    edit(folder, "experiments/ende_base", lambda data: data[section].update({key: value}))
    said = error_of(folder, "paper")
    assert re.search(rf"ende_base\.yaml:\d+: {section}\.{key}: must be {bound}", said)


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (ModelConfig, {"n_layers": 1000}),  # DeepNet
        (ModelConfig, {"n_heads": 1, "d_k": 512, "d_v": 512}),  # Table 3 A
        (ModelConfig, {"d_model": 20480, "d_ff": 81920, "n_heads": 128}),
        (ModelConfig, {"dropout": 0.8, "attention_dropout": 0.5}),
        (TrainingConfig, {"adam_betas": (0.9, 0.9999), "adam_eps": 1.0}),
        (TrainingConfig, {"tokens_per_step": 4_000_000, "max_steps": 3_000_000}),
        (TrainingConfig, {"clip_norm": 10_000.0, "learning_rate_scale": 10.0}),
    ],
)
def test_what_someone_could_mean_stays_allowed(model, values):
    base = load_project("config", {"scale": "paper"}).experiments["ende_base"]
    section = base.model if model is ModelConfig else base.training
    assert model.model_validate({**section.model_dump(), **values})


@pytest.mark.parametrize("beam_size", [1, 4, 21, 1000])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0, 10.0])
def test_a_search_within_the_bounds_never_overflows(beam_size, length_penalty):
    """The penalty of the longest output that can be is a finite float; what fails lies beyond."""
    base = load_project("config", {"scale": "paper"}).experiments["ende_base"].decoding
    changes = {"beam_size": beam_size, "length_penalty": length_penalty}
    decoding = type(base).model_validate({**base.model_dump(), **changes})
    longest = 1 << 21
    assert ((5.0 + longest) / 6.0) ** decoding.length_penalty < sys.float_info.max
