"""Matrix products of inference in the chosen precision; everything between them stays fp32.

On a CPU the weights are laid out once as oneDNN wants them, which is two to three times as fast as
torch's own linear where that goes through MKL on a processor of another maker. Where torch can't,
its own linear multiplies.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.inference.int8 import int8_product
from pipeline.model.onednn import packed_linear

Precision = Literal["fp32", "bf16", "int8"]
Product = Callable[[Tensor], Tensor]

# N rows, I inputs, O outputs


def product(
    weight_OI: Tensor, bias_O: Tensor | None = None, *, precision: Precision, relu: bool = False
) -> Product:
    """A function of x_NI that gives x_NI @ weight^T + bias, [N, O], and its relu if asked.

    Its result is bf16 if precision is, else fp32. Raises ValueError for int8 on a GPU, and where
    the processor has no right products of bytes.
    """
    if precision == "int8":
        if weight_OI.device.type != "cpu":
            raise ValueError("precision int8 is for the CPU; take bf16 on a GPU: int8")
        return int8_product(weight_OI, bias_O, relu=relu)
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    weight_OI = weight_OI.to(dtype)
    bias_O = None if bias_O is None else bias_O.to(dtype)
    packed = packed_linear(weight_OI, bias_O, relu=relu)
    if packed is not None:
        return lambda x_NI: packed(x_NI.to(dtype))
    if relu:
        return lambda x_NI: F.linear(x_NI.to(dtype), weight_OI, bias_O).relu_()
    return lambda x_NI: F.linear(x_NI.to(dtype), weight_OI, bias_O)
