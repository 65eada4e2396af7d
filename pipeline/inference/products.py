"""Matrix products of inference in the chosen precision; everything between them stays fp32.

On a CPU the weights are laid out once as oneDNN wants them, which is two to three times as fast as
torch's own linear where that goes through MKL on a processor of another maker.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Precision = Literal["fp32", "bf16", "int8"]
Product = Callable[[Tensor], Tensor]

# N rows, I inputs, O outputs


def product(
    weight_OI: Tensor, bias_O: Tensor | None = None, *, precision: Precision, relu: bool = False
) -> Product:
    """A function of x_NI that gives x_NI @ weight^T + bias, [N, O], and its relu if asked.

    Its result is bf16 if precision is, else fp32. Raises ValueError for int8 on a GPU.
    """
    if precision == "int8":
        if weight_OI.device.type != "cpu":
            raise ValueError("precision int8 is for the CPU; take bf16 on a GPU: int8")
        return _int8(weight_OI, bias_O, relu)
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    weight_OI = weight_OI.to(dtype)
    bias_O = None if bias_O is None else bias_O.to(dtype)
    if weight_OI.device.type == "cpu" and torch.backends.mkldnn.is_available():
        packed = torch.ops.mkldnn._reorder_linear_weight(weight_OI.contiguous())
        after = "relu" if relu else "none"
        run = torch.ops.mkldnn._linear_pointwise
        return lambda x_NI: run(x_NI.to(dtype), packed, bias_O, after, [], "")
    if relu:
        return lambda x_NI: F.linear(x_NI.to(dtype), weight_OI, bias_O).relu_()
    return lambda x_NI: F.linear(x_NI.to(dtype), weight_OI, bias_O)


def _int8(weight_OI: Tensor, bias_O: Tensor | None, relu: bool) -> Product:
    """Weights in steps of their row's greatest / 127, inputs in steps of the greatest / 127."""
    scale_O = weight_OI.abs().amax(dim=1).clamp_min(1e-12) / 127.0
    packed = torch.ops.onednn.qlinear_prepack(
        (weight_OI / scale_O[:, None]).round_().to(torch.int8), None
    )
    zero_O = torch.zeros(len(scale_O), dtype=torch.int64)
    after = "relu" if relu else "none"
    run = torch.ops.onednn.qlinear_pointwise

    def multiply(x_NI: Tensor) -> Tensor:
        low, high = (float(x) for x in torch.aminmax(x_NI))
        step = max(-low, high, 1e-12) / 127.0
        steps_NI = torch.add(128.5, x_NI, alpha=1.0 / step).to(torch.uint8)
        return run(
            steps_NI, step, 128, packed, scale_O, zero_O, bias_O,
            1.0, 0, torch.float32, after, [], "",
        )  # fmt: skip

    return multiply
