"""Section 5.4: residual dropout, with masks that cost little to draw and to keep.

A CPU draws the mask of an element from 16 random bits, four elements to a number of torch's own
generator: an element is kept with the probability k / 2^16, k = round(2^16 (1 - rate)), and kept
ones are scaled by exactly 2^16 / k. A byte an element is kept for the backward pass. On a GPU
torch's own kernel does all of that in one.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

LEVELS = 1 << 16


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sublayer, rate):
        kept_levels = round(LEVELS * (1.0 - rate))
        ctx.scale = LEVELS / kept_levels
        ctx.dtype = sublayer.dtype
        kept = random_bits(sublayer.shape) <= kept_levels - LEVELS // 2 - 1
        ctx.save_for_backward(kept)
        return torch.addcmul(x, sublayer, kept.to(x.dtype), value=ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_sum):
        (kept,) = ctx.saved_tensors
        d_sublayer = kept.to(d_sum.dtype).mul_(d_sum).mul_(ctx.scale)
        return d_sum if ctx.needs_input_grad[0] else None, d_sublayer.to(ctx.dtype), None


def add_dropped(x: Tensor, sublayer: Tensor, *, rate: float) -> Tensor:
    """x + Dropout(sublayer); both of one shape. A rate of 0 draws nothing."""
    if rate == 0.0:
        return x + sublayer
    if x.device.type == "cpu":
        return _AddDropped.apply(x, sublayer, rate)
    return x + F.dropout(sublayer, rate)


def dropped(x: Tensor, *, rate: float) -> Tensor:
    """Dropout(x)."""
    if rate == 0.0:
        return x
    if x.device.type == "cpu":
        return _AddDropped.apply(x.new_zeros(()), x, rate)
    return F.dropout(x, rate)


def random_bits(shape: torch.Size) -> Tensor:
    """int16, each of its 2^16 values equally likely; from torch's generator of the CPU."""
    count = shape.numel()
    wide = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    return wide.view(torch.int16)[:count].view(shape)
