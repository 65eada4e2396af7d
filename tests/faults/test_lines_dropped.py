"""No line goes in silence: encodings are named with the fix, what is dropped is told, or stops."""

import bz2
import gzip
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.corpus import TextCorpus
from pipeline.corpora.prepare import prepare
from pipeline.corpora.sources import SourceFile, SourcePart, Sources
from pipeline.encodings import MARKS, refuse_other_encodings
from pipeline.files import iter_lines

PAIRS = [(f"a house number {n}", f"ein Haus für Nummer {n}, schön") for n in range(100)]
ZSTD = b"\x28\xb5\x2f\xfd\x04\x58" + b"\x41" * 40
OTHERS = {
    "UTF-16": ("utf-16", "UTF-16"),
    "UTF-16LE": ("utf-16-le", "UTF-16LE"),
    "UTF-16BE": ("utf-16-be", "UTF-16BE"),
    "UTF-32": ("utf-32", "UTF-32"),
    "UTF-32BE": ("utf-32-be", "UTF-32BE"),
}


def corpus(**changes):
    data = {"name": "toy", "kind": "translation", "languages": ["en", "de"], "filters": {}}
    return TextCorpus.model_validate(data | changes)


def sources(folder, german, *, english=None, split="train"):
    """Raw files; german and english: bytes of the split's sides."""
    plain = [("".join(f"{pair[side]}\n" for pair in PAIRS)).encode() for side in (0, 1)]
    listed = {}
    for name in ("train", "dev", "test"):
        given_ = (english or plain[0], german) if name == split else plain
        sides = {}
        for side, data in zip(("en", "de"), given_, strict=True):
            path = folder / f"{name}.{side}"
            path.write_bytes(data)
            sides[side] = SourceFile(path=str(path))
        listed[name] = (SourcePart(name="mine", sides=sides),)
    return Sources(step="download", corpus="toy", commit="x", splits=listed)


def german(pairs=PAIRS):
    return "".join(f"{target}\n" for _, target in pairs)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize(("codec", "name"), OTHERS.values(), ids=OTHERS)
def test_wide_encodings_are_named_with_the_command_that_converts(tmp_path, codec, name, split):
    raw = sources(tmp_path, german().encode(codec), split=split)
    with pytest.raises(ValueError, match=rf"{split}\.de: {name}\b.*iconv -f {name} -t UTF-8"):
        prepare(corpus(), raw, tmp_path / "text")


@pytest.mark.parametrize(
    ("data", "packer"),
    [
        (ZSTD, "zstd"),
        (b"\x04\x22\x4d\x18" + ZSTD, "lz4"),
        (b"7z\xbc\xaf\x27\x1c" + ZSTD, "7-Zip"),
        (b"Rar!\x1a\x07\x00" + ZSTD, "RAR"),
        (b"\x1f\x9d\x90" + ZSTD, "compress"),
        (gzip.compress(ZSTD), "zstd"),  # what open_text unpacks is looked at again
        (gzip.compress(bz2.compress(b"a\n")), "bzip2"),
        (lzma.compress(gzip.compress(b"a\n")), "gzip"),
    ],
)
def test_compressed_formats_are_named(tmp_path, data, packer):
    with pytest.raises(ValueError, match=rf"train\.de: compressed by {packer}; unpack it first: "):
        prepare(corpus(), sources(tmp_path, data), tmp_path / "text")


@pytest.mark.parametrize(("codec", "name"), OTHERS.values(), ids=OTHERS)
def test_commands_that_read_text_name_it_too(codec, name):
    with pytest.raises(ValueError, match=rf"^hyps: {name}\b"):
        list(iter_lines(io.BytesIO("ab\ncd\n".encode(codec)), name="hyps"))
    with pytest.raises(ValueError, match=r"^hyps: compressed by zstd"):
        list(iter_lines(io.BytesIO(ZSTD), name="hyps"))
    with pytest.raises(ValueError, match=r"^hyps, line 2: .*reads as Latin-1.*iconv -f WINDOWS"):
        list(iter_lines(io.BytesIO("so\nschön ist es\n".encode("latin-1")), name="hyps"))


@given(st.text(min_size=1))
def test_text_in_utf8_passes_whatever_it_holds(text):
    """But for bytes that no text begins with."""
    data = text.encode()
    if not data.startswith(tuple(MARKS)) and b"\0" not in data and not data.startswith(b"PK\x03"):
        refuse_other_encodings(data, name="text")


def test_latin1_stops_and_says_where_and_how_to_convert(tmp_path):
    raw = sources(tmp_path, german().encode("latin-1"))
    said = (
        r"toy: invalid_utf8 drops 100 of 100 training pairs, 100\.00%; the first is .*train\.de, "
        r"line 1: not UTF-8 at byte \d+ \(0xfc\); it reads as Latin-1 .*iconv -f WINDOWS-1252 .*"
        r"max_dropped\.invalid_utf8 in the corpus file: 0\.01$"
    )
    with pytest.raises(ValueError, match=said):
        prepare(corpus(), raw, tmp_path / "text")


@pytest.mark.parametrize(("broken", "stops"), [(1, False), (2, True)])
def test_a_share_up_to_the_limit_is_told_and_above_it_stops(tmp_path, capsys, broken, stops):
    lines = german().encode().split(b"\n")
    lines[40 : 40 + broken] = [b"kaputt \xe4"] * broken
    raw = sources(tmp_path, b"\n".join(lines))
    if stops:
        with pytest.raises(ValueError, match=r"invalid_utf8 drops 2 of 100 .*line 41"):
            prepare(corpus(), raw, tmp_path / "text")
        raised = corpus(max_dropped={"invalid_utf8": 0.02})
        assert prepare(raised, raw, tmp_path / "text")["splits"]["train"]["kept"] == 98
        return
    report = prepare(corpus(), raw, tmp_path / "text")
    assert len([w for w in report["warnings"] if "invalid_utf8 drops 1 of 100" in w]) == 1
    assert capsys.readouterr().err.count("warning: toy: invalid_utf8 drops 1 of 100") == 1


def test_every_reason_has_a_limit_of_its_own_and_all_that_are_above_are_named(tmp_path):
    lines = german().split("\n")
    lines[:3] = ["", "", " "]
    lines[3] = PAIRS[3][0]
    lines[4] = "word " * 9
    raw = sources(tmp_path, "\n".join(lines).encode())
    limits = {"empty": 0.02, "identical": 0.0, "max_words": 0.01}
    config = corpus(filters={"drop_identical": True, "max_words": 7}, max_dropped=limits)
    with pytest.raises(ValueError, match="empty drops 3 of 100") as told:
        prepare(config, raw, tmp_path / "text")
    reasons = [line.split(" drops ")[0] for line in str(told.value).split("\n")]
    assert sorted(reasons) == ["toy: empty", "toy: identical"]


def test_a_limit_that_is_no_share_is_refused():
    with pytest.raises(ValueError, match="max_dropped"):
        corpus(max_dropped={"empty": 1.5})
