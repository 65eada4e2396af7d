"""Pieces of the report's HTML: escaped text, embedded files, Markdown rendered and tamed."""

import base64
import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import markdown

MIME_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="([^"]*)"[^>]*>')
LINK = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)
KEPT_LINKS = ("https://", "http://", "#")


def text(value: object) -> str:
    return html.escape(str(value))


def data_uri(path: Path) -> str:
    """A file as a data: URI. Raises ValueError for a suffix that is no image of ours."""
    if path.suffix not in MIME_TYPES:
        raise ValueError(f"only {', '.join(MIME_TYPES)} can be embedded: {path}")
    return f"data:{MIME_TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def image(path: Path, *, alt: str) -> str:
    return f'<div class="wide"><img src="{data_uri(path)}" alt="{text(alt)}"></div>'


def render_markdown(source: str, *, folder: Path, demote: int = 2) -> str:
    """HTML of a Markdown text that lies in `folder`.

    Headings sink by `demote` levels; images of `folder` are embedded, or named where they are
    missing; links to other files, which would not travel with the report, become plain text;
    tables scroll by themselves.
    """
    extensions = ["tables", "fenced_code", "sane_lists"]
    renderer = markdown.Markdown(extensions=extensions, output_format="html")
    renderer.preprocessors.deregister("html_block")  # corpus text in a card is text, never markup
    renderer.inlinePatterns.deregister("html")
    body = renderer.convert(source)
    body = re.sub(r"<(/?)h([1-6])>", lambda m: f"<{m[1]}h{min(6, int(m[2]) + demote)}>", body)
    body = IMAGE.sub(lambda found: _embedded(found[1], folder), body)
    body = LINK.sub(lambda m: m[0] if m[1].startswith(KEPT_LINKS) else m[2], body)
    body = body.replace("<table>", '<div class="wide"><table class="plain">')
    return body.replace("</table>", "</table></div>")


def _embedded(source: str, folder: Path) -> str:
    path = folder / source
    if not path.is_file():
        return f"<em>(image missing: {text(source)})</em>"
    return image(path, alt=path.stem)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; cells are escaped."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    lines = ("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide"><table class="plain"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def details(summary: str, body: str, *, identifier: str = "", shown: bool = False) -> str:
    """A part that opens on demand, or is open at first; `summary` is plain text."""
    mark = f' id="{text(identifier)}"' if identifier else ""
    mark += " open" * shown
    return f"<details{mark}><summary>{text(summary)}</summary>{body}</details>"
