"""From a raw file of any format to lines: one iterator of undecoded lines for each side."""

import atexit
import hashlib
import io
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import IO

from pipeline.corpora.archives import open_text
from pipeline.corpora.sgml import iter_segments
from pipeline.corpora.sources import SourceFile, SourcePart
from pipeline.corpora.treebanks import iter_treebank
from pipeline.corpora.trees import leaves, to_line
from pipeline.encodings import START_BYTES, refuse_other_encodings
from pipeline.errors import naming_full_disk
from pipeline.files import READ_BYTES, iter_byte_lines, iter_lines

Warn = Callable[[str], None]
MISSING = object()


def iter_part(part: SourcePart, sides: Sequence[str], *, warn: Warn) -> Iterator[tuple[bytes, ...]]:
    """Yield one tuple a line, with the lines of `sides` in their order.

    Raises ValueError where the sides differ in their number of lines, and at the end where a
    side's text does not have the digest that the corpus file gives.
    """
    streams = [iter_side(part.sides[side], warn=warn) for side in sides]
    first, last = part.take or (1, None)
    counts = [0] * len(streams)
    for lines in _rows(streams, counts):
        if counts[0] >= first and (last is None or counts[0] <= last):
            yield lines
    if len(set(counts)) > 1:
        found = "; ".join(
            f"{side} {count:,} in {part.sides[side].where}" + (" (empty)" if not count else "")
            for side, count in zip(sides, counts, strict=True)
        )
        raise ValueError(
            f"{part.name}: the sides differ in their number of lines, so pairs would be wrong; "
            f"fetch or export the files again: {found}"
        )
    _check_lines(part, counts[0], warn)


def iter_tree_pairs(part: SourcePart, *, warn: Warn) -> Iterator[tuple[bytes, bytes]]:
    """Yield for each tree of a treebank its words, joined by spaces, and its cleaned brackets.

    `take` and `lines` count trees; trees without a word are left out, with a warning.
    """
    file = part.sides["trees"]
    first, last = part.take or (1, None)
    counts: Counter[str] = Counter()
    trees = iter_treebank(file.path, members=file.members, counts=counts, warn=warn)
    for number, tree in enumerate(trees, start=1):
        if number >= first and (last is None or number <= last):
            yield " ".join(leaves(tree)).encode("utf-8"), to_line(tree).encode("utf-8")
    if counts["empty"]:
        warn(f"{part.name}: {counts['empty']:,} trees without words are left out")
    _check_lines(part, counts["trees"], warn)


def iter_side(file: SourceFile, *, warn: Warn) -> Iterator[bytes]:
    """Yield the lines of one side as bytes, without "\\n".

    Raises ValueError that names what a file is whose first bytes are of no UTF-8 text.
    """
    if file.format == "sqlite":
        yield from _iter_query(file)
        return
    with open_text(file.path, file.members) as stream:
        digests = _Digests(stream) if file.text_sha256 or file.text_md5 else None
        text = io.BufferedReader(digests, 1 << 18) if digests else stream
        refuse_other_encodings(text.peek(START_BYTES)[:START_BYTES], name=file.where)
        yield from _READERS[file.format](text, file)
        if digests:
            digests.check(file, warn)


def _check_lines(part: SourcePart, count: int, warn: Warn) -> None:
    if part.take is not None and count < part.take[1]:
        raise ValueError(f"{part.name}: take ends at {part.take[1]:,}, but there are {count:,}")
    if part.lines is not None and count != part.lines:
        warn(f"{part.name}: {count:,} lines, where {part.lines:,} are published")


def _rows(streams: list[Iterator[bytes]], counts: list[int]) -> Iterator[tuple[bytes, ...]]:
    """Zip, and go on counting where one ends before another."""
    while True:
        row = [next(stream, MISSING) for stream in streams]
        if any(line is MISSING for line in row):
            for index, (line, stream) in enumerate(zip(row, streams, strict=True)):
                if line is not MISSING:
                    counts[index] += 1 + sum(1 for _ in stream)
            return
        for index in range(len(counts)):
            counts[index] += 1
        yield tuple(row)


def _iter_sgml(stream: IO[bytes], file: SourceFile) -> Iterator[bytes]:
    text = "\n".join(iter_lines(stream, name=file.path))
    for line in iter_segments(text, name=file.path):
        yield line.encode("utf-8")


def _iter_jsonl(stream: IO[bytes], file: SourceFile) -> Iterator[bytes]:
    """Line ends inside a value become spaces: a record is one line of the corpus."""
    assert file.field
    for number, record in enumerate(iter_lines(stream, name=file.path), start=1):
        try:
            value = json.loads(record)
        except json.JSONDecodeError as error:
            raise ValueError(f"{file.path}, line {number}: no JSON record: {error}") from None
        for key in file.field.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, str):
            raise ValueError(f"{file.path}, line {number}: no text under the key {file.field}")
        yield value.replace("\r\n", " ").replace("\n", " ").encode("utf-8")


def _iter_query(file: SourceFile) -> Iterator[bytes]:
    """Run the query on a copy of the database member; it gives one text column."""
    assert file.field
    copy = _database(file.path, file.members)
    with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as database:
        for (value,) in database.execute(file.field):
            yield str(value).replace("\r\n", " ").replace("\n", " ").encode("utf-8")


@cache
def _database(path: str, members: tuple[str, ...]) -> Path:
    """The unpacked database, once for all queries; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="reattend."))
    atexit.register(shutil.rmtree, folder)
    copy = folder / "copy.db"
    with open_text(path, members) as stream, naming_full_disk(copy), open(copy, "wb") as target:
        shutil.copyfileobj(stream, target, READ_BYTES)
    return copy


_READERS = {
    "text": lambda stream, file: iter_byte_lines(stream),
    "sgml": _iter_sgml,
    "jsonl": _iter_jsonl,
}


class _Digests(io.RawIOBase):
    """A stream that digests what is read through it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sha256 = hashlib.sha256()
        self._md5 = hashlib.md5(usedforsecurity=False)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._sha256.update(data)
        self._md5.update(data)
        return len(data)

    def check(self, file: SourceFile, warn: Warn) -> None:
        sha256, md5 = self._sha256.hexdigest(), self._md5.hexdigest()
        if file.text_sha256 and file.text_sha256 != sha256:
            raise ValueError(
                f"{file.where}: the text has sha256 {sha256}, but the corpus file expects "
                f"{file.text_sha256}; this is another version of the data"
            )
        if file.text_md5 and file.text_md5 != md5:
            warn(f"{file.where}: the text has md5 {md5}, where {file.text_md5} is published")
