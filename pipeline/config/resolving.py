"""One experiment's values, each with its place: its parents', divided, then what the scale sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from pipeline.config.problems import alike
from pipeline.config.scale import Scale
from pipeline.config.schema import Closed
from pipeline.config.sections import SECTIONS, Divisors, ExperimentFile, Sections
from pipeline.config.yaml_files import ConfigError, Location, place


@dataclass
class Resolved:
    """Plain data of an experiment, and for each of its keys the file and key that state it."""

    data: dict[str, Any] = field(default_factory=lambda: {section: {} for section in SECTIONS})
    origins: dict[Location, tuple[Path, Location]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, section: str, values: Mapping[str, Any], path: Path, at: Location = ()) -> None:
        """Values of a section that stands in `path` below the keys `at`."""
        self.data[section] |= values
        for key in values:
            self.origins[section, key] = path, (*at, section, key)


def ancestry(name: str, parents: Mapping[str, str], paths: Mapping[str, Path]) -> list[str]:
    """The files that an experiment extends, the first one first, itself last.

    parents: what each extends, those that extend nothing left out. Raises ConfigError for a parent
    that there isn't, and for a circle.
    """
    chain = [name]
    while parent := parents.get(chain[0]):
        if parent in chain:
            circle = chain[: chain.index(parent) + 1][::-1]
            start = circle.index(min(circle))
            names = [*circle[start:], *circle[:start], circle[start]]
            raise ConfigError(
                f"{place(paths[names[0]], ('extends',))}: goes round in a circle: "
                f"{' extends '.join(names)}"
            )
        if parent not in paths:
            raise ConfigError(
                f"{place(paths[chain[0]], ('extends',))}: no such experiment: {parent!r}"
                f"{alike(parent, [*paths])} (there are: {', '.join(paths)})"
            )
        chain.insert(0, parent)
    return chain


def resolve(
    chain: Sequence[str],
    files: Mapping[str, ExperimentFile],
    paths: Mapping[str, Path],
    scale: Scale,
    scale_path: Path,
) -> Resolved:
    """The last experiment of a chain: from its first file to its last, values divided, then set.

    What the scale sets for the base, a task or an experiment replaces what the file says with which
    that begins; a file further on that states the key keeps its own.
    """
    found = Resolved()
    settings = scale.settings
    for level, name in enumerate(chain):
        stated = files[name].model_dump(exclude_unset=True, exclude={"extends"})
        own: list[tuple[Location, Sections]] = []
        if level == 0:
            own.append((("settings", "base"), settings.base))
        task = stated.get("task", found.data.get("task"))
        if task != found.data.get("task") and task in settings.tasks:
            own.append((("settings", "tasks", task), settings.tasks[task]))
        if name in settings.experiments:
            own.append((("settings", "experiments", name), settings.experiments[name]))
        for section in SECTIONS:
            values = _divide(
                stated.pop(section, {}), section, scale, scale_path, paths[name], found
            )
            found.take(section, values, paths[name])
            for at, sections in own:
                found.take(section, _stated(sections, section), scale_path, at)
        found.data |= stated
        found.origins |= {(key,): (paths[name], (key,)) for key in stated}
    return found


def _divide(
    values: dict[str, Any],
    section: str,
    scale: Scale,
    scale_path: Path,
    path: Path,
    found: Resolved,
) -> dict[str, Any]:
    divisors = _stated(scale.divide, section)
    divided = dict(values)
    for key in values.keys() & divisors.keys():
        share = Fraction(values[key], divisors[key])
        if share.denominator != 1:
            found.problems.append(
                f"{place(path, (section, key))}: {values[key]} divided by {divisors[key]} "
                f"({place(scale_path, ('divide', section, key))}) leaves a fraction: "
                f"{float(share):g}"
            )
        divided[key] = int(share)
    return divided


def _stated(sections: Sections | Divisors, section: str) -> dict[str, Any]:
    """The keys that a section of a scale states, as plain data."""
    stated: Closed = getattr(sections, section)
    return stated.model_dump(exclude_unset=True)
