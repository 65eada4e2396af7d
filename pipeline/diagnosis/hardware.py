"""The processor, what it multiplies how fast, and memory."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pipeline.diagnosis import limits
from pipeline.diagnosis.finding import Finding, first_line, found

GIB = 1 << 30
# Of one training and what runs for it: peaks of 0.9 GiB were seen (train.json: peak_memory_bytes).
TRAINING_BYTES = {"demo": 1.25 * GIB}
MODEL = "ende_base"
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


def products(scale: str) -> list[Finding]:
    """What one thread multiplies in a second, as trainings and decoding run on a CPU, and a GPU if
    there is one; and what `precision: auto` makes of it."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        findings = _training("cpu", "one thread") + found("decoding", _decoding, scale)
    finally:
        torch.set_num_threads(threads)
    if torch.cuda.is_available():
        findings += found("training", _training, "cuda", "the first GPU")
    return findings


def _training(device: str, of: str) -> list[Finding]:
    from pipeline.model import rates

    measured = rates.product_rates(device)
    ways = ", ".join(f"{way} {rate:,.0f}" for way, rate in measured.items())
    share = measured["bf16"] / rates.best_rate("fp32", device)
    taken = "bf16" if rates.native_bf16(device) else "fp32"
    where = "CPU" if device == "cpu" else "GPU"
    text = f"precision auto is {taken} on the {where}: bf16 at {share:.2f} times the best fp32"
    return [
        Finding("products", "ok", f"GFLOP/s of {of}: {ways}"),
        Finding("training", "ok", text),
    ]


def _decoding(scale: str) -> list[Finding]:
    """By products of the scale's own translation model; int8's are tried on exact sums."""
    from pipeline.diagnosis.place import configured
    from pipeline.inference.int8 import int8_steps
    from pipeline.inference.precision import decoding_gflops
    from pipeline.model.rates import WORTH, native_bf16

    project = configured(scale)
    experiment = project.experiments[MODEL]
    corpus = project.corpora[project.scale.tasks[experiment.task]]
    ways, refused = (["fp32", "bf16"] if native_bf16("cpu") else ["fp32"]), ""
    try:
        steps = int8_steps()
        ways.append("int8")
    except ValueError as error:
        refused = f"; int8 is refused: {first_line(error)}"
    rates = {
        precision: decoding_gflops(
            experiment.model,
            precision=precision,
            vocab_size=corpus.subwords.vocab_size,
            beam_size=experiment.decoding.beam_size,
        )
        for precision in ways
    }
    taken = max(ways, key=lambda way: rates[way] * (WORTH if way == "fp32" else 1.0))
    shown = ", ".join(f"{way} {rate:,.0f}" for way, rate in rates.items())
    if not refused:
        refused = f"; int8 is exact, with weights of {8 if steps > 63 else 7} bits"
    text = f"precision auto is {taken} for {MODEL} on the CPU, by GFLOP/s: {shown}{refused}"
    return [Finding("decoding", "ok", text)]
