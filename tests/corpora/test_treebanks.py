"""Treebanks of every layout give the same trees in the same order, and say what is missing."""

import gzip
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pipeline.corpora.treebanks import iter_treebank, wsj_files
from pipeline.corpora.trees import to_line


def article(section: int, number: int) -> str:
    return f"\n( (S \n    (NP-SBJ (NN w{section}x{number}) )\n    (VP (VB go) )))\n"


def wsj_folder(root: Path, layout: str, sections, numbers=(0, 1, 2)) -> Path:
    """A small WSJ in one of its layouts, between things that have nothing to do with it."""
    if layout == "sections":
        for section in sections:
            text = "".join(article(section, number) for number in numbers)
            write(root / f"wsj_{section:02}.mrg", text)
        return root
    if layout == "ranges":
        wanted = [s for s in sections if 2 <= s <= 21]
        text = "".join(article(s, n) for s in wanted for n in numbers)
        write(root / "train_02-21.LDC99T42.clean", text)
        for section in set(sections) - set(wanted):
            write(root / f"{section:02}.auto.clean", "".join(article(section, n) for n in numbers))
        return root
    for section in sections:
        for number in numbers:
            name = f"wsj_{section:02}{number:02}.mrg"
            if layout.isupper():
                name = name.upper()
            folder = root / layout if "flat" in layout else root / layout / f"{section:02}"
            write(folder / name, article(section, number))
    write(root / "parsed/mrg/brown/cf/cf01.mrg", "(S (NN brown))")
    write(root / "parsed/prd/wsj/02/wsj_0200.prd", "(S (NN other))")
    write(root / layout / "MERGE.LOG", "not a tree")
    return root


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def read(path, *members):
    counts, warnings = Counter(), []
    trees = iter_treebank(path, members=members, counts=counts, warn=warnings.append)
    lines = [to_line(tree) for tree in trees]
    assert counts["trees"] == len(lines)
    return lines, counts, warnings


def expected(sections, numbers=(0, 1, 2)):
    return [f"(S (NP (NN w{s}x{n})) (VP (VB go)))" for s in sections for n in numbers]


@pytest.mark.parametrize(
    "layout",
    [
        "wsj",
        "combined/wsj",
        "treebank_3/parsed/mrg/wsj",
        "PARSED/MRG/WSJ",
        "flat",
        "sections",
        "ranges",
    ],
)
def test_layouts_of_wsj(layout, tmp_path):
    folder = wsj_folder(tmp_path, layout, range(25))
    for members, sections in [("wsj:02-21", range(2, 22)), ("wsj:22", [22]), ("wsj:23", [23])]:
        assert read(folder, members) == (
            expected(sections),
            {"trees": 3 * len(sections), "words": 6 * len(sections)},
            [],
        )


def test_missing_sections_are_named(tmp_path):
    folder = wsj_folder(tmp_path, "wsj", [2, 4, 22])
    with pytest.raises(ValueError, match=r"section\(s\) 03, 05 of WSJ"):
        wsj_files(folder, range(2, 6), warn=print)


def test_gaps_in_a_section_are_reported_by_file_name(tmp_path):
    folder = wsj_folder(tmp_path, "wsj", [22], numbers=[0, 3, 4])
    lines, _, warnings = read(folder, "wsj:22")
    assert lines == expected([22], [0, 3, 4])
    assert len(warnings) == 1
    assert "wsj_2201.mrg, wsj_2202.mrg;" in warnings[0]


def test_the_first_article_of_section_0_is_number_1(tmp_path):
    _, _, warnings = read(wsj_folder(tmp_path, "wsj", [0], numbers=[1, 2]), "wsj:0")
    assert warnings == []


@pytest.mark.parametrize("second", ["combined/wsj", "sections"])
def test_one_section_in_two_places_is_refused(second, tmp_path):
    wsj_folder(tmp_path, "wsj", [22])
    wsj_folder(tmp_path, second, [22])
    with pytest.raises(ValueError, match="found twice"):
        wsj_files(tmp_path, [22], warn=print)


def test_a_range_that_holds_unwanted_sections_is_no_source(tmp_path):
    write(tmp_path / "wsj_00-24.mrg", article(22, 0))
    with pytest.raises(ValueError, match=r"section\(s\) 22"):
        wsj_files(tmp_path, [22], warn=print)


def test_files_folders_and_archives_give_the_same_trees(tmp_path):
    folder = wsj_folder(tmp_path / "bank", "flat", [1])
    names = [f"flat/wsj_010{number}.mrg" for number in (2, 0, 1)]
    with zipfile.ZipFile(tmp_path / "bank.zip", "w") as archive:
        for name in names:
            archive.write(folder / name, f"treebank/{name}")
        archive.writestr("treebank/README", "not a tree")
    with tarfile.open(tmp_path / "bank.tgz", "w:gz") as archive:
        for name in names:
            archive.add(folder / name, f"treebank/{name}")
    one = tmp_path / "one.mrg.gz"
    one.write_bytes(gzip.compress("".join(article(1, n) for n in range(3)).encode()))
    lines = expected([1])
    assert read(folder, "*/wsj_*.mrg")[0] == lines
    assert read(folder / "flat")[0] == lines
    assert read(tmp_path / "bank.zip", "*/wsj_*.mrg")[0] == lines
    assert read(tmp_path / "bank.tgz", "*/wsj_0100.mrg", "*/wsj_010[12].mrg")[0] == lines
    assert read(one)[0] == lines
    for path in (folder, tmp_path / "bank.zip"):
        assert read(path, "*/wsj_*.mrg", "!*/wsj_0101.mrg")[0] == [lines[0], lines[2]]


def test_trees_without_words_are_left_out_and_counted(tmp_path):
    write(tmp_path / "a.mrg", "(S (NN a))\n(())\n(S (NP (-NONE- *)))\n(S (NN b) (NN c))\n")
    lines, counts, _ = read(tmp_path / "a.mrg")
    assert lines == ["(S (NN a))", "(S (NN b) (NN c))"]
    assert counts == {"trees": 2, "words": 3, "empty": 2}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.mrg", b"(S (NN a))\n(S (NP (NN", r"cut\.mrg, line 2"),
        ("empty.mrg", b"", r"empty\.mrg: no tree in the file"),
        ("latin.mrg", b"(S (NN \xe4))", r"latin\.mrg, line 1: not UTF-8"),
        ("wide.mrg", "(S (NN a))".encode("utf-16"), r"wide\.mrg: UTF-16, not UTF-8"),
        ("notes.mrg", b"see the manual\n", r"notes\.mrg, line 1: text outside"),
    ],
)
def test_a_damaged_file_of_a_folder_is_named(name, data, message, tmp_path):
    write(tmp_path / "a.mrg", "(S (NN a))")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_a_damaged_member_of_an_archive_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "bank.zip", "w") as archive:
        archive.writestr("a.mrg", "(S (NN a))")
        archive.writestr("b.mrg", "(S (NN a)")
    with pytest.raises(ValueError, match=r"bank\.zip, b\.mrg, line 1"):
        read(tmp_path / "bank.zip", "*.mrg")


def test_nothing_found_is_an_error(tmp_path):
    write(tmp_path / "a.txt", "(S (NN a))")
    for path, members in [(tmp_path, ()), (tmp_path, ("*.ptb",)), (tmp_path / "none", ())]:
        with pytest.raises(ValueError, match=r"no file|no such"):
            read(path, *members)
    with pytest.raises(ValueError, match="neither a folder nor an archive"):
        read(tmp_path / "a.txt", "*.mrg")
    with pytest.raises(ValueError, match="either wsj"):
        read(tmp_path, "wsj:22", "*.mrg")
