"""One file from mirrors that fail in every way: the right bytes, or an error that names each."""

import hashlib
import random
import signal
import subprocess
import sys
import time

import pytest

from pipeline.config.corpus import Remote
from pipeline.corpora.fetch import FetchError, fetch
from pipeline.corpora.transfer import Patience

DATA = random.Random(1).randbytes(200_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
QUICK = Patience(attempts=3, stall_seconds=0.5, first_wait_seconds=0.01)
FAILURES = {
    "truncate": "ended after",
    "stall": "nothing came",
    "404": "HTTP 404",
    "500": "HTTP 500",
    "html": "HTML page",
    "wrong": "wrong file",
}


def remote(*urls, **stated):
    return Remote(urls=urls, **stated)


def leftovers(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("behaviour", ["truncate", "stall", "500", "503"])
def test_a_passing_failure_is_waited_out(mirror, tmp_path, behaviour):
    url = mirror.add("a.tgz", DATA, behaviour, times=2)
    origin, digests = fetch((remote(url, sha256=SHA256),), tmp_path / "a.tgz", patience=QUICK)
    assert (tmp_path / "a.tgz").read_bytes() == DATA
    assert (origin, digests.bytes, digests.sha256) == (url, len(DATA), SHA256)
    assert leftovers(tmp_path) == ["a.tgz"]


@pytest.mark.parametrize(("behaviour", "said"), FAILURES.items())
@pytest.mark.parametrize("known", ["all", "nothing"])
def test_the_next_mirror_is_tried(mirror, tmp_path, behaviour, said, known):
    if known == "nothing" and behaviour == "wrong":
        pytest.skip("nothing tells that the bytes are wrong")
    stated = {"sha256": SHA256, "bytes": len(DATA)} if known == "all" else {}
    if behaviour == "html":
        stated.pop("bytes", None)
    bad, good = mirror.add("bad", DATA, behaviour), mirror.add("good", DATA)
    origin, _ = fetch((remote(bad, good, **stated),), tmp_path / "a", patience=QUICK)
    assert origin == good
    assert (tmp_path / "a").read_bytes() == DATA


def test_the_error_names_every_address_and_leaves_no_file(mirror, tmp_path):
    urls = [mirror.add(name, DATA, name) for name in FAILURES]
    remotes = (remote(*urls[:3], sha256=SHA256), remote(*urls[3:], sha256=SHA256))
    with pytest.raises(FetchError) as error:
        fetch(remotes, tmp_path / "a.tgz", patience=QUICK)
    lines = str(error.value).split("\n")
    for url, line, said in zip(urls, lines, FAILURES.values(), strict=True):
        assert line.startswith(f"{url}: ")
        assert said in line
    assert not (tmp_path / "a.tgz").exists()


def test_a_transfer_goes_on_where_it_stopped(mirror, tmp_path):
    url = mirror.add("a", DATA, "truncate", times=3)
    fetch((remote(url, sha256=SHA256),), tmp_path / "a", patience=QUICK)
    starts = [int(r.removeprefix("bytes=").rstrip("-")) for _, r in mirror.requests[1:]]
    half = len(DATA) // 2
    assert starts == [half, half + half // 2, half + half // 2 + half // 4]


def test_attempts_are_counted_only_without_progress(mirror, tmp_path):
    url = mirror.add("a", DATA, "truncate", times=12)
    fetch((remote(url, sha256=SHA256),), tmp_path / "a", patience=QUICK)
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_server_without_ranges_sends_all_again(mirror, tmp_path):
    url = mirror.add("a", DATA, "truncate", times=1)
    with pytest.raises(FetchError):
        fetch(
            (remote(url, sha256=SHA256),),
            tmp_path / "a",
            patience=Patience(attempts=1, stall_seconds=1),
        )
    mirror.behaviours["a"], mirror.left["a"] = "no_range", 99
    fetch((remote(url, sha256=SHA256),), tmp_path / "a", patience=QUICK)
    assert mirror.requests[-1][1] is not None
    assert (tmp_path / "a").read_bytes() == DATA


@pytest.mark.parametrize("old", [b"<html>half a page", b"x" * 1000, DATA + b"more", DATA])
def test_what_a_partial_file_holds_is_never_trusted(mirror, tmp_path, old):
    url = mirror.add("a", DATA)
    form = remote(url, sha256=SHA256)
    path = tmp_path / "a"
    mirror.behaviours["a"] = "500"
    with pytest.raises(FetchError):
        fetch((form,), path, patience=Patience(attempts=1, first_wait_seconds=0))
    from pipeline.files import fingerprint

    partial = path.with_name(f".a.{fingerprint(form.model_dump(mode='json'))[:12]}.partial")
    partial.write_bytes(old)
    mirror.behaviours["a"] = ""
    fetch((form,), path, patience=QUICK)
    assert path.read_bytes() == DATA


def test_without_a_digest_a_changed_file_is_not_mixed_with_the_old(mirror, tmp_path):
    url = mirror.add("a", DATA, "truncate", times=1)
    once = Patience(attempts=1, stall_seconds=1)
    with pytest.raises(FetchError):
        fetch((remote(url),), tmp_path / "a", patience=once)
    newer = DATA[::-1]
    mirror.files["a"] = newer
    fetch((remote(url),), tmp_path / "a", patience=once)
    assert (tmp_path / "a").read_bytes() == newer


def test_a_wrong_range_is_not_appended(mirror, tmp_path):
    url = mirror.add("a", DATA, "truncate", times=1)
    once = Patience(attempts=1, stall_seconds=1)
    with pytest.raises(FetchError):
        fetch((remote(url, sha256=SHA256),), tmp_path / "a", patience=once)
    mirror.behaviours["a"], mirror.left["a"] = "shifted_range", 99
    with pytest.raises(FetchError, match="asked for bytes from"):
        fetch((remote(url, sha256=SHA256),), tmp_path / "a", patience=once)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a", "nonsense", "http://[bad/a"])
def test_no_server_at_all(tmp_path, url):
    patience = Patience(attempts=2, first_wait_seconds=0.01, stall_seconds=1)
    with pytest.raises(FetchError, match=r"^" + url.replace("[", r"\[")):
        fetch((remote(url),), tmp_path / "a", patience=patience)


def test_a_killed_download_goes_on(mirror, tmp_path):
    url = mirror.add("a", DATA, "stall", times=1)
    program = (
        "import sys; from pathlib import Path\n"
        "from pipeline.config.corpus import Remote\nfrom pipeline.corpora.fetch import fetch\n"
        "fetch((Remote(urls=(sys.argv[1],), sha256=sys.argv[2]),), Path(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", program, url, SHA256, str(tmp_path / "a")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not any(f.stat().st_size == len(DATA) // 2 for f in tmp_path.glob(".a.*.partial")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "a").exists()
    mirror.requests.clear()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert mirror.requests == [("a", f"bytes={len(DATA) // 2}-")]
    assert (tmp_path / "a").read_bytes() == DATA
