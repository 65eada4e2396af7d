"""What the process holds, and what it held at most."""

import ctypes
import resource
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pipeline import memory

# nine blocks of 2 MB a step, as the logits of a search, each page written; faults of 10 steps
CHILD = """
import resource
import numpy as np
from pipeline.memory import keep_freed_memory

def step():
    return [np.full(2**18, 1.0) for _ in range(9)]

if {keep}:
    assert keep_freed_memory()
step()
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*, keep: bool) -> int:
    code = CHILD.format(keep=keep)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="malloc has no mallopt")
def test_freed_memory_is_used_again_without_a_page_fault():
    pages = 10 * 9 * 2**21 // 4096
    assert faults(keep=False) > pages / 2
    assert faults(keep=True) < pages / 100


def test_where_malloc_has_no_switch_nothing_is_done(monkeypatch):
    """As on macOS."""
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed_memory() is False


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
