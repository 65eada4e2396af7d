"""Operators of oneDNN, which torch has on x86 and may lack elsewhere."""

from collections.abc import Callable

import torch
from torch import Tensor


def operator(name: str) -> Callable | None:
    """One of torch.ops, such as mkldnn._linear_pointwise; None where this torch has none.

    One that is there may still raise RuntimeError for types that the processor can't multiply.
    """
    if not torch.backends.mkldnn.is_available():
        return None
    found = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def packed_linear(
    weight_OI: Tensor, bias_O: Tensor | None = None, *, relu: bool = False
) -> Callable[[Tensor], Tensor] | None:
    """x_NI to x_NI @ weight^T + bias, and its relu if asked, with weights laid out once.

    x is of the weight's type, and so is the result. None where this torch or this processor has
    no such products, and for weights that are not on a CPU.
    """
    reorder = operator("mkldnn._reorder_linear_weight")
    run = operator("mkldnn._linear_pointwise")
    if weight_OI.device.type != "cpu" or reorder is None or run is None:
        return None
    after = "relu" if relu else "none"
    try:
        packed = reorder(weight_OI.contiguous())
        run(weight_OI.new_zeros(1, weight_OI.size(1)), packed, bias_O, after, [], "")
    except RuntimeError:  # how torch says that the processor has no products of this type
        return None
    return lambda x_NI: run(x_NI, packed, bias_O, after, [], "")
