"""Errors of files in one line, whoever noticed them first: which file, what is wrong, the fix."""

import errno
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_WORDS = ("No space left on device", "Disk quota exceeded", "(os error 28)")
LEAST_BYTES = 1 << 16  # a disk with less than this left counts as full
DAMAGE = (ValueError, EOFError, zipfile.BadZipFile)


@contextmanager
def naming_full_disk(path: str | Path) -> Iterator[None]:
    """What the block raises because the disk is full becomes an OSError that names `path`.

    Libraries say it in ways of their own: numpy by an OSError without a number, safetensors and
    others by exceptions of theirs.
    """
    try:
        yield
    except Exception as error:
        if not _is_full(error, Path(path)):
            raise
        what = "no space left on its disk; free some, then run the same again"
        raise OSError(errno.ENOSPC, what, str(path)) from error


@contextmanager
def naming_damage(path: str | Path, *kinds: type[Exception]) -> Iterator[None]:
    """Reading `path` in the block raises ValueError where it is missing or damaged.

    kinds: exceptions of the library that reads it, beside those of numpy.
    """
    try:
        yield
    except FileNotFoundError:
        what = "missing; run snakemake again, which makes it anew"
        raise ValueError(f"{path}: {what}") from None
    except DAMAGE + kinds as error:
        raise ValueError(
            f"{path}: damaged; remove it and run snakemake again: {str(error)[:160]}"
        ) from error


def in_words(error: BaseException) -> str:
    """An exception as people read it: a file's before what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def write_all(stream: IO[bytes], data: bytes, *, path: str | Path) -> None:
    """Write to an unbuffered file, which takes but a part of the data while the disk fills."""
    left = memoryview(data)
    with naming_full_disk(path):
        while left:
            left = left[stream.write(left) :]


def _is_full(error: Exception, path: Path) -> bool:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in FULL
    if any(words in str(error) for words in FULL_WORDS):
        return True
    if isinstance(error, ValueError):
        return False
    above = next(folder for folder in path.absolute().parents if os.path.isdir(folder))
    return shutil.disk_usage(above).free < LEAST_BYTES
