"""GPUs: those that the driver sees, and those that torch can use. One that stays idle is said."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

from pipeline.diagnosis.finding import Finding, State, first_line

VISIBLE = "CUDA_VISIBLE_DEVICES"
DRIVER_SECONDS = 60
NVIDIA = "0x10de"  # the maker's number in a PCI device
DISPLAY = "0x03"  # of its class: what draws or computes
ON_CPU = f"or leave GPUs alone: {VISIBLE}= snakemake --cores all"


@dataclass(frozen=True)
class Driver:
    """What nvidia-smi says. cards: name and memory of each. cuda: the latest that the driver runs,
    as "12.4". failure: why it says nothing."""

    cards: tuple[str, ...]
    version: str = ""
    cuda: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Torch:
    """What torch says. cuda: that it was built with, None for a build without. devices: name and
    compute capability. architectures: as get_arch_list. failure: of CUDA's start."""

    version: str
    cuda: str | None
    devices: tuple[tuple[str, tuple[int, int]], ...] = ()
    architectures: tuple[str, ...] = ()
    failure: str = ""


def gpus() -> list[Finding]:
    driver = ask_driver()
    torch, missing, refused = None, "", ""
    try:
        torch = ask_torch()
        refused = _refusal()
    except (ImportError, OSError) as error:
        missing = first_line(error)
    if torch is None and driver is not None and driver.cards:
        text = f"{_counted(driver.cards)} by nvidia-smi; torch can't be imported: {missing}"
        return [Finding("GPUs", "warning", text, "install the packages first")]
    return judged(
        driver,
        torch,
        card=driver is None and has_card(),
        visible=os.environ.get(VISIBLE),
        refused=refused,
    )


def ask_driver() -> Driver | None:
    """None where there is no nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    code, output = _nvidia_smi(*query)
    rows = [[cell.strip() for cell in line.split(",")] for line in output.split("\n") if line]
    if code or not rows or any(len(row) != 3 for row in rows):
        return Driver((), failure=first_line(output) if output.strip() else f"exit code {code}")
    latest = re.search(r"CUDA Version: *([\d.]+)", _nvidia_smi()[1])
    cards = tuple(f"{name} {memory}" for name, memory, _ in rows)
    return Driver(cards, version=rows[0][2], cuda=latest.group(1) if latest else "")


def _nvidia_smi(*arguments: str) -> tuple[int, str]:
    try:
        result = subprocess.run(
            ["nvidia-smi", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DRIVER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, first_line(error)
    return result.returncode, result.stdout.decode("utf-8", "replace").strip()


def ask_torch() -> Torch:
    """Raises ImportError or OSError where torch can't be imported."""
    import torch

    version, cuda = str(torch.__version__), torch.version.cuda
    if cuda is None:
        return Torch(version, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is found out here
        if not torch.cuda.is_available():
            try:
                torch.cuda.init()
                failure = ""
            except (RuntimeError, AssertionError) as error:
                failure = first_line(error)
            return Torch(version, cuda, failure=failure)
        devices = tuple(
            (torch.cuda.get_device_name(n), torch.cuda.get_device_capability(n))
            for n in range(torch.cuda.device_count())
        )
        return Torch(version, cuda, devices, tuple(torch.cuda.get_arch_list()))


def _refusal() -> str:
    """Why a training with `device: auto` would not start here; nothing where it would."""
    from pipeline.training.ranks import choose_device

    try:
        choose_device("auto")
    except ValueError as error:
        return first_line(error)
    return ""


def has_card(root: Path = Path("/")) -> bool:
    """Whether a card of NVIDIA's is in the machine, as Linux lists it without any driver."""
    for folder in (root / "sys" / "bus" / "pci" / "devices").glob("*"):
        try:
            maker, kind = ((folder / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if maker == NVIDIA and kind.startswith(DISPLAY):
            return True
    return False


def judged(
    driver: Driver | None,
    torch: Torch | None,
    *,
    card: bool = False,
    visible: str | None = None,
    refused: str = "",
) -> list[Finding]:
    """What follows from what both say; visible: CUDA_VISIBLE_DEVICES.

    A GPU that torch can't use is an error where a training would not start, by `refused` or
    because its kernels are missing; else everything would run on the CPU, which is a warning.
    """
    state: State = "error" if refused else "warning"
    if driver is not None and driver.failure:
        fix = "load or update NVIDIA's driver; after an update restart the machine"
        return [Finding("GPUs", state, f"nvidia-smi fails: {driver.failure}", fix)]
    if torch is not None and torch.devices:
        return _usable(driver, torch, visible)
    if driver is None or not driver.cards:
        if card:
            fix = "install NVIDIA's driver; give a container its GPUs when it is started"
            text = "an NVIDIA card is in this machine, but nvidia-smi is not: no driver"
            return [Finding("GPUs", "warning", text, fix)]
        return [Finding("GPUs", "ok", "none; everything runs on the CPU")]
    cards = f"{_counted(driver.cards)}, driver {driver.version}"
    if visible is not None and visible.strip() in ("", "-1"):
        return [Finding("GPUs", "ok", f"{cards}; hidden by {VISIBLE}={visible}")]
    if torch is None:
        return [Finding("GPUs", "warning", f"{cards}; torch is not there to use them", "")]
    text, fix = _unused(driver, torch)
    if refused:
        text += f"; trainings refuse to start: {refused}"
    else:
        text += "; everything would run on the CPU"
    return [Finding("GPUs", state, f"{cards}; {text}", f"{fix}; {ON_CPU}")]


def _unused(driver: Driver, torch: Torch) -> tuple[str, str]:
    """Why torch sees no GPU though the driver does, and the fix."""
    release = torch.version.partition("+")[0]
    major = driver.cuda.partition(".")[0]
    wheel = f"the wheel of torch {release} for CUDA {major or 'of this driver'}"
    if major:
        wheel += f" (its version ends in +cu{major} and a digit)"
    if torch.cuda is None:
        return f"torch {torch.version} is built without CUDA", f"install {wheel}"
    if major and int(torch.cuda.partition(".")[0]) > int(major):
        return (
            f"torch {torch.version} is built with CUDA {torch.cuda}, and the driver runs CUDA "
            f"{driver.cuda} at most",
            f"update the driver, or install {wheel}",
        )
    said = torch.failure or "it gives no reason"
    text = f"torch {torch.version}, built with CUDA {torch.cuda}, sees none: {said}"
    return text, f"see that /dev/nvidia* may be read here, or install {wheel}"


def _usable(driver: Driver | None, torch: Torch, visible: str | None) -> list[Finding]:
    names = _counted(tuple(name for name, _ in torch.devices))
    built = f"torch {torch.version}"
    for name, capability in torch.devices:
        if not runs_on(capability, torch.architectures):
            wanted = "sm_{}{}".format(*capability)
            text = (
                f"{name}: its architecture {wanted} is not among those of {built}: "
                f"{' '.join(torch.architectures)}"
            )
            fix = f"a torch built for {wanted}: an earlier release, or one for an earlier CUDA"
            return [Finding("GPUs", "error", text, f"{fix}; {ON_CPU}")]
    seen = len(driver.cards) if driver is not None else 0
    if visible is None and seen > len(torch.devices):
        text = f"{built} uses {names}, and nvidia-smi sees {seen}"
        return [Finding("GPUs", "warning", text, "see that /dev/nvidia* may all be read here")]
    kinds = sorted({"sm_{}{}".format(*capability) for _, capability in torch.devices})
    return [Finding("GPUs", "ok", f"{names} ({', '.join(kinds)}), used by {built}")]


def runs_on(capability: tuple[int, int], architectures: tuple[str, ...]) -> bool:
    """Whether code for one of torch's architectures runs on a GPU of a compute capability.

    sm_80 holds code for 8.0 that runs on 8.6 too; sm_90a for 9.0 alone; compute_90 is compiled by
    the driver for anything from 9.0 on.
    """
    major, minor = capability
    for architecture in architectures:
        parsed = re.fullmatch(r"(sm|compute)_(\d+)(\d)([a-z]*)", architecture)
        if parsed is None:
            continue
        kind, own_major, own_minor, special = parsed.groups()
        own = int(own_major), int(own_minor)
        if own == capability:
            return True
        if special:
            continue
        if kind == "sm" and own[0] == major and own[1] <= minor:
            return True
        if kind == "compute" and own <= capability:
            return True
    return False


def _counted(names: tuple[str, ...]) -> str:
    """ "2 x NVIDIA A100-SXM4-40GB", kinds in the order in which they come."""
    kinds = dict.fromkeys(names)
    return ", ".join(f"{names.count(kind)} x {kind}" for kind in kinds)
