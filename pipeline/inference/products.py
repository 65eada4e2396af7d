"""Matrix products of inference in the chosen precision; everything between them stays fp32."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Precision = Literal["fp32", "bf16", "int8"]
Product = Callable[[Tensor], Tensor]

# N rows, I inputs, O outputs


def product(weight_OI: Tensor, bias_O: Tensor | None = None, *, precision: Precision) -> Product:
    """x_NI to x_NI @ weight^T + bias, [N, O]."""
    if precision == "fp32":
        return lambda x_NI: F.linear(x_NI, weight_OI, bias_O)
    weight_OI = weight_OI.bfloat16()
    bias_O = None if bias_O is None else bias_O.bfloat16()
    return lambda x_NI: F.linear(x_NI.bfloat16(), weight_OI, bias_O)
