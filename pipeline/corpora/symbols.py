"""Tree symbols of lines of text: what the target side of a parsing corpus is made of."""

from collections.abc import Container
from pathlib import Path

from pipeline.corpora.linearise import Tags, linearise, symbol_inventory
from pipeline.corpora.trees import parse_tree
from pipeline.files import iter_lines


def line_symbols(line: str, *, tags: Tags, known: Container[str]) -> list[str]:
    """The symbols of one cleaned tree; `known` are those of the vocabulary."""
    return linearise(parse_tree(line), tags=tags, known=known)


def file_inventory(path: str | Path, *, tags: Tags) -> list[str]:
    """All symbols of a file of cleaned trees, one a line, sorted."""
    return symbol_inventory((parse_tree(line) for line in iter_lines(path)), tags=tags)
