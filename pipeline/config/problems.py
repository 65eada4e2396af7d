"""What a closed model says against its data, in words for the people who wrote the file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError

from pipeline.config.schema import Closed
from pipeline.config.yaml_files import Location, shown

WORDS = {
    "bool_type": "must be true or false",
    "dict_type": "must hold `key: value` lines",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "model_type": "must hold `key: value` lines",
    "string_too_short": "must not be empty",
    "string_type": "must be text",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have {min_length} entries or more",
    "tuple_type": "must be a list",
    "union_tag_invalid": "{discriminator} must be {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing; state it",
}  # of pydantic's kinds of error; others keep its message
PATTERNS = {
    r"^[a-z0-9_]+$": "may hold a to z, 0 to 9 and _ alone",
    r"^[0-9a-f]{64}$": "must be 64 digits of 0 to 9 and a to f",
    r"^[0-9a-f]{40}$": "must be 40 digits of 0 to 9 and a to f",
    r"^[0-9a-f]{32}$": "must be 32 digits of 0 to 9 and a to f",
    r"^[^/].*": "must be a path that does not start with /",
    r"^[^=\s]+==[^=\s]+$": "must have the form name==version",
}


def problems(
    model: type[Closed], data: Mapping[str, Any], error: ValidationError
) -> Iterator[tuple[Location, str]]:
    """For each problem the keys that lead to it, as they stand in the file, and what is wrong.

    A validator's message that begins with a key, dots between its parts, is about that key.
    """
    for problem in error.errors():
        if problem["type"] == "too_short" and len(problem["input"]) >= problem["ctx"]["min_length"]:
            continue  # entries that are wrong are not counted, and have a problem of their own
        location, text = _as_written(problem["loc"], data), _words(model, problem)
        first, _, rest = text.partition(" ")
        named = _as_written((*location, *first.split("."), ""), data)[:-1]
        if problem["type"] == "value_error" and len(named) > len(location):
            location, text = named, rest
        yield location, text


def at(location: Location, text: str) -> str:
    """A problem with its key before it."""
    return f"{'.'.join(map(str, location))}: {text}" if location else text


def alike(name: str, names: Sequence[str]) -> str:
    """A hint at the name that was meant, or nothing."""
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _words(model: type[Closed], problem: Any) -> str:
    """What is wrong, the value, what is allowed."""
    kind, value, context = problem["type"], problem["input"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = _keys_at(model, problem["loc"][:-1])
        hint = alike(str(problem["loc"][-1]), allowed)
        return f"unknown key{hint} (allowed: {', '.join(allowed)})"
    if kind == "missing":
        return "is missing; state it"
    if kind == "value_error":
        return str(problem["msg"]).removeprefix("Value error, ")
    words = WORDS.get(kind, problem["msg"])
    if kind == "too_short" and context["min_length"] == 1:
        words = "must not be empty"
    if kind == "string_pattern_mismatch":
        words = PATTERNS.get(context["pattern"], f"must match {context['pattern']}")
    if kind == "float_type" and isinstance(value, str) and _is_number(value):
        words += f" (YAML reads {value} as text; write {float(value)!r} as 1.0e-9 is written)"
    if kind.startswith("union_tag"):
        value = value.get(context["discriminator"].strip("'")) if kind.endswith("invalid") else ""
    filled = {key: re.sub("['\"]", "", str(text)) for key, text in context.items()}
    words = words.format(**filled) if kind in WORDS else words
    return f"{words}: {shown(value)}" if value != "" or kind == "string_too_short" else words


def _as_written(location: Location, data: Any) -> Location:
    """A location without the marks that pydantic adds: the kind of a union, "[key]"."""
    kept: list[int | str] = []
    for number, part in enumerate(location):
        inside = isinstance(data, Mapping) and part in data
        if inside or (isinstance(data, list | tuple) and part in range(len(data))):
            kept.append(part)
            data = data[part]
        elif number == len(location) - 1 and part != "[key]":
            kept.append(part)
    return tuple(kept)


def _keys_at(model: type[Closed], location: Location) -> list[str]:
    """Names of the fields that may stand at a location."""
    models = [model]
    for part in location:
        named = [m.model_fields[part] for m in models if part in m.model_fields]
        if named:
            models = [inner for field in named for inner in _models(field.annotation)]
        else:  # a number in a list, a name in a mapping, or the kind of a union
            of_kind = [m for m in models if part in _kinds(m)]
            models = of_kind or models
    return sorted({name for m in models for name in m.model_fields})


def _models(annotation: Any) -> list[type[Closed]]:
    if isinstance(annotation, type) and issubclass(annotation, Closed):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models(inner)]


def _kinds(model: type[Closed]) -> tuple[Any, ...]:
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field else ()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
