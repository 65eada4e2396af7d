"""A GPU that stays idle is said, with the reason and the fix; one that works is not."""

import os
from dataclasses import replace

import pytest

from pipeline.diagnosis import graphics
from pipeline.diagnosis.graphics import Driver, Torch, judged, runs_on

CARD = "NVIDIA A100-SXM4-40GB"
TWO = Driver((f"{CARD} 40960 MiB",) * 2, version="550.54.15", cuda="12.4")
FITS = Torch("2.13.0+cu126", "12.6", ((CARD, (8, 0)),) * 2, ("sm_70", "sm_80", "sm_90"))
SMI = """#!/bin/sh
case "$*" in
*--query-gpu*) echo "NVIDIA A100-SXM4-40GB, 40960 MiB, 550.54.15" ;;
*) echo "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |" ;;
esac
"""


def only(findings):
    (finding,) = findings
    return finding


@pytest.fixture
def driver_says(tmp_path, monkeypatch):
    """Puts a nvidia-smi first in PATH."""

    def put(script):
        program = tmp_path / "nvidia-smi"
        program.write_text(script)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    monkeypatch.delenv(graphics.VISIBLE, raising=False)
    return put


def test_a_hidden_gpu_is_named_with_the_wheel(driver_says, monkeypatch):
    driver_says(SMI)
    without = Torch("2.13.0+cpu", None)
    monkeypatch.setattr(graphics, "ask_torch", lambda: without)
    finding = only(graphics.gpus())
    assert finding.state in ("warning", "error")  # an error where trainings refuse to start
    assert f"1 x {CARD} 40960 MiB, driver 550.54.15" in finding.text
    assert "torch 2.13.0+cpu is built without CUDA" in finding.text
    assert "torch 2.13.0 for CUDA 12 (its version ends in +cu12 and a digit)" in finding.fix
    assert "CUDA_VISIBLE_DEVICES= snakemake" in finding.fix


def test_what_this_torch_says_of_a_gpu_that_only_the_driver_sees(driver_says):
    said = graphics.ask_torch()
    if said.devices:
        pytest.skip(f"needs a machine without GPUs: {said.devices}")
    driver_says(SMI)
    finding = only(graphics.gpus())
    assert finding.state in ("warning", "error")
    assert said.version in finding.text


def test_without_torch_the_gpu_is_said_too(driver_says, monkeypatch):
    def missing():
        raise ImportError("No module named 'torch'")

    driver_says(SMI)
    monkeypatch.setattr(graphics, "ask_torch", missing)
    finding = only(graphics.gpus())
    assert finding.state == "warning"
    assert "torch can't be imported: No module named 'torch'" in finding.text


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n",
         "Driver/library version mismatch"),
        ("#!/bin/sh\nexit 9\n", "exit code 9"),
        ("#!/bin/sh\necho 'No devices were found'\n", "No devices were found"),
    ],
)  # fmt: skip
def test_a_driver_that_fails_is_no_machine_without_gpus(driver_says, script, said):
    driver_says(script)
    finding = only(graphics.gpus())
    assert finding.state == "warning"
    assert said in finding.text
    assert finding.fix


def test_gpus_that_work_are_ok():
    finding = only(judged(TWO, FITS))
    assert finding.state == "ok"
    assert f"2 x {CARD} (sm_80), used by torch 2.13.0+cu126" in finding.text
    assert only(judged(None, FITS)).state == "ok"  # without nvidia-smi
    assert only(judged(None, Torch("2.13.0+cpu", None))).text.startswith("none")


def test_a_driver_too_old_for_torch_is_named_with_both_versions():
    torch = Torch("2.13.0+cu130", "13.0", failure="The NVIDIA driver on your system is too old")
    finding = only(judged(TWO, torch))
    assert finding.state == "warning"
    assert "built with CUDA 13.0, and the driver runs CUDA 12.4 at most" in finding.text
    assert "update the driver" in finding.fix
    assert "for CUDA 12 " in finding.fix


def test_torch_that_sees_none_gives_its_reason():
    torch = Torch("2.13.0+cu126", "12.6", failure="no permission")
    finding = only(judged(TWO, torch))
    assert (finding.state, "sees none: no permission" in finding.text) == ("warning", True)


def test_where_a_training_refuses_to_start_it_is_an_error():
    finding = only(judged(TWO, Torch("2.13.0+cpu", None), refused="device auto: no"))
    assert finding.state == "error"
    assert "trainings refuse to start: device auto: no" in finding.text


@pytest.mark.parametrize("visible", ["", "-1", " "])
def test_gpus_that_someone_hides_are_no_fault(visible):
    finding = only(judged(TWO, Torch("2.13.0+cpu", None), visible=visible))
    assert finding.state == "ok"
    assert f"hidden by CUDA_VISIBLE_DEVICES={visible}" in finding.text


def test_fewer_than_the_driver_sees_is_said_unless_someone_chose_so():
    one = replace(FITS, devices=FITS.devices[:1])
    assert only(judged(TWO, one)).state == "warning"
    assert only(judged(TWO, one, visible="0")).state == "ok"


def test_kernels_for_other_architectures_are_an_error():
    old = replace(FITS, devices=(("Tesla P100", (6, 0)),))
    finding = only(judged(None, old))
    assert finding.state == "error"
    assert "Tesla P100: its architecture sm_60 is not among" in finding.text
    assert "sm_60" in finding.fix
    assert "CUDA_VISIBLE_DEVICES= snakemake" in finding.fix


@pytest.mark.parametrize(
    ("capability", "architectures", "runs"),
    [
        ((8, 0), ("sm_80",), True),
        ((8, 6), ("sm_80",), True),  # code of a minor version runs on later ones
        ((8, 0), ("sm_86",), False),
        ((9, 0), ("sm_80", "sm_86"), False),  # of another major version never
        ((9, 0), ("sm_80", "compute_80"), True),  # but the driver compiles what is general
        ((7, 0), ("sm_80", "compute_80"), False),
        ((9, 0), ("sm_90a",), True),
        ((10, 3), ("sm_100a",), False),
        ((10, 3), ("sm_100",), True),
        ((12, 0), ("sm_75", "sm_120"), True),
        ((7, 0), (), False),
    ],
)
def test_which_code_runs_on_which_gpu(capability, architectures, runs):
    assert runs_on(capability, architectures) is runs


def test_a_card_without_a_driver_is_found_on_the_bus(tmp_path):
    devices = tmp_path / "sys" / "bus" / "pci" / "devices"
    for name, vendor, kind in (("a", "0x8086", "0x030000"), ("b", "0x10de", "0x040300")):
        (devices / name).mkdir(parents=True)
        (devices / name / "vendor").write_text(vendor + "\n")
        (devices / name / "class").write_text(kind + "\n")
    assert not graphics.has_card(tmp_path)  # another maker's, and a sound device of NVIDIA's
    (devices / "b" / "class").write_text("0x030200\n")
    assert graphics.has_card(tmp_path)
    finding = only(judged(None, Torch("2.13.0+cpu", None), card=True))
    assert finding.state == "warning"
    assert "no driver" in finding.text
