"""Ranks of several nodes meet, whatever a system did with the port that they would have used."""

import socket
import threading

import pytest

from pipeline.training import ranks


@pytest.fixture
def taken():
    """Takes a port as a connection does, which is not for others to reuse."""
    sockets = []

    def take(port: int) -> socket.socket:
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname(), source_address=("127.0.0.1", port))
        sockets.extend((server, client))
        return client

    yield take
    for one in sockets:
        one.close()


def test_a_port_in_use_is_passed_over(taken, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "12345678")
    first = ranks.free_port()
    assert first == 25_678
    assert ranks.free_port() == first  # nothing was left bound
    taken(first)
    second = ranks.free_port()
    assert second == 26_675
    socket.create_server(("", second)).close()


def test_rank_0_waits_for_its_port(taken, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    port = ranks.free_port()
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    connection = taken(port)
    # a reset, after which the port is free at once
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    timer = threading.Timer(1.0, connection.close)
    timer.start()
    store = ranks.meet(0, 1)
    assert timer.finished.is_set()
    store.set("key", "value")
    assert store.get("key") == b"value"


def test_a_port_that_stays_in_use_is_named(taken, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4712")
    monkeypatch.setattr(ranks, "BUSY_SECONDS", 0.5)
    port = ranks.free_port()
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    taken(port)
    with pytest.raises(ValueError, match=rf"stays in use on 127\.0\.0\.1: {port}"):
        ranks.meet(0, 1)
