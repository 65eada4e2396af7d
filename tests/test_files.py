"""Files and folders appear whole or not at all; what stands in their way is named."""

import pytest

from pipeline.files import atomic_folder, atomic_open, read_json

WRITERS = {"atomic_open": atomic_open, "atomic_folder": atomic_folder}


def write(writer, path, *, fails=False):
    with WRITERS[writer](path) as made:
        if writer == "atomic_folder":
            made = open(made / "file", "wb")  # noqa: SIM115
        made.write(b"x")
        made.close()
        if fails:
            raise RuntimeError


@pytest.mark.parametrize("writer", WRITERS)
def test_a_block_that_fails_leaves_nothing(writer, tmp_path):
    with pytest.raises(RuntimeError):
        write(writer, tmp_path / "out", fails=True)
    assert not list(tmp_path.iterdir())
    write(writer, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("below", ["t", "t/u/v"])
@pytest.mark.parametrize("file", ["a.txt", "nowhere"])
def test_a_path_below_a_file_names_the_file(writer, below, file, tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(NotADirectoryError, match="is a file, not a folder") as caught:
        write(writer, tmp_path / file / below)
    assert caught.value.filename == str(tmp_path / file)


def test_a_file_cannot_take_a_folder_s_place(tmp_path):
    """It is said before anything is written, which may have taken hours."""
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_open(tmp_path):
        raise AssertionError


def test_a_folder_takes_no_filled_folder_s_place(tmp_path):
    (tmp_path / "out").mkdir()
    write("atomic_folder", tmp_path / "out")
    before = (tmp_path / "out" / "file").stat().st_ino
    with pytest.raises(OSError, match="not empty"):
        write("atomic_folder", tmp_path / "out")
    assert (tmp_path / "out" / "file").stat().st_ino == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("data", [b"", b"{", b"\xff"])
def test_what_is_not_json_is_named(data, tmp_path):
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.json: damaged, not JSON"):
        read_json(tmp_path / "a.json")
