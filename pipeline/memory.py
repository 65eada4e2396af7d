"""How much memory this process has held."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


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
