"""Whether the raw files of a corpus are still those that sources.json lists: files.json.

    {"/data/mine/train.en": {"state": [12345, 1733571234000000000], "sha256": "..."},
     "/data/mine/train.de": null}

Size and time of change say when to look at a file again; its digest says whether it changed. null:
there was no file, and one that appears would be read instead of what is read now. Of a folder,
`state` is one digest of the sizes and times of all its files.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.config.corpus import FileSource
from pipeline.corpora.sources import SourcePart
from pipeline.files import fingerprint, read_json, sha256_of, write_json

Watched = dict[str, dict[str, Any] | None]


def given_files(source: FileSource, data_root: Path) -> Iterator[Path]:
    """Where the user may have put the files of a corpus; none need exist."""
    yield from (data_root / download.local for download in source.downloads.values())
    for parts in source.splits.values():
        yield from (data_root / name for part in parts for name in part.at_hand.values())


def write_watched(
    path: Path,
    *,
    source: FileSource,
    data_root: Path | None,
    splits: Mapping[str, Sequence[SourcePart]],
) -> None:
    """Write files.json for what was found just now."""
    used = [file for parts in splits.values() for part in parts for file in part.sides.values()]
    watched: Watched = {
        file.path: {"state": state_of(Path(file.path)), "sha256": file.sha256} for file in used
    }
    for place in given_files(source, data_root) if data_root else ():
        if not place.exists():
            watched[str(place)] = None
    write_json(path, watched)


def changed(path: Path, *, keep: bool) -> list[str]:
    """The files that are no longer what files.json says: gone, new, or of another digest.

    keep: files that only look changed are noted in files.json, so that they are not read again.
    """
    watched: Watched = read_json(path)
    found, looked_at = [], False
    for name, then in watched.items():
        now = state_of(Path(name))
        if then is None or now is None:
            found += [name] * ((then is None) != (now is None))
        elif now != then["state"]:
            if sha256_of(name) != then["sha256"]:
                found.append(name)
            else:
                then["state"], looked_at = now, True
    if looked_at and keep:
        write_json(path, watched)
    return found


def state_of(path: Path) -> Any:
    """Size and time of change, as JSON has them; None where there is nothing."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return fingerprint([[str(file.relative_to(path)), state_of(file)] for file in files])
    if not path.exists():
        return None
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]
