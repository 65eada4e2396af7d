"""From YAML files to one checked project: `extends:`, then the scale, then the closed schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from pipeline.config.corpus import CorpusConfig
from pipeline.config.scale import Config, Scale
from pipeline.config.schema import Closed, Experiment
from pipeline.config.sections import SECTIONS, Divisors, ExperimentFile, Sections

TARGETS = ("table1", "table2", "table3", "table4", "figures", "report")
SIDES = {"en-de": ("en", "de"), "en-fr": ("en", "fr")}  # the parser's are words and trees
M = TypeVar("M", bound=Closed)


class ConfigError(ValueError):
    """What is wrong in the configuration, one line a problem, each naming file, key and value."""


@dataclass(frozen=True)
class Project:
    """Everything that one run of the workflow is told.

    left_out: experiments that the scale does not run, and why.
    """

    config: Config
    scale: Scale
    experiments: dict[str, Experiment]
    corpora: dict[str, CorpusConfig]
    left_out: dict[str, str]

    def corpus_of(self, experiment: str) -> CorpusConfig:
        return self.corpora[self.scale.tasks[self.experiments[experiment].task]]

    def seeds_of(self, experiment: str) -> tuple[int, ...]:
        return self.experiments[experiment].seeds or self.config.seeds


def load_project(
    folder: str | Path = "config", settings: Mapping[str, Any] | None = None
) -> Project:
    """Read and check all that a scale needs.

    folder: holds config.yaml, scales/, corpora/ and experiments/.
    settings: values that replace those of config.yaml (the command line's).
    Raises ConfigError that lists every problem of every experiment of the scale.
    """
    folder = Path(folder)
    path = folder / "config.yaml"
    config = _validate(Config, {**read_yaml(path), **(settings or {})}, str(path))
    scale_path = _named(folder / "scales", config.scale, key="scale", file=path)
    scale = _validate(Scale, {**read_yaml(scale_path), "name": config.scale}, str(scale_path))
    problems: list[str] = []
    corpora = _corpora(folder, scale, scale_path, problems)
    found = _experiments(folder, scale, scale_path, problems)
    experiments = {name: e for name, e in found.items() if e.task in scale.tasks}
    drawn = scale.attention.experiment if scale.attention else None
    if drawn and drawn not in experiments and not problems:
        problems.append(f"{scale_path}: attention.experiment: not run at this scale: {drawn!r}")
    known = {*TARGETS, *experiments}
    problems += [
        f"{path}: results: unknown: {result!r} (allowed: {', '.join(sorted(known))})"
        for result in config.results
        if result not in known and not problems
    ]
    if problems:
        raise ConfigError("\n".join(problems))
    left_out = {
        name: f"scale {scale.name} names no corpus for task {experiment.task}"
        for name, experiment in found.items()
        if name not in experiments
    }
    return Project(config, scale, experiments, corpora, left_out)


def load_corpus(path: str | Path) -> CorpusConfig:
    """One file of config/corpora. Raises ConfigError."""
    path = Path(path)
    return _validate(CorpusConfig, {**read_yaml(path), "name": path.stem}, str(path))


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping. Raises ConfigError for a missing file, bad YAML or a key stated twice."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must hold `key: value` lines: {data!r}")
    return data


def _corpora(
    folder: Path, scale: Scale, scale_path: Path, problems: list[str]
) -> dict[str, CorpusConfig]:
    corpora = {}
    for task, name in scale.tasks.items():
        try:
            path = _named(folder / "corpora", name, key=f"tasks.{task}", file=scale_path)
            corpora[name] = load_corpus(path)
            wanted = SIDES.get(task, ("words", "trees"))
            if corpora[name].languages != wanted:
                problems.append(
                    f"{scale_path}: tasks.{task}: needs a corpus of {' and '.join(wanted)}, "
                    f"{name} is of {' and '.join(corpora[name].languages)}"
                )
        except ConfigError as error:
            problems.append(str(error))
    return corpora


def _experiments(
    folder: Path, scale: Scale, scale_path: Path, problems: list[str]
) -> dict[str, Experiment]:
    files: dict[str, ExperimentFile] = {}
    for path in sorted((folder / "experiments").glob("*.yaml")):
        try:
            files[path.stem] = _validate(ExperimentFile, read_yaml(path), str(path))
        except ConfigError as error:
            problems.append(str(error))
    problems += [
        f"{scale_path}: settings.experiments: no such experiment: {name!r}"
        for name in scale.settings.experiments
        if not (folder / "experiments" / f"{name}.yaml").exists()
    ]
    if problems:
        return {}
    experiments = {}
    for name in files:
        path = folder / "experiments" / f"{name}.yaml"
        try:
            data = _resolve(name, files, scale, scale_path, path)
            where = f"{path} at scale {scale.name} ({scale_path})"
            experiments[name] = _validate(Experiment, {**data, "name": name}, where)
        except ConfigError as error:
            problems.append(str(error))
    return experiments


def _resolve(
    name: str, files: dict[str, ExperimentFile], scale: Scale, scale_path: Path, path: Path
) -> dict[str, Any]:
    """Plain data of an experiment: its parents' values, divided, with the scale's settings."""
    chain = _ancestry(name, files, path)
    data: dict[str, Any] = {section: {} for section in SECTIONS}
    for level, ancestor in enumerate(chain):
        stated = files[ancestor].model_dump(exclude_unset=True, exclude={"extends"})
        for section in SECTIONS:
            values = stated.pop(section, {})
            data[section] |= _divide(values, section, scale, scale_path, path)
            if level == 0:
                data[section] |= _stated(scale.settings.base, section)
        data |= stated
    own = [scale.settings.all]
    own += [scale.settings.tasks[data["task"]]] if data.get("task") in scale.settings.tasks else []
    own += [scale.settings.experiments[a] for a in chain if a in scale.settings.experiments]
    for sections in own:
        for section in SECTIONS:
            data[section] |= _stated(sections, section)
    return data


def _ancestry(name: str, files: dict[str, ExperimentFile], path: Path) -> list[str]:
    """The files that an experiment extends, the first one first, itself last."""
    chain = [name]
    while parent := files[chain[0]].extends:
        if parent in chain:
            circle = " extends ".join([parent, *reversed(chain[: chain.index(parent)]), parent])
            raise ConfigError(f"{path}: extends: goes round in a circle: {circle}")
        if parent not in files:
            raise ConfigError(
                f"{path}: extends: no such experiment: {parent!r} (there are: {', '.join(files)})"
            )
        chain.insert(0, parent)
    return chain


def _divide(
    values: dict[str, Any], section: str, scale: Scale, scale_path: Path, path: Path
) -> dict[str, Any]:
    divisors = _stated(scale.divide, section)
    divided = dict(values)
    for key in values.keys() & divisors.keys():
        share = Fraction(values[key], divisors[key])
        if share.denominator != 1:
            raise ConfigError(
                f"{path}: {section}.{key}: {values[key]} divided by {divisors[key]} "
                f"({scale_path}: divide.{section}.{key}) leaves a fraction: {float(share):g}"
            )
        divided[key] = int(share)
    return divided


def _stated(sections: Sections | Divisors, section: str) -> dict[str, Any]:
    """The keys that a section of a scale states, as plain data."""
    return getattr(sections, section).model_dump(exclude_unset=True)


def _validate(model: type[M], data: dict[str, Any], file: str) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [f"{file}: {_problem(model, problem)}" for problem in error.errors()]
        raise ConfigError("\n".join(lines)) from None


def _problem(model: type[Closed], problem: Any) -> str:
    """One line: the key, what is wrong, the value, what is allowed."""
    key = ".".join(str(part) for part in problem["loc"]) or "(the whole)"
    value, message = problem["input"], problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        allowed = ", ".join(_keys_at(model, problem["loc"][:-1]))
        return f"{key}: unknown key: {value!r}" + (f" (allowed: {allowed})" if allowed else "")
    if problem["type"] == "missing":
        return f"{key}: is missing; state it"
    if problem["type"] == "value_error":
        return f"{key}: {message}"
    if problem["type"] == "float_type" and isinstance(value, str) and _is_number(value):
        message += f" (YAML reads {value} as text; write {float(value)!r} as 1.0e-9 is written)"
    return f"{key}: {message}: {value!r}"


def _keys_at(model: type[Closed], location: tuple[int | str, ...]) -> list[str]:
    """Names of the fields of the model at a location; none where a location is no model."""
    for part in location:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, Closed)):
            return []
        model = annotation
    return sorted(model.model_fields)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(folder: Path, name: str, *, key: str, file: Path) -> Path:
    path = folder / f"{name}.yaml"
    if not path.exists():
        there = ", ".join(sorted(other.stem for other in folder.glob("*.yaml")))
        raise ConfigError(f"{file}: {key}: no such file: {path} (there are: {there})")
    return path


class _UniqueKeys(yaml.SafeLoader):
    """YAML keeps the last of two equal keys and says nothing; here that is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key stated twice: {key}", node.start_mark
                )
        return super().construct_mapping(node, deep)
