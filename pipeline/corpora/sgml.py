"""SGML test sets (mteval, as WMT and sacreBLEU distribute them): one segment is one line."""

import html
import re
from collections.abc import Iterator

SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg\s*>", re.IGNORECASE | re.DOTALL)
OPENING = re.compile(r"<seg\b", re.IGNORECASE)
REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
INNER_LINE_END = re.compile(r"[ \t\r]*\n[ \t\r]*")


def iter_segments(text: str, *, name: str) -> Iterator[str]:
    """Yield the segments in file order, references such as "&quot;" replaced once.

    Blanks around a segment are layout and dropped; a line end inside one becomes a space.
    Raises ValueError where a segment is not closed or there is none at all.
    """
    count = end = 0
    for match in SEGMENT.finditer(text):
        _no_opening(text[end : match.start()], count, name)
        _no_opening(match[1], count, name)
        end = match.end()
        count += 1
        yield unescape(INNER_LINE_END.sub(" ", match[1].strip(" \t\r\n"))).replace("\n", " ")
    _no_opening(text[end:], count, name)
    if not count:
        raise ValueError(f"{name}: no <seg> in it, so this is no SGML test set; use format: text")


def unescape(text: str) -> str:
    """Replace character references that end in ";" once: "&amp;quot;" becomes "&quot;"."""
    return REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def _no_opening(text: str, count: int, name: str) -> None:
    if OPENING.search(text):
        raise ValueError(f"{name}: segment {count + 1} has no </seg>; the file is damaged")
