"""Energy that a training used, as counters of its devices tell it.

A GPU counts by NVML, through pynvml, the library that torch itself asks; a CPU by RAPL, which Linux
shows below /sys/class/powercap. Both count the whole device, whatever else ran on it. Where nothing
counts, the reason stands in the source's place.
"""

import importlib
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POWERCAP = Path("/sys/class/powercap")
POLL_SECONDS = 10.0  # a package's counter wraps after minutes at the soonest
UNMEASURED = "not measured: "


@dataclass(frozen=True)
class Counter:
    """A reading in joules that only grows, but starts again from 0 at `wraps_at`."""

    read: Callable[[], float]
    wraps_at: float | None = None


class Meter:
    """Joules since it was made, the sum over counters; NaN once a counter can't be read.

    `source` names what is read, or says why nothing is. `poll` must come more often than a
    counter wraps.
    """

    def __init__(self, counters: Sequence[Counter], source: str) -> None:
        self.counters, self.source = counters, source
        self.joules = math.nan if source.startswith(UNMEASURED) else 0.0
        self._last: list[float] = []
        self._polled = -math.inf
        self.poll()

    def poll(self, *, every_seconds: float = 0.0) -> None:
        """Add what was used since the last reading, unless that is younger than asked."""
        if time.monotonic() - self._polled < every_seconds or math.isnan(self.joules):
            return
        self._polled = time.monotonic()
        try:
            now = [counter.read() for counter in self.counters]
        except (OSError, ValueError, RuntimeError) as error:
            self.joules, self.source = math.nan, f"{UNMEASURED}{error}"
            return
        for counter, before, after in zip(self.counters, self._last or now, now, strict=True):
            wrapped = counter.wraps_at if after < before and counter.wraps_at else 0.0
            self.joules += after - before + wrapped
        self._last = now


class Energy:
    """What a training used on all its ranks, in this process and in those that it goes on from."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.before: float | None = 0.0
        self.joules: float | None = None

    @classmethod
    def of(cls, rank: Any) -> "Energy":
        """A rank's own GPU; the machine's CPUs for its first rank, nothing more for the others."""
        if rank.device.type == "cuda":
            return cls(gpu_meter(rank.device))
        if int(os.environ.get("LOCAL_RANK", 0)) > 0:
            return cls(Meter([], "counted by the machine's first rank"))
        return cls(cpu_meter())

    def resume(self, joules: float | None) -> None:
        """Go on from a checkpoint's sum; None where that part was not measured."""
        self.before = self.joules = joules

    def poll(self) -> None:
        self.meter.poll(every_seconds=POLL_SECONDS)

    def total(self, over_ranks: Callable[[tuple[float, ...]], tuple[float, ...]]) -> float | None:
        """Joules until now, over all ranks, each of which must ask; None if a part is unknown."""
        self.meter.poll()
        (used,) = over_ranks((self.meter.joules,))
        known = self.before is not None and not math.isnan(used)
        self.joules = self.before + used if known else None
        return self.joules

    def facts(self) -> dict[str, Any]:
        """What train.json tells: joules as of the last `total`, and their source or why none."""
        source = self.meter.source
        if self.joules is None and not source.startswith(UNMEASURED):
            source = f"{UNMEASURED}an earlier part of the training, or another rank, was not"
        return {"energy_joules": self.joules, "energy_source": source}


def cpu_meter(root: Path = POWERCAP) -> Meter:
    """RAPL's packages and, where they are counted apart, their memories."""
    counters, names = [], []
    try:
        for zone in sorted(root.glob("intel-rapl:*")):  # so named on AMD too
            name = (zone / "name").read_text().strip()
            if name.startswith("package") or name == "dram":
                counters.append(_rapl_counter(zone))
                names.append(name)
    except OSError as error:
        return Meter([], f"{UNMEASURED}RAPL: {error}")
    if not counters:
        return Meter([], f"{UNMEASURED}no energy counter of a CPU package below {root}")
    return Meter(counters, f"RAPL {', '.join(names)}")


def _rapl_counter(zone: Path) -> Counter:
    path = zone / "energy_uj"
    path.read_text()  # readable by root alone on many machines: say so now

    def read() -> float:
        return int(path.read_text()) / 1e6

    return Counter(read, wraps_at=int((zone / "max_energy_range_uj").read_text()) / 1e6)


def gpu_meter(device: Any) -> Meter:
    """NVML's total energy of one GPU, in millijoules since its driver was loaded."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return Meter([], f"{UNMEASURED}pynvml is not installed (pip install nvidia-ml-py)")
    import torch  # a GPU's rank has it already; CPU counters are tested without

    try:
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByUUID(
            f"GPU-{torch.cuda.get_device_properties(device).uuid}"
        )
        nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except nvml.NVMLError as error:
        return Meter([], f"{UNMEASURED}NVML: {error}")

    def read() -> float:
        try:
            return nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3
        except nvml.NVMLError as error:
            raise RuntimeError(f"NVML: {error}") from error

    return Meter([Counter(read)], "NVML total energy of the GPU")
