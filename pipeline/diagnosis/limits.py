"""What this process may use of the machine: cores and memory, cgroups' limits with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")


@dataclass(frozen=True)
class Cores:
    """machine: logical CPUs. usable: those this process may run on. quota: CPUs' worth of time
    that its cgroups give it, None without a limit."""

    machine: int
    usable: int
    quota: float | None


@dataclass(frozen=True)
class Memory:
    """In bytes; `limited` where a cgroup gives less than the machine has. Available is None where
    the system doesn't say."""

    total: int
    available: int | None
    limited: bool


def cores(root: Path = ROOT) -> Cores:
    machine = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine
    quotas = []
    for group, unified in cgroups("cpu", root):
        names = ("cpu.max",) if unified else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = " ".join(_read(group / name) for name in names).split()
        if len(words) == 2 and words[0] not in ("max", "-1"):
            quotas.append(int(words[0]) / int(words[1]))
    return Cores(machine, usable, min(quotas, default=None))


def memory(root: Path = ROOT) -> Memory:
    facts = _fields(root / "proc" / "meminfo")
    if facts:
        total, available = 1024 * facts["MemTotal"], 1024 * facts["MemAvailable"]
    else:  # not Linux
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return Memory(total, None, limited=False)
    machine = total
    for group, unified in cgroups("memory", root):
        limit_name = "memory.max" if unified else "memory.limit_in_bytes"
        used_name = "memory.current" if unified else "memory.usage_in_bytes"
        limit, used = _read(group / limit_name), _read(group / used_name)
        if not (limit.isdigit() and used.isdigit() and int(limit) < machine):
            continue
        statistics = _fields(group / "memory.stat")
        cache = statistics.get("inactive_file", 0)  # given back when a process wants memory
        total = min(total, int(limit))
        available = min(available, max(0, int(limit) - int(used) + cache))
    return Memory(total, available, limited=total < machine)


def cgroups(controller: str, root: Path = ROOT) -> Iterator[tuple[Path, bool]]:
    """Folders of the groups that hold this process, innermost first, of version 2 (True) or 1."""
    for line in _read(root / "proc" / "self" / "cgroup").split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        unified = number == "0" and controllers == ""
        if not unified and controller not in controllers.split(","):
            continue
        base = root / "sys" / "fs" / "cgroup"
        if not unified:
            base /= controller
        parts = [part for part in path.split("/") if part]
        if ".." in parts:  # outside of what a container sees
            parts = []
        for end in range(len(parts), -1, -1):
            yield base.joinpath(*parts[:end]), unified


def _read(path: Path) -> str:
    """What a file of the kernel holds; nothing where this kernel has no such file."""
    try:
        return path.read_bytes().decode("ascii", "replace").strip()
    except OSError:
        return ""


def _fields(path: Path) -> dict[str, int]:
    """Lines of `name: number unit` or `name number`."""
    rows = (line.replace(":", " ").split() for line in _read(path).split("\n"))
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}
