"""One HTTP transfer into a partial file that the next attempt, or the next run, continues."""

import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from pipeline.corpora.meter import Meter
from pipeline.errors import write_all
from pipeline.files import read_json, write_json

BLOCK_BYTES = 1 << 17
RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head)\b", re.IGNORECASE | re.DOTALL
)
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")


class TransferError(Exception):
    """A transfer failed. `final`: trying the same address again will not help."""

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True)
class Patience:
    """How long to go on. attempts: without a single new byte, for each address."""

    attempts: int = 5
    stall_seconds: float = 60.0
    stall_bytes: int = 1024  # fewer than this in stall_seconds is no progress
    first_wait_seconds: float = 2.0


def transfer(
    url: str, partial: Path, *, size: int | None, digest_known: bool, patience: Patience
) -> None:
    """Fetch `url` to the end of `partial`, continuing where it stops, or from the start.

    Bytes from before are continued only where they are surely of the same file: the server's
    validator (an ETag) is unchanged, or a digest will tell afterwards (`digest_known`).
    Raises TransferError; what has arrived stays for the next attempt.
    """
    memory = partial.with_name(partial.name + ".json")
    offset = partial.stat().st_size if partial.exists() else 0
    validator = _validator(memory, url) if offset else None
    if offset and (not (validator or digest_known) or (size is not None and offset > size)):
        partial.unlink()
        offset = 0
    if offset and offset == size:
        return
    headers = {"User-Agent": "reattend", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if validator:
            headers["If-Range"] = validator
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(request, timeout=patience.stall_seconds) as response:
            write_json(memory, {"url": url, "validator": _strong_etag(response)})
            _receive(response, partial, offset=offset, size=size, patience=patience)
    except urllib.error.HTTPError as error:
        if error.code == 416 and offset:
            _range_refused(error, partial, offset)
            return
        message = f"HTTP {error.code} {error.reason}"
        raise TransferError(message, final=error.code not in RETRIED_STATUS) from None
    except TimeoutError:
        message = f"nothing came for {patience.stall_seconds:g} s"
        raise TransferError(message, final=False) from None
    except urllib.error.URLError as error:
        raise TransferError(str(error.reason), final=False) from None
    except ValueError as error:  # no address at all
        raise TransferError(str(error), final=True) from None
    except (http.client.HTTPException, ConnectionError, ssl.SSLError) as error:
        raise TransferError(f"connection lost ({type(error).__name__})", final=False) from None


def _receive(
    response: http.client.HTTPResponse,
    partial: Path,
    *,
    offset: int,
    size: int | None,
    patience: Patience,
) -> None:
    start, total = _extent(response)
    if start not in (0, offset):
        raise TransferError(f"asked for bytes from {offset:,}, got them from {start:,}", final=True)
    if None not in (size, total) and total != size:
        raise TransferError(f"{total:,} bytes offered, {size:,} expected", final=True)
    block = response.read1(BLOCK_BYTES)
    if start == 0 and HTML.match(block):
        raise TransferError("an HTML page came instead of the file", final=True)
    meter = Meter(display_name(partial), total=total, done=start)
    arrived, in_window, window_start = start, 0, time.monotonic()
    try:
        with open(partial, "r+b" if start else "wb", buffering=0) as stream:
            stream.seek(start)
            while block:
                write_all(stream, block, path=partial)
                arrived += len(block)
                in_window += len(block)
                meter.add(len(block))
                seconds = time.monotonic() - window_start
                if seconds >= patience.stall_seconds:
                    if in_window < patience.stall_bytes:
                        raise TransferError(f"{in_window} bytes in {seconds:.0f} s", final=False)
                    in_window, window_start = 0, time.monotonic()
                block = response.read1(BLOCK_BYTES)
    finally:
        meter.close()
    expected = size if total is None else total
    if expected is not None and arrived < expected:
        raise TransferError(f"ended after {arrived:,} of {expected:,} bytes", final=False)


def display_name(partial: Path) -> str:
    """The file's name in messages."""
    return partial.name.lstrip(".").rsplit(".", 2)[0]


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Where the body begins in the file, and the size of the whole file if it is stated."""
    if response.status == 206:
        match = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not match or match[1] is None:
            raise TransferError("a part came without saying which", final=True)
        return int(match[1]), None if match[2] == "*" else int(match[2])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length and length.isdigit() else None


def _range_refused(error: urllib.error.HTTPError, partial: Path, offset: int) -> None:
    """The server has no byte at `offset`: the file is complete, or what is here is not of it."""
    match = CONTENT_RANGE.fullmatch(error.headers.get("Content-Range", ""))
    if match and match[2] == str(offset):
        return
    partial.unlink()
    raise TransferError("the server refused to continue the file", final=False)


def _validator(memory: Path, url: str) -> str | None:
    """The validator under which the partial file's bytes came from the same address."""
    if not memory.exists():
        return None
    known = read_json(memory)
    return known["validator"] if known["url"] == url else None


def _strong_etag(response: http.client.HTTPResponse) -> str | None:
    etag = response.headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else None
