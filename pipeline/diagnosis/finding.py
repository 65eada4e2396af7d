"""One line of a diagnosis."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "warning", "error"]
COLUMNS = 100
STATE_WIDTH, SUBJECT_WIDTH = 9, 12


@dataclass(frozen=True)
class Finding:
    """error: a scale can't be run before that is mended. warning: it can, slower or with less."""

    subject: str
    state: State
    text: str
    fix: str = ""

    def lines(self) -> list[str]:
        """At most COLUMNS wide; the fix begins a line of its own."""
        head = f"{self.state:<{STATE_WIDTH}}{self.subject:<{SUBJECT_WIDTH}}"
        indent = " " * len(head)
        told = _wrapped(head + self.text, indent)
        return told + (_wrapped(f"{indent}fix: {self.fix}", indent) if self.fix else [])


def found(subject: str, check: Callable[..., list[Finding]], *given: Any) -> list[Finding]:
    """What a check finds; where it breaks itself, that is a finding, and the others go on."""
    try:
        return check(*given)
    except Exception as error:
        return [Finding(subject, "warning", f"can't be told: {first_line(error)}")]


def first_line(error: object) -> str:
    """Of a message; an exception without one by the name of its kind."""
    lines = str(error).strip().split("\n")
    return lines[0] or type(error).__name__


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    )
