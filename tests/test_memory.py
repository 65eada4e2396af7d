"""The peak is in bytes, whatever a system counts in."""

import resource
from types import SimpleNamespace

import pytest

from pipeline import memory


@pytest.mark.parametrize(("system", "said"), [("linux", 2048), ("darwin", 2048 * 1024)])
def test_a_system_without_proc_is_asked_in_its_own_unit(tmp_path, monkeypatch, system, said):
    monkeypatch.setattr(memory, "STATUS", tmp_path / "absent")
    monkeypatch.setattr(memory.sys, "platform", system)
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=said))
    assert memory.peak_resident_bytes() == 2 << 20


def test_the_peak_grows_by_what_is_held():
    before = memory.peak_resident_bytes()
    held = bytearray(b"\1") * (before + (64 << 20))
    assert memory.peak_resident_bytes() >= before + (32 << 20)
    del held
