"""TensorBoard events: read back by TensorBoard itself where it is installed, else by hand."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training.events import EventFile, crc32c, masked_crc32c
from pipeline.training.metrics import Metrics

VALUES = {"loss": 7.25, "dev_perplexity": 100.5, "lr": 1e-9}


def test_checksum_is_the_published_one():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"\0" * 32) == 0x8A9136AA  # RFC 3720, B.4


def test_a_perplexity_beyond_single_precision_is_infinite(tmp_path):
    events = EventFile(tmp_path, step=0)
    events.write(1, {"dev_perplexity": 1e43})
    events.close()
    (path,) = tmp_path.iterdir()
    assert b"\x15" + struct.pack("<f", float("inf")) in [*records(path)][1]


def records(path):
    data = path.read_bytes()
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert data[8:12] == masked_crc32c(data[:8])
        yield data[12 : 12 + size]
        assert data[12 + size : 16 + size] == masked_crc32c(data[12 : 12 + size])
        data = data[16 + size :]


def test_a_chain_of_records(tmp_path):
    events = EventFile(tmp_path / "tensorboard", step=0)
    events.write(300, VALUES)
    events.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    version, event = records(path)
    assert version.endswith(b"brain.Event:2")
    assert event[9:12] == b"\x10\xac\x02"  # step 300 as a varint
    for name, value in VALUES.items():
        assert name.encode() + b"\x15" + struct.pack("<f", value) in event


@given(step=st.integers(0, 2**40), value=st.floats(width=32, allow_nan=False))
def test_tensorboard_reads_what_was_written(tmp_path_factory, step, value):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard"
    )
    folder = tmp_path_factory.mktemp("events")
    events = EventFile(folder, step=0)
    events.write(step, {"a": value, "b c": 1.0})
    events.close()
    found = accumulator.EventAccumulator(str(folder)).Reload()
    assert [(e.step, e.value) for e in found.Scalars("a")] == [(step, value)]
    assert found.Tags()["scalars"] == ["a", "b c"]


def test_a_resumed_training_replaces_what_was_beyond_its_step(tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard"
    )
    for start, last in ((0, 8), (4, 10)):
        with Metrics(tmp_path, step=start) as metrics:
            for step in range(start + 2, last + 1, 2):
                metrics.write(step, last=10, tgt_tokens=1, took_seconds=1.0, loss=float(start))
    found = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    steps = [(event.step, event.value) for event in found.Scalars("loss")]
    assert steps == [(2, 0.0), (4, 0.0), (6, 4.0), (8, 4.0), (10, 4.0)]


def test_a_record_that_was_cut_off_spoils_nothing(tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard"
    )
    events = EventFile(tmp_path, step=0)
    for step in (1, 2):
        events.write(step, VALUES)
    events.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    found = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in found.Scalars("loss")] == [1]
