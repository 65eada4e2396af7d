"""Read a file out of an archive as a stream, without ever unpacking the archive to disk.

What a file is (zip, tar, gzip, bzip2, xz or plain) is told by its first bytes, not by its name,
so that a mirror's zip can stand in for a tgz. An archive with a member that could be written
outside its folder is refused as a whole: it was not made in good faith.
"""

import bz2
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

from pipeline.files import READ_BYTES

COMPRESSED = {  # as patterns of the first bytes; "BZh" alone could be the first word of a text
    re.compile(rb"\x1f\x8b\x08"): gzip.open,
    re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"): bz2.open,
    re.compile(rb"\xfd7zXZ\x00"): lzma.open,
}
START_BYTES = 10
ZIP = b"PK\x03\x04"
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


@contextmanager
def open_text(path: str | Path, members: Sequence[str] = ()) -> Iterator[IO[bytes]]:
    """Yield the unpacked bytes of a file, or of a member of an archive.

    members: the names that the member may have, in order of preference; shell patterns allowed.
    A compressed member (a gz in a tar) is unpacked too. Raises ValueError where no member fits,
    more than one does, the archive is unsafe, the data is damaged, or `path` is a folder.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path}: a folder, where a file is needed; put the file in its place")
    with ExitStack() as stack, _naming_damage(path):
        if members:
            raw = _open_member(path, members, stack)
        else:
            raw = stack.enter_context(open(path, "rb"))
        yield _unpacked(raw, stack)


def is_archive(path: str | Path) -> bool:
    path = Path(path)
    if _starts(path).startswith(ZIP):
        return True
    try:
        return tarfile.is_tarfile(path)
    except DAMAGE:
        return False


def list_members(path: str | Path) -> list[str]:
    """Names of the files in an archive, all of which were found safe.

    Raises ValueError naming the first member that is not: an absolute path, one with "..", a link
    that leads out of the archive, or a device.
    """
    path = Path(path)
    with _naming_damage(path):
        if _starts(path).startswith(ZIP):
            with zipfile.ZipFile(path) as archive:
                return [_safe_zip(path, info) for info in archive.infolist() if not info.is_dir()]
        with ExitStack() as stack:
            stream, archive = _open_tar(path, stack)
            names = [_safe_tar(path, info) for info in archive if not info.isdir()]
            while stream.read(READ_BYTES):  # to the end, where the checksum stands
                pass
            return names


def _open_member(path: Path, members: Sequence[str], stack: ExitStack) -> IO[bytes]:
    if _starts(path).startswith(ZIP):
        archive = stack.enter_context(zipfile.ZipFile(path))
        names = [_safe_zip(path, info) for info in archive.infolist() if not info.is_dir()]
        return stack.enter_context(archive.open(_choose(path, names, members)))
    if not is_archive(path):
        raise ValueError(f"{path}: not an archive, but {members[0]} is looked for in it")
    name = _choose(path, list_members(path), members)
    _, tar = _open_tar(path, stack)
    for info in tar:
        if info.name == name and info.isfile():
            member = tar.extractfile(info)
            assert member is not None
            return stack.enter_context(member)
    raise ValueError(f"{path}: {name} is a link or no plain file; take another copy")


def _open_tar(path: Path, stack: ExitStack) -> tuple[IO[bytes], tarfile.TarFile]:
    """The unpacked bytes of a tar, compressed or not, and its members in their order."""
    raw = stack.enter_context(path.open("rb"))
    stream = _unpacked(raw, stack)
    return stream, stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))


def _choose(path: Path, names: Sequence[str], members: Sequence[str]) -> str:
    """The one name that fits the first fitting of `members`; folders above it may differ."""
    for wanted in members:
        for fits in (
            [name for name in names if _plain(name) == _plain(wanted)],
            [name for name in names if fnmatchcase(_plain(name), _plain(wanted))],
            [name for name in names if fnmatchcase(_plain(name), "*/" + _plain(wanted))],
        ):
            if len(fits) == 1:
                return fits[0]
            if fits:
                raise ValueError(f"{path}: {wanted} fits several members: {', '.join(fits[:5])}")
    shown = ", ".join(sorted(names)[:20]) + (", ..." if len(names) > 20 else "")
    raise ValueError(f"{path}: none of {', '.join(members)} is in the archive; it has {shown}")


def _plain(name: str) -> str:
    return name[2:] if name.startswith("./") else name


def _safe_zip(path: Path, info: zipfile.ZipInfo) -> str:
    if (info.external_attr >> 16) & 0o170000 == 0o120000:
        raise ValueError(f"{path}: member {info.filename!r} is a link; the archive is refused")
    return _safe_name(path, info.filename)


def _safe_tar(path: Path, info: tarfile.TarInfo) -> str:
    _safe_name(path, info.name)
    if info.issym() or info.islnk():
        base = PurePosixPath(info.name).parent if info.issym() else PurePosixPath()
        if _leaves(base / info.linkname):
            raise ValueError(
                f"{path}: member {info.name!r} is a link to {info.linkname!r}, outside the "
                "archive; the archive is refused"
            )
    elif not (info.isfile() or info.isdir()):
        raise ValueError(f"{path}: member {info.name!r} is a device; the archive is refused")
    return info.name


def _safe_name(path: Path, name: str) -> str:
    if _leaves(PurePosixPath(name.replace("\\", "/"))) or ":" in name[:2]:
        raise ValueError(f"{path}: unsafe member path {name!r}; the archive is refused")
    return name


def _leaves(member: PurePosixPath) -> bool:
    """Whether a path inside an archive leads out of it."""
    depth = 0
    for piece in member.parts:
        depth += -1 if piece == ".." else 1
        if depth < 0:
            return True
    return member.is_absolute()


def _unpacked(raw: IO[bytes], stack: ExitStack) -> IO[bytes]:
    start = raw.peek(START_BYTES)[:START_BYTES]
    for magic, opener in COMPRESSED.items():
        if magic.match(start):
            return stack.enter_context(opener(raw, "rb"))
    return raw


def _starts(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(8)


@contextmanager
def _naming_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's failure, not the data's
        raise ValueError(
            f"{path}: truncated or damaged ({error}); put a whole copy in its place, or, if it was "
            "downloaded, remove it and run again with --forcerun download"
        ) from error
