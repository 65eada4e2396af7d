"""Which rate stands behind a run: by the name its driver reports and its precision."""

from pathlib import Path

import pytest

from pipeline.evaluation.cost import load_devices
from pipeline.results.costs import Rates

RATES = Rates(load_devices(Path(__file__).parents[2] / "config" / "devices.yaml"))


@pytest.mark.parametrize(
    ("device", "precision", "name"),
    [
        ("Tesla P100-SXM2-16GB", "fp32", "P100"),
        ("Tesla V100-SXM2-32GB", "fp32", "V100"),
        ("Tesla V100-PCIE-16GB", "fp32", "V100-PCIE"),
        ("Tesla T4", "fp32", "T4"),
        ("NVIDIA A100-SXM4-80GB", "bf16", "A100-bf16"),
        ("NVIDIA A100 80GB PCIe", "fp32", "A100"),
        ("NVIDIA A10", "bf16", "A10-bf16"),
        ("NVIDIA H100 80GB HBM3", "bf16", "H100-bf16"),
        ("NVIDIA H100 PCIe", "bf16", "H100 PCIe-bf16"),
        ("NVIDIA H100 NVL", "fp32", "H100 NVL"),
        ("NVIDIA H200", "fp32", "H200"),
        ("NVIDIA L4", "fp32", "L4"),
        ("NVIDIA L40S", "bf16", "L40S-bf16"),
        ("NVIDIA L40", "fp32", None),  # another device than an L4
        ("Tesla V100-SXM2-32GB", "bf16", None),
        ("NVIDIA GeForce RTX 4090", "fp32", "RTX 4090"),
        ("cpu: AMD EPYC", "fp32", None),
    ],
)
def test_a_run_finds_the_rate_of_its_device(device, precision, name):
    train = {"device": device, "training": {"precision": precision}, "elapsed_seconds": 10.0}
    found = RATES.find(train)
    assert (found and found[0]) == name
    flops = RATES.flops_by_time({**train, "ranks": 4})
    assert flops == (name and 4 * 10.0 * RATES.devices[name].tflops * 1e12)


def test_what_auto_became_decides_the_rate():
    auto = {"device": "NVIDIA A100 80GB PCIe", "training": {"precision": "auto"}}
    for became, name in (("bf16", "A100-bf16"), ("fp32", "A100")):
        assert RATES.find({**auto, "precision": became})[0] == name
