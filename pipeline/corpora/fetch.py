"""Fetch one file: each mirror in turn, retried with growing waits, checked, then renamed."""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.corpus import Remote
from pipeline.corpora.transfer import Patience, TransferError, transfer
from pipeline.files import READ_BYTES, fingerprint
from pipeline.progress import log

PATIENCE = Patience()


class FetchError(ValueError):
    """No address gave the file; the message names each with what was wrong there."""


@dataclass(frozen=True)
class Digests:
    """What identifies a file."""

    bytes: int
    sha256: str
    md5: str

    @classmethod
    def of(cls, path: Path) -> "Digests":
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        size = 0
        with open(path, "rb") as stream:
            while block := stream.read(READ_BYTES):
                sha256.update(block)
                md5.update(block)
                size += len(block)
        return cls(size, sha256.hexdigest(), md5.hexdigest())

    def difference(self, remote: Remote) -> str | None:
        """What is not as `remote` states it; None if all that it states holds."""
        for key in ("bytes", "sha256", "md5"):
            expected, found = getattr(remote, key), getattr(self, key)
            if expected is not None and expected != found:
                return f"{key} {found}, expected {expected}"
        return None


def fetch(
    remotes: tuple[Remote, ...], path: Path, *, patience: Patience = PATIENCE
) -> tuple[str, Digests]:
    """Fetch the first form of the file that can be had to `path`; return its address and digests.

    Raises FetchError. A file that does not have the stated size and digests never gets the name
    `path`; an unfinished one waits beside it for the next call.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for remote in remotes:
        key = fingerprint(remote.model_dump(mode="json"))[:12]
        partial = path.with_name(f".{path.name}.{key}.partial")
        for url in remote.urls:
            problem, digests = _from_address(url, remote, partial, patience)
            if digests is not None:
                partial.replace(path)
                partial.with_name(partial.name + ".json").unlink(missing_ok=True)
                return url, digests
            log(f"{path.name}: {url}: {problem}")
            problems.append(f"{url}: {problem}")
    raise FetchError("\n".join(problems))


def _from_address(
    url: str, remote: Remote, partial: Path, patience: Patience
) -> tuple[str, Digests | None]:
    """Try one address. A wrong digest after continuing old bytes gets one try from the start."""
    digest_known = bool(remote.sha256 or remote.md5)
    while True:
        continued = partial.exists()
        problem = _until_complete(url, remote.bytes, partial, digest_known, patience)
        if problem:
            return problem, None
        digests = Digests.of(partial)
        difference = digests.difference(remote)
        if difference is None:
            return "", digests
        partial.unlink()
        if not continued:
            return f"wrong file ({difference})", None


def _until_complete(
    url: str, size: int | None, partial: Path, digest_known: bool, patience: Patience
) -> str:
    """Transfer until nothing is missing; "" or what went wrong at last.

    The number of attempts counts those that brought no new byte, so a line that drops every few
    minutes still gets a large file through.
    """
    wait, left, before = patience.first_wait_seconds, patience.attempts, _size(partial)
    while True:
        try:
            transfer(url, partial, size=size, digest_known=digest_known, patience=patience)
            return ""
        except TransferError as error:
            if error.final:
                return str(error)
            after = _size(partial)
            if after > before:
                wait, left = patience.first_wait_seconds, patience.attempts
            before, left = max(before, after), left - 1
            if left == 0:
                return f"{error}, {patience.attempts} times in a row"
            log(f"{url}: {error}; next attempt in {wait:g} s")
            time.sleep(wait)
            wait *= 2


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
