"""Ranks of several nodes meet, whatever else uses ports, and however late one of them is."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.training import ranks
from pipeline.training.run import TEMPORARY_FAILURE

PAIRS = 8


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The file of a meeting, as the launcher makes it."""
    path = tmp_path / ".meeting-1"
    path.touch()
    monkeypatch.setenv(ranks.STEP, str(path))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    return path


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as threads:
        yield threads


def test_whoever_comes_first_waits(place, pool):
    for first in (0, 1):
        early = pool.submit(ranks.meet, first, 2)
        time.sleep(3 * ranks.POLL_SECONDS)
        assert not early.done()
        late = ranks.meet(1 - first, 2)
        early.result().set("said", str(first))
        assert late.get("said") == str(first).encode()
        place.write_text("")


def test_meetings_at_one_time_have_ports_of_their_own(tmp_path, place, pool, monkeypatch):
    stores = []
    for number in range(PAIRS):
        mine = tmp_path / f".meeting-{number}"
        mine.touch()
        monkeypatch.setenv(ranks.STEP, str(mine))
        host = pool.submit(ranks.meet, 0, 2)
        guest = ranks.meet(1, 2)
        host.result().set("number", str(number))
        stores.append((host.result(), guest))
    assert len({host.port for host, _ in stores}) == PAIRS
    assert [int(guest.get("number")) for _, guest in stores] == list(range(PAIRS))


def test_rank_0_listens_at_its_address_alone(place):
    store = ranks.meet(0, 1)
    assert place.read_text() == f"127.0.0.1 {store.port}\n"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", store.port))


def test_nobody_goes_by_half_a_line(place, pool):
    place.write_text("127.0.0.1 1")
    guest = pool.submit(ranks.meet, 1, 2)
    time.sleep(3 * ranks.POLL_SECONDS)
    assert not guest.done()
    ranks.meet(0, 2)
    guest.result()


def test_a_rank_that_nobody_tells_says_so(place, monkeypatch):
    monkeypatch.setattr(ranks, "MEET_SECONDS", 0.5)
    with pytest.raises(ValueError, match=f"did not say .* where ranks meet: {place}"):
        ranks.meet(1, 2)


def test_a_folder_that_not_all_nodes_see_is_named(place):
    place.unlink()
    with pytest.raises(ValueError, match=f"all nodes see, unlike: {place.parent}"):
        ranks.meet(1, 2)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 143", 143),  # a rank was killed, whereupon srun ended the others by SIGTERM
        ("kill -TERM $$", TEMPORARY_FAILURE),
    ],
)
def test_how_a_step_of_several_nodes_ends(tmp_path, monkeypatch, capfd, ends, code):
    folder = tmp_path / "training"
    folder.mkdir()
    (folder / ".meeting-left").touch()  # by a launcher that was killed
    srun = tmp_path / "srun"
    srun.write_text(f'#!/bin/sh\necho "${ranks.STEP}"; ls -A "{folder}"\n{ends}\n')
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found = ranks.launch_over_nodes(["module"], nodes=2, ranks=1, folder=folder, stop=lambda: False)
    assert found == code
    place, *there = capfd.readouterr().out.split()
    assert [folder / name for name in there] == [Path(place)]
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("ends", "code"),
    [("SIGTERM", TEMPORARY_FAILURE), ("SIGKILL", -9)],
)
def test_a_rank_that_sigterm_ends_before_it_listens_is_to_run_again(
    tmp_path, monkeypatch, ends, code
):
    (tmp_path / "early.py").write_text(
        f"import os, signal\nos.environ['RANK'] == '1' and os.kill(os.getpid(), signal.{ends})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert ranks.launch(["early"], ranks=2) == code
