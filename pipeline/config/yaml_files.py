"""YAML as the project reads it: a key stated twice is an error, and every key has a line."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

Location = tuple[int | str, ...]


class ConfigError(ValueError):
    """What is wrong in the configuration, one line a problem, each naming file, key and value."""


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping. Raises ConfigError for a missing file, bad YAML or a key stated twice."""
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        doubled = list(_doubled(node, (), set()))
        data = None if node is None else loader.construct_document(node)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ConfigError(f"{where}: not valid YAML: {error.problem or error.context}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; convert the file to UTF-8") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if doubled:
        raise ConfigError("\n".join(f"{path}:{problem}" for problem in doubled))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must hold `key: value` lines: {shown(data)}")
    return data


def line_of(path: Path, location: Sequence[int | str]) -> int | None:
    """The line, from 1, on which the key at `location` stands; None where the file has no such key.

    A key that is missing has the line of the section that it is missing from.
    """
    line, node = None, yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    for part in location:
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = (node.value[part],) * 2 if part < len(node.value) else None
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return line


def place(path: Path, location: Sequence[int | str]) -> str:
    """file:line: key, without a line where there is no such file."""
    line = line_of(path, location) if path.is_file() else None
    key = ".".join(map(str, location))
    return (f"{path}:{line}" if line else str(path)) + (f": {key}" if key else "")


def shown(value: Any) -> str:
    """A value as YAML writes it, cut off where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        text = repr(value)
    else:
        text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), sort_keys=False)
        text = text.removesuffix("\n").removesuffix("\n...")
    return text if len(text) <= 80 else text[:79] + "…"


def _doubled(node: yaml.Node | None, above: Location, seen: set[int]) -> Iterator[str]:
    """Keys that stand twice in one mapping, each as "line: key: words"."""
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _doubled(item, (*above, number), seen)
    elif isinstance(node, yaml.MappingNode):
        first: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode):
                if (name := (key.tag, key.value)) in first:
                    where = ".".join(map(str, (*above, key.value)))
                    yield f"{line}: {where}: key stated twice, first in line {first[name]}"
                first.setdefault(name, line)
            yield from _doubled(value, (*above, getattr(key, "value", "?")), seen)
