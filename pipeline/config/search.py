"""A small search over the settings of an experiment, chosen on dev: a file of config/searches.

The paper's section 6.3 chose dropout, learning rate and beam size of the parser on section 22. A
search is a grid: every combination of the values of `model` and `training` is a training, and
every one is decoded with every combination of the values of `decoding`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from pipeline.config.problems import problems
from pipeline.config.schema import Closed, DecodingConfig, Experiment, Name, Text
from pipeline.config.yaml_files import ConfigError, place

Values = Annotated[tuple[Any, ...], Field(strict=False, min_length=1)]
Grid = dict[str, Values]
TRAINED = ("model", "training")


class SearchFile(Closed):
    """A file of config/searches."""

    name: Name
    title: Text
    experiment: Name = Field(description="whose settings are varied; its first seed is trained")
    model: Grid = Field(default={}, description="key: values that are tried")
    training: Grid = Field(default={}, description="key: values that are tried")
    decoding: Grid = Field(default={}, description="key: values that are tried")


@dataclass(frozen=True)
class Search:
    """Trainings and the ways in which each is decoded; settings are counted from 1.

    trainings are named search_<name>_<number>; varied: the keys, as section.key.
    """

    name: str
    title: str
    experiment: str
    trainings: tuple[Experiment, ...]
    decodings: tuple[DecodingConfig, ...]
    varied: tuple[str, ...]

    def settings(self) -> list[tuple[str, dict[str, Any]]]:
        """For each setting its name, "<training>-<decoding>", and the values of what is varied."""
        found = []
        for t, training in enumerate(self.trainings, start=1):
            for d, decoding in enumerate(self.decodings, start=1):
                sections = {**_sections(training), "decoding": decoding}
                values = {}
                for key in self.varied:
                    section, name = key.split(".")
                    values[key] = getattr(sections[section], name)
                found.append((f"{t}-{d}", values))
        return found


def resolve_search(file: SearchFile, experiment: Experiment, path: Path) -> Search:
    """The grid of a search, around an experiment as the scale has it.

    Raises ConfigError for a key or a value that no experiment may have.
    """
    if not experiment.task.startswith("parsing"):
        raise ConfigError(
            f"{place(path, ('experiment',))}: a search ranks parsers by their brackets; "
            f"{experiment.name} is for {experiment.task}"
        )
    trained = {f"{section}.{key}": v for section in TRAINED for key, v in _of(file, section)}
    decoded = {f"decoding.{key}": values for key, values in _of(file, "decoding")}
    trainings = [
        _changed(experiment, changes, f"search_{file.name}_{number}", path)
        for number, changes in enumerate(_combinations(trained), start=1)
    ]
    decodings = [
        _changed(trainings[0], changes, file.name, path).decoding
        for changes in _combinations(decoded)
    ]
    return Search(
        name=file.name,
        title=file.title,
        experiment=experiment.name,
        trainings=tuple(trainings),
        decodings=tuple(decodings),
        varied=(*trained, *decoded),
    )


def _of(file: SearchFile, section: str) -> list[tuple[str, tuple[Any, ...]]]:
    return list(getattr(file, section).items())


def _combinations(grid: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _changed(experiment: Experiment, changes: dict[str, Any], name: str, path: Path) -> Experiment:
    data = experiment.model_dump()
    for key, value in changes.items():
        section, inner = key.split(".")
        data[section] = {**data[section], inner: value}
    try:
        return Experiment.model_validate({**data, "name": name})
    except ValidationError as error:
        lines = [
            f"{place(path, location[:2])}: {text}" if location[:1] else f"{path}: {text}"
            for location, text in problems(Experiment, data, error)
        ]
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None


def _sections(experiment: Experiment) -> dict[str, Any]:
    return {section: getattr(experiment, section) for section in TRAINED}
