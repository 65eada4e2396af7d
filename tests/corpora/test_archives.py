"""Archives are read as streams, whatever their kind, and unsafe ones are refused whole."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.archives import is_archive, list_members, open_text

TEXT = "ein\r Wort\u2028\nzwei\n".encode()


def tar(path, members, *, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def link(name, target, *, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def read(path, *members):
    with open_text(path, members) as stream:
        return stream.read()


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["text.en", "text.en.gz"])
def test_compression_is_told_by_the_bytes_not_by_the_name(tmp_path, pack, name):
    (tmp_path / name).write_bytes(pack(TEXT))
    assert read(tmp_path / name) == TEXT


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("name", ["training/a.en", "./training/a.en"])
def test_a_member_of_a_tar(tmp_path, mode, name):
    members = {"training/a.de": b"x", name: TEXT, "training/b.en": b"y"}
    path = tar(tmp_path / "a.tgz", members, mode=mode)
    assert is_archive(path)
    assert read(path, "training/a.en") == TEXT


def test_a_gz_inside_a_tar_and_a_member_that_was_renamed(tmp_path):
    names = ("giga-fren.release2.fixed.en.gz", "giga-fren.release2.en.gz")
    for name in names:
        path = tar(tmp_path / "giga.tar", {name: gzip.compress(TEXT)}, mode="w")
        assert read(path, *names) == TEXT


def test_a_mirror_s_zip_stands_in_for_the_tgz(tmp_path):
    path = tmp_path / "a.tgz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("top/training/a.en", TEXT)
    assert read(path, "training/a.en") == TEXT


def test_no_member_fits_and_the_error_lists_what_there_is(tmp_path):
    path = tar(tmp_path / "a.tgz", {"dev/x.en": b"", "dev/y.en": b""})
    with pytest.raises(ValueError, match=r"a\.tgz: none of dev/z\.en .* it has dev/x\.en, dev/y"):
        read(path, "dev/z.en")
    with pytest.raises(ValueError, match="fits several members"):
        read(path, "*.en")


UNSAFE = {
    "absolute": {"/etc/passwd": b""},
    "parent": {"../../a": b""},
    "inner parent": {"a/../../b": b""},
    "symlink out": {"a": link("a", "../secret")},
    "symlink to an absolute path": {"d/a": link("d/a", "/etc/passwd")},
    "hard link out": {"a": link("a", "../../b", kind=tarfile.LNKTYPE)},
    "device": {"a": link("a", "", kind=tarfile.CHRTYPE)},
}


@pytest.mark.parametrize("members", UNSAFE.values(), ids=UNSAFE)
@pytest.mark.parametrize("first", [True, False])
def test_an_unsafe_tar_is_refused_whole(tmp_path, members, first):
    good = {"good.en": TEXT}
    path = tar(tmp_path / "a.tgz", {**members, **good} if first else {**good, **members})
    with pytest.raises(ValueError, match=r"a\.tgz.*refused"):
        list_members(path)
    with pytest.raises(ValueError, match=r"a\.tgz.*refused"):
        read(path, "good.en")


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "C:/a", "..\\a"])
def test_an_unsafe_zip_is_refused_whole(tmp_path, name):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("good.en", TEXT)
        archive.writestr(name, b"")
    with pytest.raises(ValueError, match="refused"):
        read(path, "good.en")


def test_a_symlink_in_a_zip_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    info = zipfile.ZipInfo("a")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("good.en", TEXT)
        archive.writestr(info, "../secret")
    with pytest.raises(ValueError, match="link"):
        read(path, "good.en")


def test_a_link_within_the_archive_is_no_reason_to_refuse(tmp_path):
    path = tar(tmp_path / "a.tgz", {"d/a.en": TEXT, "d/b.en": link("d/b.en", "a.en")})
    assert read(path, "d/a.en") == TEXT
    with pytest.raises(ValueError, match="is a link"):
        read(path, "d/b.en")


@given(st.integers(0, 200))
def test_a_truncated_archive_is_an_error_at_every_length(tmp_path_factory, lost):
    folder = tmp_path_factory.mktemp("cut")
    whole = tar(folder / "a.tgz", {"a.en": bytes(range(256)) * 8, "b.en": b"b" * 99}).read_bytes()
    (folder / "a.tgz").write_bytes(whole[: max(4, len(whole) - 1 - lost)])
    with pytest.raises(ValueError, match=r"a\.tgz"):
        read(folder / "a.tgz", "b.en")


@given(st.binary(max_size=300), st.integers(1, 40))
def test_truncated_gzip_is_an_error_or_never_silently_short(tmp_path_factory, data, lost):
    path = tmp_path_factory.mktemp("cut") / "a.gz"
    packed = gzip.compress(data)
    path.write_bytes(packed[: max(3, len(packed) - lost)])
    with pytest.raises(ValueError, match=r"truncated or damaged .*; put a whole copy in its place"):
        read(path)


@pytest.mark.parametrize("members", [(), ("a.en",)])
def test_a_folder_or_nothing_in_the_place_of_a_file_is_not_called_damaged(tmp_path, members):
    with pytest.raises(ValueError, match=f"{tmp_path}: a folder, where a file is needed; put the"):
        read(tmp_path, *members)
    with pytest.raises(FileNotFoundError, match="none"):
        read(tmp_path / "none", *members)
