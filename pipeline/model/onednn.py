"""Operators of oneDNN, which torch has on x86 and may lack elsewhere."""

from collections.abc import Callable

import torch


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
