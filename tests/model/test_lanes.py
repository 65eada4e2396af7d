"""`make test` runs some tests twice: the second time torch must act as on a lesser processor."""

import os
import platform
import re
import subprocess
import sys

import pytest
import torch

REPORT = (
    "import torch; "
    "print(torch.backends.cpu.get_cpu_capability(), torch.ops.mkldnn._is_mkldnn_bf16_supported())"
)


@pytest.fixture(scope="module")
def variables(project_folder):
    """What the Makefile sets for its second lane."""
    (line,) = re.findall(r"^AVX2 := (.*)$", (project_folder / "Makefile").read_text(), re.M)
    return dict(entry.split("=") for entry in line.split())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the second lane is for x86 alone")
@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="this processor has no AVX2",
)
def test_the_second_lane_has_avx2_and_neither_avx512_nor_bf16(variables):
    plain = {key: value for key, value in os.environ.items() if key not in variables}
    shown = subprocess.run(
        [sys.executable, "-c", REPORT], env={**plain, **variables}, check=True, capture_output=True
    )
    assert shown.stdout.decode().split() == ["AVX2", "False"]


def test_the_lane_that_runs_is_the_one_that_was_asked_for(variables):
    if all(os.environ.get(key) == value for key, value in variables.items()):
        assert torch.backends.cpu.get_cpu_capability() == "AVX2"
        assert not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    else:
        assert not variables.keys() & os.environ.keys(), "set both variables of the lane, or none"
