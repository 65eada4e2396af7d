"""Treebanks as they lie on disk: files, folders and archives of them, and the sections of WSJ.

The Penn Treebank's WSJ comes as a folder of one file an article in a section's folder (LDC95T7,
LDC99T42), flat (NLTK's sample), or as one file a section or range of sections.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from pipeline.corpora.archives import is_archive, list_members, open_text
from pipeline.corpora.trees import Tree, clean, leaves, read_trees
from pipeline.encodings import START_BYTES, refuse_other_encodings

ARTICLE = re.compile(r"wsj_(\d\d)(\d\d)\.mrg", re.IGNORECASE)
SECTION = re.compile(
    r"(?:[a-z]+[_.-])*(?P<first>\d\d)(?:-(?P<last>\d\d))?(?:[_.-].*)?\.(?:mrg|trees|parse|clean)",
    re.IGNORECASE,
)
WSJ_MEMBERS = re.compile(r"wsj:(?P<first>\d\d?)(?:-(?P<last>\d\d?))?")
Warn = Callable[[str], None]


def iter_treebank(
    path: str | Path, *, members: Sequence[str] = (), counts: Counter[str], warn: Warn
) -> Iterator[Tree]:
    """Yield the cleaned trees of a treebank, its files in the order of their names.

    path: a file (plain or compressed), a folder or an archive. members: shell patterns of the
    files below the folder or in the archive, all of which are read, but for those that a pattern
    after "!" names; or "wsj:02-21" for sections of a WSJ folder in any of its layouts. counts:
    "trees" and "words" that came, and "empty", trees without a word, which are left out.
    Raises ValueError naming the file: nothing found, a file without trees, a damaged tree.
    """
    path = Path(path)
    for name, open_file in _texts(path, members, warn):
        before = counts["trees"] + counts["empty"]
        with open_file() as stream:
            refuse_other_encodings(stream.peek(START_BYTES)[:START_BYTES], name=name)
            for tree in read_trees(stream, name=name, counts=counts):
                try:
                    cleaned = clean(tree)
                except ValueError:
                    counts["empty"] += 1
                    continue
                counts["trees"] += 1
                counts["words"] += len(leaves(cleaned))
                yield cleaned
        if counts["trees"] + counts["empty"] == before:
            raise ValueError(f"{name}: no tree in the file; fetch or copy it again")


def wsj_files(folder: str | Path, sections: Iterable[int], *, warn: Warn) -> list[Path]:
    """The files that hold `sections` (numbers 0 to 24) of WSJ, in the order of the sections.

    They are looked for anywhere below `folder`, in either case of letters: wsj_NNNN.mrg (the
    first two digits are the section), or one file a section or range of sections, such as
    wsj_22.mrg or train_02-21.clean. Numbers missing within a section are reported to `warn`.
    Raises ValueError naming the sections that are missing, or found twice.
    """
    folder = Path(folder)
    wanted = sorted(set(sections))
    found: dict[int, list[Path]] = {section: [] for section in wanted}
    articles: dict[str, Path] = {}
    for file in sorted(folder.rglob("*")):
        if match := ARTICLE.fullmatch(file.name):
            section = int(match[1])
            if section in found:
                _only_once(articles, file.name.lower(), file)
                found[section].append(file)
    for section, files in found.items():
        _report_gaps(section, files, warn)
    for file in sorted(folder.rglob("*")):
        if (match := SECTION.fullmatch(file.name)) and file.is_file():
            covered = _range(match)
            if all(section in found for section in covered):
                for section in covered:
                    if found[section]:
                        raise ValueError(
                            f"{folder}: section {section:02} of WSJ found twice, in {file} and in "
                            f"{found[section][0]}; name the folder that holds one of the two"
                        )
                    found[section].append(file)
    missing = [section for section, files in found.items() if not files]
    if missing:
        names = ", ".join(f"{section:02}" for section in missing)
        raise ValueError(
            f"{folder}: no files for section(s) {names} of WSJ; looked for wsj_NNNN.mrg in any "
            "folder below (LDC99T42: parsed/mrg/wsj; LDC95T7: combined/wsj) and for files named "
            "by section, such as wsj_22.mrg"
        )
    ordered = [file for section in wanted for file in found[section]]
    return list(dict.fromkeys(ordered))  # a file of several sections once


def _texts(path: Path, members: Sequence[str], warn: Warn) -> list[tuple[str, Callable]]:
    """(name for messages, function that opens it) of each file to be read."""
    if not path.exists():
        raise ValueError(f"no such treebank: {path}")
    if path.is_dir():
        return [
            (str(file), lambda file=file: open_text(file)) for file in _files(path, members, warn)
        ]
    if members:
        if not is_archive(path):
            raise ValueError(f"{path}: neither a folder nor an archive, but members are named")
        names = [name for name in list_members(path) if _matches(name, members)]
        _some(names, path, members)
        return [
            (f"{path}, {name}", lambda name=name: open_text(path, (escape(name),)))
            for name in sorted(names)
        ]
    return [(str(path), lambda: open_text(path))]


def _files(folder: Path, members: Sequence[str], warn: Warn) -> list[Path]:
    wsj = [match for member in members if (match := WSJ_MEMBERS.fullmatch(member))]
    if wsj:
        if len(wsj) < len(members):
            raise ValueError(f"members are either wsj:NN-NN or shell patterns: {list(members)}")
        sections = [section for match in wsj for section in _range(match)]
        return wsj_files(folder, sections, warn=warn)
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and _matches(file.relative_to(folder).as_posix(), members or ("*.mrg",))
    ]
    _some(files, folder, members)
    return files


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """As shell patterns go, but "*" crosses "/": "*.mrg" finds files in any folder below."""
    wanted = any(fnmatchcase(name, pattern) for pattern in patterns)
    return wanted and not any(
        fnmatchcase(name, pattern[1:]) for pattern in patterns if pattern[:1] == "!"
    )


def _some(names: list, path: Path, members: Sequence[str]) -> None:
    if not names:
        raise ValueError(f"{path}: no file of a name like {' or '.join(members or ('*.mrg',))}")


def _range(match: re.Match) -> range:
    first = int(match["first"])
    last = int(match["last"] or first)
    if last < first:
        raise ValueError(f"sections run from low to high: {match[0]}")
    return range(first, last + 1)


def _only_once(articles: dict[str, Path], name: str, file: Path) -> None:
    if name in articles:
        raise ValueError(
            f"the article {name} of WSJ found twice, {articles[name]} and {file}; name the folder "
            "that holds one of the two"
        )
    articles[name] = file


def _report_gaps(section: int, files: list[Path], warn: Warn) -> None:
    present = {int(match[2]) for file in files if (match := ARTICLE.fullmatch(file.name))}
    first = 1 if section == 0 else 0
    missing = sorted(set(range(first, max(present, default=0))) - present)
    if missing and present:
        names = ", ".join(f"wsj_{section:02}{number:02}.mrg" for number in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        warn(f"section {section:02} of WSJ has gaps: {names}{more}; is the copy complete?")
