"""Energy counters: sums, wrap-around, missing ones, and trainings that go on."""

import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training.energy import Counter, Energy, Meter, cpu_meter, gpu_meter

RANGE_UJ = 262_143_328_850


class Powercap:
    """A folder such as Linux shows: two packages, one memory, a core domain within a package."""

    ZONES = ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1")
    NAMES = ("package-0", "core", "dram", "package-1")

    def __init__(self, root: Path) -> None:
        self.root = root
        for zone, name in zip(self.ZONES, self.NAMES, strict=True):
            (root / zone).mkdir(parents=True)
            (root / zone / "name").write_text(f"{name}\n")
            (root / zone / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
        (root / "intel-rapl").mkdir()
        self.show(*[0] * 4)

    def show(self, *micro_joules: int) -> None:
        for zone, value in zip(self.ZONES, micro_joules, strict=True):
            (self.root / zone / "energy_uj").write_text(f"{value % RANGE_UJ}\n")


def alone(values):
    return values


def test_packages_and_memory_are_added_and_a_part_of_a_package_is_not(tmp_path):
    powercap = Powercap(tmp_path)
    powercap.show(5_000_000, 4_000_000, 1_000_000, 7_000_000)
    meter = cpu_meter(tmp_path)
    assert meter.source == "RAPL package-0, dram, package-1"
    assert meter.joules == 0.0
    powercap.show(15_000_000, 9_000_000, 3_000_000, 8_500_000)
    meter.poll()
    assert meter.joules == pytest.approx(10 + 2 + 1.5)


@given(
    start=st.integers(0, RANGE_UJ - 1),
    steps=st.lists(st.integers(0, RANGE_UJ - 1), max_size=12),
)
def test_a_counter_that_wraps_loses_nothing(start, steps):
    """Read at least once a round, the sum is that of a counter that never wraps."""
    shown = start

    def read() -> float:
        return shown % RANGE_UJ / 1e6

    meter = Meter([Counter(read, wraps_at=RANGE_UJ / 1e6)], "test")
    for step in steps:
        shown += step
        meter.poll()
    assert meter.joules == pytest.approx(sum(steps) / 1e6, abs=1e-3)


def test_a_machine_without_counters_says_so(tmp_path):
    energy = Energy(cpu_meter(tmp_path))
    assert energy.total(alone) is None
    assert energy.facts()["energy_joules"] is None
    assert energy.facts()["energy_source"].startswith("not measured: no energy counter")


def test_a_counter_that_may_not_be_read_says_so(tmp_path):
    Powercap(tmp_path)
    (tmp_path / "intel-rapl:1" / "energy_uj").unlink()
    assert "energy_uj" in cpu_meter(tmp_path).source
    assert cpu_meter(tmp_path).source.startswith("not measured: RAPL: ")


def test_a_counter_that_goes_away_makes_the_sum_unknown(tmp_path):
    powercap = Powercap(tmp_path)
    energy = Energy(cpu_meter(tmp_path))
    powercap.show(1_000_000, 0, 0, 0)
    assert energy.total(alone) == pytest.approx(1.0)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    assert energy.total(alone) is None
    assert energy.facts()["energy_source"].startswith("not measured: ")
    json.dumps(energy.facts(), allow_nan=False)


def test_parts_of_a_training_add_up(tmp_path):
    powercap = Powercap(tmp_path)
    first = Energy(cpu_meter(tmp_path))
    powercap.show(3_000_000, 0, 0, 0)
    saved = first.total(alone)
    powercap.show(9_000_000, 0, 0, 0)  # used after the checkpoint: lost, as its updates are
    second = Energy(cpu_meter(tmp_path))
    second.resume(saved)
    powercap.show(13_000_000, 0, 0, 0)
    assert second.total(alone) == pytest.approx(3 + 4)
    assert second.facts() == {"energy_joules": 7.0, "energy_source": second.meter.source}


def test_going_on_from_a_part_that_was_not_measured_is_unknown(tmp_path):
    Powercap(tmp_path)
    energy = Energy(cpu_meter(tmp_path))
    energy.resume(None)
    assert energy.total(alone) is None
    assert energy.facts()["energy_source"].startswith("not measured: an earlier part")


def test_ranks_are_added_and_one_without_a_counter_leaves_the_sum_unknown():
    shown = [0.0, 0.0]
    energies = [Energy(Meter([Counter(lambda i=i: shown[i])], "test")) for i in range(2)]
    shown[:] = [2.0, 3.0]
    for energy in energies:
        energy.resume(10.0)
        energy.meter.poll()
    together = sum(energy.meter.joules for energy in energies)
    for energy in energies:
        assert energy.total(lambda own: (together,)) == pytest.approx(15.0)
    assert energies[0].total(lambda own: (math.nan,)) is None


def test_the_second_rank_of_a_machine_counts_nothing_twice(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    energy = Energy.of(SimpleNamespace(device=SimpleNamespace(type="cpu")))
    assert energy.total(alone) == 0.0


def test_polls_are_no_more_frequent_than_asked():
    reads = []
    meter = Meter([Counter(lambda: float(len(reads.append(1) or reads)))], "test")
    for _ in range(100):
        meter.poll(every_seconds=60)
    assert len(reads) == 1
    meter.poll()
    assert meter.joules == 1.0


class FakeNvml:
    class NVMLError(Exception):
        pass

    def __init__(self, *, supported: bool) -> None:
        self.supported, self.millijoules = supported, 5000

    def nvmlInit(self):
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid):
        assert uuid == "GPU-ab-cd"
        return "handle"

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if not self.supported:
            raise self.NVMLError("Not Supported")
        return self.millijoules


@pytest.fixture
def one_gpu(monkeypatch):
    properties = SimpleNamespace(uuid="ab-cd")
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda device: properties)


def test_a_gpu_counts_by_nvml(monkeypatch, one_gpu):
    nvml = FakeNvml(supported=True)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    meter = gpu_meter("cuda:0")
    nvml.millijoules = 7500
    meter.poll()
    assert (meter.joules, meter.source) == (2.5, "NVML total energy of the GPU")
    nvml.supported = False
    meter.poll()
    assert meter.source == "not measured: NVML: Not Supported"


def test_a_gpu_without_that_counter_and_one_without_the_library_say_so(monkeypatch, one_gpu):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(supported=False))
    assert gpu_meter("cuda:0").source == "not measured: NVML: Not Supported"
    monkeypatch.setitem(sys.modules, "pynvml", None)  # as if not installed
    assert "nvidia-ml-py" in gpu_meter("cuda:0").source
