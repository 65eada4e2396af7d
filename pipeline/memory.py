"""How much memory this process has held, and that it keeps what it frees."""

import ctypes
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
KEPT_BYTES = 512 * 2**20
LARGEST_MMAP_BYTES = 32 * 2**20  # the most that every glibc takes


def peak_resident_bytes() -> int:
    """The most that was resident at once since the program began.

    Read from Linux's VmHWM: `ru_maxrss` begins with what the parent process held when it started
    this one. Elsewhere than on Linux it is what there is.
    """
    if STATUS.exists():
        for line in STATUS.read_bytes().split(b"\n"):
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def keep_freed_memory() -> bool:
    """Let malloc keep what is freed, up to 512 MB, for the next step; False where it can't be told.

    glibc gives the end of its heap back as soon as twice the last large block is free there. A
    step that frees what the next one allocates again then pays for each page twice, in the kernel:
    5,000 page faults for a step of the base model's search, a tenth of its time. Blocks beyond
    32 MB are given back as before. Other systems' malloc has no such switch.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    kept = mallopt(M_TRIM_THRESHOLD, KEPT_BYTES), mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_BYTES)
    return kept == (1, 1)
