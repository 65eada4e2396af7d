"""What goes wrong with a file is one line: the file, what is wrong with it, the fix."""

import errno
import io

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from pipeline.batching.buckets import open_buckets
from pipeline.encoded import EncodedSplit, read_lengths, write_array
from pipeline.errors import in_words, naming_full_disk, write_all
from pipeline.evaluation.cost import load_devices
from pipeline.evaluation.scores import read_statistics
from pipeline.files import atomic_folder, atomic_path
from pipeline.training.averaging import average

ARRAYS = [f"{side}_{part}" for side in ("src", "tgt") for part in ("tokens", "offsets")]
SPOILED = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "other": lambda path: path.write_bytes(b"<html>not found</html>" * 9),
}


def one_line(error, path):
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert "run snakemake again" in str(error.value)


@pytest.fixture
def split(tmp_path):
    for name in ARRAYS:
        write_array(tmp_path / f"{name}.npy", np.array([0, 1, 2], dtype=np.int64))
    return tmp_path


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_a_split(split, name, spoil):
    spoil(split / f"{name}.npy")
    with pytest.raises(ValueError) as error:
        EncodedSplit.open(split)
    one_line(error, split / f"{name}.npy")


@pytest.mark.parametrize("spoil", [SPOILED["gone"], SPOILED["empty"], SPOILED["other"]])
def test_offsets_that_are_read_in_pieces(split, spoil):
    spoil(split / "tgt_offsets.npy")
    with pytest.raises(ValueError) as error:
        list(read_lengths(split))
    one_line(error, split / "tgt_offsets.npy")


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
@pytest.mark.parametrize("name", ["order", "offsets"])
def test_an_array_of_buckets(split, tmp_path, name, spoil):
    folder = tmp_path / "buckets"
    write_array(folder / "order.npy", np.array([0, 1], dtype=np.uint32))
    write_array(folder / "offsets.npy", np.array([0, 2]))
    spoil(folder / f"{name}.npy")
    with pytest.raises(ValueError) as error:
        open_buckets(folder, EncodedSplit.open(split))
    one_line(error, folder / f"{name}.npy")


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_weights_that_are_averaged(tmp_path, spoil):
    paths = [tmp_path / f"{number}.safetensors" for number in range(2)]
    for path in paths:
        save_file({"w": torch.ones(9)}, path)
    spoil(paths[1])
    with pytest.raises(ValueError) as error:
        average(paths)
    one_line(error, paths[1])


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_statistics(tmp_path, spoil):
    path = tmp_path / "statistics.npz"
    np.savez_compressed(path, sacrebleu=np.zeros((3, 2)))
    spoil(path)
    with pytest.raises(ValueError) as error:
        read_statistics(path)
    one_line(error, path)


@pytest.mark.parametrize("missing", ["tflops", "basis"])
def test_a_column_that_a_device_lacks(tmp_path, missing):
    columns = {"tflops": "9.7", "basis": "published"}
    del columns[missing]
    entry = ", ".join(f"{key}: {value}" for key, value in columns.items())
    path = tmp_path / "devices.yaml"
    path.write_text(f"devices:\n  mine: {{{entry}}}\n")
    with pytest.raises(ValueError, match=rf"{path}: devices\.mine\.{missing}: .*state it"):
        load_devices(path)


FULL = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
    RuntimeError("I/O error: No space left on device (os error 28)"),
]


@pytest.mark.parametrize("raised", FULL, ids=str)
@pytest.mark.parametrize("aside", [atomic_path, atomic_folder, naming_full_disk])
def test_a_full_disk_by_whatever_exception(tmp_path, aside, raised):
    path = tmp_path / "result"
    with pytest.raises(OSError, match="no space left") as error, aside(path):
        raise raised
    assert in_words(error.value).startswith(f"{path}: no space left on its disk; free some")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "raised", [ValueError("a"), PermissionError(errno.EACCES, "no"), RuntimeError("b")], ids=str
)
def test_other_errors_pass_as_they_are(tmp_path, raised):
    with pytest.raises(type(raised)) as error, atomic_path(tmp_path / "result"):
        raise raised
    assert error.value is raised


@given(st.binary(max_size=50), st.integers(1, 7))
def test_a_file_that_takes_a_part_at_a_time_gets_all(data, most):
    class Slow(io.BytesIO):
        def write(self, part):
            return super().write(part[:most])

    stream = Slow()
    write_all(stream, data, path="x")
    assert stream.getvalue() == data
