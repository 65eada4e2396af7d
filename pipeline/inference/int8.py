"""Products of bytes: weights in steps of their row, inputs in steps of all, sums exact or refused.

Processors without VNNI add two products of an unsigned and a signed byte in 16 bits, which
saturate: 255 * 127 * 2 is beyond 32,767. Weights of 7 bits stay below it, 255 * 63 * 2. Which one
this machine needs is tried, once a process, against exact integers.
"""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from pipeline.model.onednn import operator
from pipeline.model.rates import processor_class

STEPS = (127, 63)  # of a weight on either side of 0, most exact first
ZERO = 128  # the byte of an input of 0

# N rows, I inputs, O outputs


def int8_product(weight_OI: Tensor, bias_O: Tensor | None, *, relu: bool) -> Callable:
    """x_NI to x_NI @ weight^T + bias, [N, O], float32. Raises ValueError as `int8_steps`."""
    scale_O = weight_OI.abs().amax(dim=1).clamp_min(1e-12) / int8_steps()
    run = _bytes_product(
        (weight_OI / scale_O[:, None]).round_().to(torch.int8), scale_O, bias_O, relu
    )

    def multiply(x_NI: Tensor) -> Tensor:
        low, high = (float(x) for x in torch.aminmax(x_NI))
        step = max(-low, high, 1e-12) / 127.0
        steps_NI = torch.add(ZERO + 0.5, x_NI, alpha=1.0 / step)
        # by way of int16, which torch vectorises: a third of the time of one conversion
        return run(steps_NI.to(torch.int16).to(torch.uint8), step)

    return multiply


@functools.cache
def int8_steps() -> int:
    """Into how many steps on either side of 0 a weight goes, so that sums are exact: 127 or 63.

    Raises ValueError where this machine has no products of bytes, or wrong ones.
    """
    if None in _operators():
        raise ValueError(
            f"torch has no products of bytes on this processor ({processor_class()}); "
            "take precision fp32 or auto: int8"
        )
    for steps in STEPS:
        if greatest_error(steps) == 0.0:
            return steps
    raise ValueError(
        "products of bytes differ from exact integers on this processor "
        f"({processor_class()}); take precision fp32 or auto: int8"
    )


def greatest_error(steps: int) -> float:
    """Of sums of extreme bytes in extreme weights, against exact integers; infinite if they fail.

    Few rows and many, an odd width, one of more than a register: kernels differ by shape. Sums
    stay below 2^24, which float32 holds exactly.
    """
    draw = torch.Generator().manual_seed(0)
    worst = 0.0
    for rows, inputs, outputs in ((1, 512, 64), (4, 70, 33), (40, 256, 96)):
        weight_OI = (2 * torch.randint(0, 2, (outputs, inputs), generator=draw) - 1) * steps
        weight_OI[0], weight_OI[1] = steps, -steps
        x_NI = 255 * torch.randint(0, 2, (rows, inputs), generator=draw)
        x_NI[0] = 255
        x_NI[2:3] = 0
        exact_NO = (x_NI - ZERO).double() @ weight_OI.double().t()
        try:
            run = _bytes_product(weight_OI.to(torch.int8), torch.ones(outputs), None, False)
            sums_NO = run(x_NI.to(torch.uint8), 1.0)
        except RuntimeError:  # how torch says that the processor has no such products
            return float("inf")
        worst = max(worst, float((sums_NO - exact_NO).abs().max()))
    return worst


def _operators() -> tuple[Callable | None, Callable | None]:
    return operator("onednn.qlinear_prepack"), operator("onednn.qlinear_pointwise")


def _bytes_product(
    steps_OI: Tensor, scale_O: Tensor, bias_O: Tensor | None, relu: bool
) -> Callable[[Tensor, float], Tensor]:
    """(bytes_NI, step) to (bytes_NI - 128) * step @ (steps * scale)^T + bias, [N, O], float32."""
    prepack, run = _operators()
    packed = prepack(steps_OI, None)
    zero_O = torch.zeros(len(scale_O), dtype=torch.int64)
    after = "relu" if relu else "none"

    def multiply(bytes_NI: Tensor, step: float) -> Tensor:
        return run(
            bytes_NI, step, ZERO, packed, scale_O, zero_O, bias_O,
            1.0, 0, torch.float32, after, [], "",
        )  # fmt: skip

    return multiply
