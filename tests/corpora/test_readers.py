"""Readers give exact lines or a clear error, and the same number on both sides."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.readers import iter_part, iter_side
from pipeline.corpora.sources import SourceFile, SourcePart
from pipeline.files import BYTE_ORDER_MARK, sha256_of

CURSED = "a\rb\r\nc\u2028d\ne\u0085f\x0bg\x0ch\x1ci\n"
SIDES = ("en", "de")


def no_warning(message):
    raise AssertionError(message)


def part(files, **options):
    return SourcePart(name="p", sides=dict(zip(SIDES, files, strict=True)), **options)


def write(path, data):
    path.write_bytes(data)
    return SourceFile(path=str(path))


def rows(source, warn=no_warning):
    return list(iter_part(source, SIDES, warn=warn))


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
def test_only_the_line_feed_ends_a_line(tmp_path, pack):
    file = write(tmp_path / "a", pack(CURSED.encode()))
    lines = list(iter_side(file, warn=no_warning))
    assert [line.decode() for line in lines] == CURSED.split("\n")[:-1]
    assert len(lines) == 3


@given(st.binary(max_size=200))
def test_any_bytes_give_exactly_their_lines(tmp_path_factory, data):
    file = write(tmp_path_factory.mktemp("any") / "a.txt", b"x" + data)
    expected = (b"x" + data).split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert list(iter_side(file, warn=no_warning)) == expected


@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(["sgml", "jsonl", "text"]))
def test_any_bytes_give_equal_sides_or_a_clear_error(tmp_path_factory, first, second, kind):
    first, second = b"x" + first, b"x" + second
    folder = tmp_path_factory.mktemp("any")
    files = [
        write(folder / name, data).model_copy(update={"format": kind, "field": "x"})
        for name, data in (("a", first), ("b", second))
    ]
    counts = [data.count(b"\n") + (not data.endswith(b"\n")) for data in (first, second)]
    if kind == "text" and counts[0] == counts[1]:
        assert len(rows(part(files))) == counts[0]
    else:
        with pytest.raises(ValueError, match="sides differ" if kind == "text" else str(folder)):
            rows(part(files))


@given(st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"")), max_size=6), st.data())
def test_sides_of_different_length_are_an_error_that_counts_both(tmp_path_factory, lines, data):
    folder = tmp_path_factory.mktemp("sides")
    other = lines + [b"more"] * data.draw(st.integers(0, 3))
    sides = [lines, other][:: data.draw(st.sampled_from([1, -1]))]
    files = [
        write(folder / f"{index}", b"x\n" + b"".join(line + b"\n" for line in side))
        for index, side in enumerate(sides)
    ]
    if len(lines) == len(other):
        assert rows(part(files)) == [(b"x", b"x"), *zip(*sides, strict=True)]
        return
    found = [f"{len(side) + 1} in {folder}/{index}" for index, side in enumerate(sides)]
    with pytest.raises(ValueError, match=f"lines, .*: en {found[0]}; de {found[1]}"):
        rows(part(files))


def test_a_side_without_a_line_is_called_empty(tmp_path):
    files = [write(tmp_path / "test.en", b""), write(tmp_path / "test.de", b"x\n")]
    with pytest.raises(ValueError, match=r"en 0 in .*test\.en \(empty\); de 1 in .*test\.de$"):
        rows(part(files))


def test_a_byte_order_mark_opens_no_line(tmp_path):
    file = write(tmp_path / "a", BYTE_ORDER_MARK + "Straße\tab\u00a0e\u0301\n".encode())
    assert list(iter_side(file, warn=no_warning)) == ["Straße\tab\u00a0e\u0301".encode()]


def test_take_and_published_counts(tmp_path):
    files = [write(tmp_path / side, b"1\n2\n3\n4\n") for side in SIDES]
    assert rows(part(files, take=(2, 3), lines=4)) == [(b"2", b"2"), (b"3", b"3")]
    said = []
    rows(part(files, lines=5), warn=said.append)
    assert said == ["p: 4 lines, where 5 are published"]
    with pytest.raises(ValueError, match="take ends at 9"):
        rows(part(files, take=(1, 9)))


def test_the_digest_of_the_unpacked_text_is_checked(tmp_path):
    text = write(tmp_path / "a", b"1\n2\n")
    packed = write(tmp_path / "a.gz", gzip.compress(b"1\n2\n"))
    digest = sha256_of(text.path)
    good = packed.model_copy(update={"text_sha256": digest})
    assert list(iter_side(good, warn=no_warning)) == [b"1", b"2"]
    bad = packed.model_copy(update={"text_sha256": "0" * 64})
    with pytest.raises(ValueError, match=r"a\.gz: the text has sha256 .* another version"):
        list(iter_side(bad, warn=no_warning))
    said = []
    list(iter_side(packed.model_copy(update={"text_md5": "0" * 32}), warn=said.append))
    assert "md5" in said[0]


def test_json_records(tmp_path):
    records = [{"translation": {"en": "a\tb", "de": "c\nd\u2028e"}}, {"translation": {"en": "x"}}]
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    file = write(tmp_path / "a.jsonl.gz", gzip.compress(data))
    english = file.model_copy(update={"format": "jsonl", "field": "translation.en"})
    german = file.model_copy(update={"format": "jsonl", "field": "translation.de"})
    assert list(iter_side(english, warn=no_warning)) == [b"a\tb", b"x"]
    with pytest.raises(ValueError, match=r"line 2: no text under the key translation\.de"):
        list(iter_side(german, warn=no_warning))
