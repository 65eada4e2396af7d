"""The processor, what it multiplies how fast, and memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pipeline.diagnosis import limits
from pipeline.diagnosis.finding import Finding, first_line, found

GIB = 1 << 30
# The most that one training held at its peak, on a CPU (enfr_big in fp32: 1.1 GiB).
TRAINING_BYTES = {"demo": 1.25 * GIB}
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")


def processor() -> list[Finding]:
    text = f"{_model()}, {platform.system()} on {platform.machine()}"
    try:
        from pipeline.model.rates import processor_class

        text = f"{processor_class()}; {text}"
    except (ImportError, OSError) as error:  # OSError: a library that torch loads
        text += f"; class not told: {first_line(error)}"
    lesser = [f"{name}={os.environ[name]}" for name in LIMITS if name in os.environ]
    if lesser:
        text += f"; limited by {' '.join(lesser)}"
    return [Finding("processor", "ok", text)]


def _model(root: Path = limits.ROOT) -> str:
    try:
        lines = (root / "proc" / "cpuinfo").read_bytes().decode("ascii", "replace").split("\n")
    except OSError:  # not Linux
        return platform.processor() or "processor unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "processor unnamed"


def cores(root: Path = limits.ROOT) -> list[Finding]:
    """`snakemake --cores all` takes the CPUs it may run on, and knows no cgroup's quota."""
    has = limits.cores(root)
    text = f"{has.usable} of this machine's {has.machine}"
    if has.quota is not None and has.quota < has.usable:
        text += f" may be used, and a cgroup gives them the time of {has.quota:g}"
        fix = f"snakemake --cores {max(1, int(has.quota))}, or make CORES={max(1, int(has.quota))}"
        return [Finding("cores", "warning", text, fix)]
    return [Finding("cores", "ok", text)]


def memory(scale: str, root: Path = limits.ROOT) -> list[Finding]:
    """Whether the trainings that run side by side fit; only of scales that were measured."""
    has = limits.memory(root)
    text = f"{has.total / GIB:.1f} GiB"
    if has.limited:
        text += " by a cgroup's limit"
    if has.available is None:
        return [Finding("memory", "ok", text)]
    text += f", {has.available / GIB:.1f} available"
    need = TRAINING_BYTES.get(scale)
    if need is None:
        return [Finding("memory", "ok", text)]
    text += f"; a training of {scale} takes up to {need / GIB:.2f}"
    side_by_side, at_once = int(has.available / need), limits.cores(root).usable
    if side_by_side == 0:
        return [Finding("memory", "error", text, f"free {need / GIB:.2f} GiB: end other programs")]
    if side_by_side < at_once:
        text += f", and {at_once} would run side by side"
        fix = f"snakemake --cores {side_by_side}, or make CORES={side_by_side}"
        return [Finding("memory", "warning", text, fix)]
    return [Finding("memory", "ok", text)]


def products() -> list[Finding]:
    """What one thread multiplies in a second, as trainings run on a CPU, and a GPU if there is one;
    and what `precision: auto` makes of it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        findings = _products("cpu", "one thread")
    finally:
        torch.set_num_threads(threads)
    if torch.cuda.is_available():
        findings += found("products", _products, "cuda", "the first GPU")
    return findings


def _products(device: str, of: str) -> list[Finding]:
    from pipeline.model import rates

    measured = rates.product_rates(device)
    ways = ", ".join(f"{way} {rate:,.0f}" for way, rate in measured.items())
    share = measured["bf16"] / rates.best_rate("fp32", device)
    taken = "bf16" if rates.native_bf16(device) else "fp32"
    where = "on the CPU" if device == "cpu" else "on the GPU"
    return [
        Finding("products", "ok", f"GFLOP/s of {of}: {ways}"),
        Finding(
            "precision",
            "ok",
            f"auto is {taken} in training {where}: bf16 at {share:.2f} times the best fp32",
        ),
    ]
