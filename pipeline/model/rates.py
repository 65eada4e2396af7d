"""How fast this process multiplies in each precision, and on what class of processor.

What torch says is supported is no guide: processors of AVX-512 without bf16 products compute them
in fp32, after a conversion, and AVX2 ones ten times more slowly than fp32. So products are timed.
"""

import functools
import os
import platform
import time
from collections.abc import Callable

import torch
from torch.nn import functional as F

from pipeline.model.onednn import packed_linear

WORTH = 1.3  # times the best fp32 rate: less gains nothing over all of a training or a search
ROUNDS = 3
SECONDS = 2e-3  # that a product is repeated for in a round, at least once
SHAPE_NIO = {"cpu": (256, 512, 512), "gpu": (2048, 2048, 2048)}

# What oneDNN calls a class, what people do, and what the processor must have; each of the next
# holds more. Limits by ONEDNN_MAX_CPU_ISA name the same classes.
CLASSES = (
    ("SSE41", "SSE4.1", ("sse4_1",)),
    ("AVX", "AVX", ("avx",)),
    ("AVX2", "AVX2", ("avx2", "fma3")),
    ("AVX2_VNNI", "AVX2 with VNNI", ("avx2", "fma3", "avx_vnni")),
    ("AVX512_CORE", "AVX-512", ("avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")),
    ("AVX512_CORE_VNNI", "AVX-512 with VNNI", ("avx512_bw", "avx512_vnni")),
    ("AVX512_CORE_BF16", "AVX-512 with bf16", ("avx512_bw", "avx512_vnni", "avx512_bf16")),
    ("AVX10_1_512", "AVX-512 with fp16", ("avx512_bf16", "avx512_fp16")),
    ("AVX10_1_512_AMX", "AMX", ("avx512_bf16", "amx_tile", "amx_int8", "amx_bf16")),
)
SAME = {"AVX512_CORE_FP16": "AVX10_1_512", "AVX512_CORE_AMX": "AVX10_1_512_AMX"}


def measured_gflops(
    multiply: Callable[[], object], *, flops: float, device: torch.device | str = "cpu"
) -> float:
    """The best of some calls in GFLOP/s, after one that may compile or lay out; flops: of a call.

    The best, since other work on the machine only ever slows a call down.
    """
    wait = functools.partial(_wait, torch.device(device))
    multiply()
    wait()
    best, calls, until = float("inf"), 0, time.perf_counter() + SECONDS
    while calls < 2 or time.perf_counter() < until:
        start = time.perf_counter()
        multiply()
        wait()
        best, calls = min(best, time.perf_counter() - start), calls + 1
    return flops / best / 1e9


def product_rates(device: torch.device | str) -> dict[str, float]:
    """GFLOP/s of x @ weight^T, measured once a process: "fp32", "bf16" as torch's own linear.

    On a CPU also "fp32 packed" and "bf16 packed", with weights laid out once as oneDNN wants them,
    where this machine can. Whatever random numbers the caller draws stay what they are.
    """
    device = torch.device(device)
    return dict(_product_rates(device.type, device.index))


def native_bf16(device: torch.device | str) -> bool:
    """Whether the device multiplies bf16 faster than fp32, so that `auto` takes it for training.

    GPU: compute capability 8.0 on. Else linear of bf16, as autocast calls it, is timed beside the
    best of fp32.
    """
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    rates = product_rates(device)
    return rates["bf16"] >= WORTH * best_rate("fp32", device)


def best_rate(precision: str, device: torch.device | str) -> float:
    """GFLOP/s of the fastest way to multiply in fp32 or bf16 here."""
    rates = product_rates(device)
    return max(rate for way, rate in rates.items() if way.split()[0] == precision)


def bf16_price(device: torch.device | str) -> str:
    """For a warning, where bf16 was asked for and is not native."""
    bf16, fp32 = best_rate("bf16", device), best_rate("fp32", device)
    return f"bf16 products run at {bf16:.0f} GFLOP/s here, fp32 at {fp32:.0f}"


def processor_class() -> str:
    """The kind of processor by its products, such as "x86-64 AVX2" or "aarch64 with bf16".

    As oneDNN uses it in this process: ONEDNN_MAX_CPU_ISA makes it a lesser one.
    """
    return _named_class(
        dict(torch.cpu.get_capabilities()),
        machine=platform.machine(),
        limit=os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA") or "",
    )


def _named_class(capabilities: dict[str, object], *, machine: str, limit: str) -> str:
    if machine.lower() not in ("x86_64", "amd64"):
        return f"{machine} with bf16" if capabilities.get("bf16") else machine
    limit = SAME.get(limit.upper(), limit.upper())
    names = [name for name, *_ in CLASSES]
    last = names.index(limit) if limit in names else len(names) - 1
    for _, known, needs in reversed(CLASSES[: last + 1]):
        if all(capabilities.get(flag) for flag in needs):
            return f"x86-64 {known}"
    return "x86-64"


@functools.cache
def _product_rates(kind: str, index: int | None) -> tuple[tuple[str, float], ...]:
    device = torch.device(kind, index)
    n, i, o = SHAPE_NIO["cpu" if kind == "cpu" else "gpu"]
    draw = torch.Generator().manual_seed(0)  # training's own is left alone
    x_NI, weight_OI = (torch.randn(rows, i, generator=draw).to(device) for rows in (n, o))
    rates: dict[str, float] = {}
    with torch.inference_mode(), torch.autocast(kind, enabled=False):
        ways = _ways(x_NI, weight_OI)
        for _ in range(ROUNDS):  # in turn, so that a busy moment slows all of them down
            for name, multiply in ways.items():
                rate = measured_gflops(multiply, flops=2.0 * n * i * o, device=device)
                rates[name] = max(rate, rates.get(name, 0.0))
    return tuple(rates.items())


def _ways(x_NI: torch.Tensor, weight_OI: torch.Tensor) -> dict[str, Callable[[], object]]:
    ways: dict[str, Callable[[], object]] = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        x, weight = x_NI.to(dtype), weight_OI.to(dtype)
        ways[name] = functools.partial(F.linear, x, weight)
        if (packed := packed_linear(weight)) is not None:
            ways[f"{name} packed"] = functools.partial(packed, x)
    return ways


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize(device)
