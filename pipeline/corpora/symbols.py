"""Tree symbols of lines of text: what the target side of a parsing corpus is made of."""

import re
from collections.abc import Container
from pathlib import Path

from pipeline.corpora.linearise import Tags, linearise, symbol_inventory
from pipeline.corpora.trees import parse_tree
from pipeline.files import iter_lines

# In a cleaned tree on one line a constituent's label is followed by a bracket, a tag by its word.
CONSTITUENT = re.compile(r"\(([^ ()]+)(?= \()")
TAG = re.compile(r"\(([^ ()]+) [^ ()]+\)")


def line_symbols(line: str, *, tags: Tags, known: Container[str]) -> list[str]:
    """The symbols of one cleaned tree; `known` are those of the vocabulary."""
    return linearise(parse_tree(line), tags=tags, known=known)


def file_inventory(path: str | Path, *, tags: Tags) -> list[str]:
    """What `symbol_inventory` gives for a file of cleaned trees, one a line, without parsing them.

    Silver trees come by the million, and their labels alone are wanted here.
    """
    labels: set[str] = set()
    words: set[str] = set()
    for line in iter_lines(path):
        labels.update(CONSTITUENT.findall(line))
        if tags == "keep":
            words.update(TAG.findall(line))
    names = {bracket + label for label in labels for bracket in "()"}
    return sorted(names | words | set(symbol_inventory([], tags=tags)))
