"""Files that appear whole or not at all, the one line reader and writer, and manifests.

A line ends at "\\n" and nowhere else: "\\r", U+2028, U+0085 and their kin are text. Every step
that reads or writes text does it here, so that two sides of a corpus can never drift apart.
"""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from pipeline.encodings import START_BYTES, guess, refuse_other_encodings
from pipeline.errors import naming_full_disk

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
READ_BYTES = 1 << 20
STANDARD_INPUT = "-"
PACKAGE = "reattend"
CODE = ("pipeline", "workflow", "Snakefile")  # whose changes make a commit "-dirty"


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and renamed to `path`.

    If the block raises, the temporary file is removed and `path` stays as it was. Raises OSError
    before the block where `path` is a folder, or lies below a file, and one that names `path`
    where the disk is full.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file in it", str(path))
    with naming_full_disk(path):
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    os.close(handle)
    temporary = Path(name)
    try:
        with naming_full_disk(path):
            yield temporary
            _sync(temporary)
            temporary.chmod(0o666 & ~_umask())
            os.replace(temporary, path)
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """As `atomic_path` for a folder of files. Raises OSError where `path` is a folder by then that
    holds something."""
    shown = path
    path = Path(path).absolute()
    with naming_full_disk(shown):
        make_folder(path.parent)
        name = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    temporary = Path(name)
    try:
        with naming_full_disk(shown):
            yield temporary
            for file in _files_below(temporary):
                _sync(file)
                file.chmod(0o666 & ~_umask())
            temporary.chmod(0o777 & ~_umask())
            os.replace(temporary, path)
            _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it. Raises OSError that names what is a file instead."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        above = (path, *path.parents)
        file = next(p for p in above if os.path.lexists(p) and not p.is_dir())
        raise NotADirectoryError(
            errno.ENOTDIR, "is a file, not a folder; choose another path", str(file)
        ) from None


@contextmanager
def atomic_open(path: str | Path) -> Iterator[IO[bytes]]:
    """Open `path` for writing bytes; the file appears under its name when the block ends well."""
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        yield stream


@dataclass(frozen=True)
class Text:
    """What stands in a file, and the hex sha256 of its bytes as they were read."""

    lines: list[str]
    sha256: str


@contextmanager
def open_text(name: str | Path) -> Iterator[IO[bytes]]:
    """Bytes of a file, of a stream such as a FIFO, or of standard input for "-"."""
    if str(name) == STANDARD_INPUT:
        yield standard_input()
    else:
        with open(name, "rb") as stream:
            yield stream


def standard_input() -> IO[bytes]:
    """Raises ValueError where it is closed."""
    if sys.stdin is None:
        raise ValueError("standard input is closed; give a file, or text by a pipe")
    return sys.stdin.buffer


def read_text(name: str | Path) -> Text:
    """Lines as `read_lines` has them; opened and read once, so that a stream serves as well."""
    digest = hashlib.sha256()

    def digested(stream: IO[bytes]) -> Iterator[bytes]:
        for line in stream:
            digest.update(line)
            yield line

    with open_text(name) as stream:
        lines = list(iter_lines(digested(stream), name=shown_name(name)))
    return Text(lines, digest.hexdigest())


def shown_name(name: str | Path) -> str:
    """How messages call what `open_text` opens."""
    return "standard input" if str(name) == STANDARD_INPUT else str(name)


def refuse_streams_twice(*names: str) -> None:
    """Raises ValueError for a stream among the names that is to be read twice: it can't be."""
    for number, name in enumerate(names):
        twice = name in names[:number] and (name == STANDARD_INPUT or not Path(name).is_file())
        if twice and (name == STANDARD_INPUT or Path(name).exists()):
            raise ValueError(f"can be read once only, write it to a file first: {shown_name(name)}")


def iter_lines(source: str | Path | Iterable[bytes], *, name: str | None = None) -> Iterator[str]:
    """Yield the lines of a UTF-8 file or of the lines of a binary stream, without their "\\n".

    A byte order mark at the start is dropped; a last line without "\\n" counts as a line.
    Raises ValueError naming the file, what it is instead of UTF-8 text and how to convert it, and
    the line (from 1) where the bytes are not UTF-8.
    """
    for number, line in enumerate(iter_byte_lines(source), start=1):
        if number == 1:
            refuse_other_encodings(line[:START_BYTES], name=name or _name(source))
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name or _name(source)}, line {number}: not UTF-8 at byte {error.start} "
                f"(0x{line[error.start]:02x}); {guess(line)}"
            ) from None


def iter_byte_lines(source: str | Path | Iterable[bytes]) -> Iterator[bytes]:
    """As `iter_lines`, undecoded: for those who count invalid lines instead of stopping there."""
    if isinstance(source, (str, Path)):
        with open(source, "rb") as stream:
            yield from iter_byte_lines(stream)
        return
    for number, line in enumerate(source):  # a binary stream splits at b"\n" alone
        if number == 0 and line.startswith(BYTE_ORDER_MARK):
            line = line[len(BYTE_ORDER_MARK) :]
            if not line:
                continue
        yield line[:-1] if line.endswith(b"\n") else line


def read_lines(path: str | Path) -> list[str]:
    return list(iter_lines(path))


def write_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write one line each, atomically; return their number.

    Raises ValueError for a line that holds "\\n": it would shift every line after it.
    """
    count = 0
    with atomic_open(path) as stream:
        for line in lines:
            if "\n" in line:
                raise ValueError(f"{path}: line {count + 1} holds a line end inside: {line[:60]!r}")
            stream.write(line.encode("utf-8") + b"\n")
            count += 1
    return count


def count_lines(path: str | Path) -> int:
    return sum(1 for _ in iter_byte_lines(path))


def read_json(path: str | Path) -> Any:
    """Raises ValueError naming the file where it is not JSON."""
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:  # not UTF-8, too
        raise ValueError(f"{path}: damaged, not JSON; make or copy it again: {error}") from None


def write_json(path: str | Path, data: Any) -> None:
    """Write `data` as indented JSON, atomically; NaN and infinity are refused."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_open(path) as stream:
        stream.write(text.encode("utf-8") + b"\n")


def sha256_of(path: str | Path) -> str:
    """Hex digest of a file's bytes; of a folder, the digest of its files' names and digests."""
    path = Path(path)
    if path.is_dir():
        return fingerprint({str(f.relative_to(path)): sha256_of(f) for f in _files_below(path)})
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(data: Any) -> str:
    """Hex sha256 of plain data (dicts, lists, strings, numbers), whatever the order of its keys."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def write_manifest(
    path: str | Path, *, step: str, inputs: Mapping[str, str | Path], **facts: Any
) -> None:
    """Write what a step did: its name, the commit, the sha256 of its inputs, and its own facts."""
    digests = {name: sha256_of(file) for name, file in inputs.items()}
    write_json(path, {"step": step, "commit": commit(), "inputs": digests, **facts})


def commit() -> str:
    """Commit of the code that runs, "-dirty" where code differs from it or is not in it.

    Without a repository of its own, in whatever other repository it lies: "<version>, no commit".
    """
    root = Path(__file__).resolve().parents[1]
    try:
        if Path(_git(root, "rev-parse", "--show-toplevel").removesuffix("\n")).samefile(root):
            head = _git(root, "rev-parse", "HEAD").strip()
            return f"{head}-dirty" if _git(root, "status", "--porcelain", "--", *CODE) else head
    except (
        OSError,
        subprocess.CalledProcessError,
    ):  # no git, no commit yet, a repository of others
        pass
    return f"{_version(root)}, no commit"


def _git(folder: Path, *arguments: str) -> str:
    """What git says of the repository around a folder, whichever one the environment names."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), *arguments]
    return os.fsdecode(subprocess.run(command, check=True, capture_output=True, env=own).stdout)


def _version(root: Path) -> str:
    """That of pyproject.toml beside the code, else that of the installed package."""
    project = root / "pyproject.toml"
    if project.is_file():
        return f"version {tomllib.loads(project.read_text(encoding='utf-8'))['project']['version']}"
    try:
        return f"version {metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        return "unknown version"


def _files_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _name(source: str | Path | Iterable[bytes]) -> str:
    return str(source) if isinstance(source, (str, Path)) else str(getattr(source, "name", "input"))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
