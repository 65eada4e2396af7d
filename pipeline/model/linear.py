"""Matrix products of training. In float32 on a CPU they run through oneDNN, which is up to twice
as fast there as torch's own (MKL's on a processor of another maker); elsewhere through torch."""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

# N rows, I inputs, O outputs


def product(left_NI: Tensor, right_OI: Tensor, bias_O: Tensor | None = None) -> Tensor:
    """left @ right^T + bias, [N, O]; both may be transposed views. No gradient flows through."""
    dtypes = {left_NI.dtype, right_OI.dtype}
    ours = left_NI.device.type == "cpu" and dtypes == {torch.float32}
    if ours and torch.backends.mkldnn.is_available():
        return torch.ops.mkldnn._linear_pointwise(left_NI, right_OI, bias_O, "none", [], "")
    return F.linear(left_NI, right_OI, bias_O)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x_NI, weight_OI, bias_O):
        ctx.save_for_backward(x_NI, weight_OI)
        return product(x_NI, weight_OI, bias_O)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_y_NO):
        x_NI, weight_OI = ctx.saved_tensors
        d_x = d_weight = d_bias = None
        if ctx.needs_input_grad[0]:
            d_x = product(d_y_NO, weight_OI.t())
        if ctx.needs_input_grad[1]:
            d_weight = product(d_y_NO.t(), x_NI.t())
        if ctx.needs_input_grad[2]:
            d_bias = d_y_NO.sum(dim=0)
        return d_x, d_weight, d_bias


class Linear(nn.Linear):
    """x @ weight^T + bias of packed rows [N, inputs]: [N, outputs]."""

    def forward(self, x_NI: Tensor) -> Tensor:
        if x_NI.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
            return super().forward(x_NI)
        return _Linear.apply(x_NI, self.weight, self.bias)
