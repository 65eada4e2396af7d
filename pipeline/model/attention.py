"""Section 3.2: scaled dot-product attention and its heads."""

import math

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from pipeline.config.schema import ModelConfig
from pipeline.model.layout import Layout
from pipeline.model.linear import Linear

# B batch, H heads, Z = B * H, T queries, S keys, K d_k, V d_v, D d_model
# N, M packed rows of queries and of keys


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, mask_BHTS: Tensor | None = None) -> Tensor:
    """Section 3.2.1, eq. (1) before the values: softmax(Q K^T / sqrt(d_k)), [B, H, T, S].

    mask_BHTS: bool, True = may attend; each query may attend somewhere.
    """
    scores_BHTS = q_BHTK @ k_BHSK.transpose(-2, -1) / math.sqrt(q_BHTK.size(-1))
    if mask_BHTS is not None:
        scores_BHTS = scores_BHTS.masked_fill(~mask_BHTS, -torch.inf)
    return scores_BHTS.softmax(dim=-1)


class _Attention(torch.autograd.Function):
    """Eq. (1) with all that its gradient needs kept, for CPUs: there torch's own fused kernel
    takes ten times as long as these products, in bf16 and for sentences of usual length."""

    @staticmethod
    def forward(ctx, q_ZTK, k_ZSK, v_ZSV, mask, dropout):
        scale = 1.0 / math.sqrt(q_ZTK.size(-1))
        scores_ZTS = torch.bmm(q_ZTK, k_ZSK.transpose(1, 2))
        scores_ZTS = scores_ZTS.to(torch.promote_types(scores_ZTS.dtype, torch.float32))
        scores_ZTS.mul_(scale)
        if mask is not None:
            scores_ZTS.unflatten(0, (mask.size(0), -1)).add_(mask)
        weights_ZTS = scores_ZTS.softmax(dim=-1).to(v_ZSV.dtype)
        factor_ZTS = F.dropout(torch.ones_like(weights_ZTS), dropout) if dropout else None
        ctx.scale = scale
        ctx.save_for_backward(q_ZTK, k_ZSK, v_ZSV, weights_ZTS, factor_ZTS)
        used_ZTS = weights_ZTS if factor_ZTS is None else weights_ZTS * factor_ZTS
        return torch.bmm(used_ZTS, v_ZSV)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out_ZTV):
        q_ZTK, k_ZSK, v_ZSV, weights_ZTS, factor_ZTS = ctx.saved_tensors
        d_weights_ZTS = torch.bmm(d_out_ZTV, v_ZSV.transpose(1, 2))
        used_ZTS = weights_ZTS
        if factor_ZTS is not None:
            used_ZTS = weights_ZTS * factor_ZTS
            d_weights_ZTS.mul_(factor_ZTS)
        d_v = torch.bmm(used_ZTS.transpose(1, 2), d_out_ZTV)
        d_scores_ZTS = torch._softmax_backward_data(
            d_weights_ZTS, weights_ZTS, -1, weights_ZTS.dtype
        )
        d_scores_ZTS.mul_(ctx.scale)
        d_q = torch.bmm(d_scores_ZTS, k_ZSK)
        d_k = torch.bmm(d_scores_ZTS.transpose(1, 2), q_ZTK)
        return d_q, d_k, d_v, None, None


class MultiHeadAttention(nn.Module):
    """Section 3.2.2. The projections of a head's queries, keys and values have no biases.

    Self-attention computes queries, keys and values in one product (`qkv`); attention over the
    encoder's output computes keys and values in one (`kv`). The rows of the weight are, in order,
    the queries of all heads, their keys, their values.
    """

    def __init__(self, config: ModelConfig, *, over_memory: bool) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.attention_dropout = config.attention_dropout
        self.d_k, self.d_v = config.d_k, config.d_v
        self.q_width = config.n_heads * config.d_k
        self.v_width = config.n_heads * config.d_v
        if over_memory:
            self.q = Linear(config.d_model, self.q_width, bias=False)
            self.kv = Linear(config.d_model, self.q_width + self.v_width, bias=False)
        else:
            self.qkv = Linear(config.d_model, 2 * self.q_width + self.v_width, bias=False)
        self.out = Linear(self.v_width, config.d_model, bias=False)

    def project(self, x_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention, each [..., heads * width]."""
        return self.qkv(x_ND).split([self.q_width, self.q_width, self.v_width], dim=-1)

    def project_memory(self, memory_MD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values over the encoder's output, each [..., heads * width]."""
        return self.kv(memory_MD).split([self.q_width, self.v_width], dim=-1)

    def forward(self, x_ND: Tensor, layout: Layout, *, causal: bool = False) -> Tensor:
        """Self-attention of packed rows: [N, d_model]."""
        q_ZTK, k_ZTK, v_ZTV = layout.to_heads(
            self.qkv(x_ND), [self.d_k, self.d_k, self.d_v], n_heads=self.n_heads
        )
        mask = layout.causal_mask() if causal else layout.key_mask()
        return self._attend(q_ZTK, k_ZTK, v_ZTV, mask, layout)

    def over(self, memory_MD: Tensor, memory: Layout, x_ND: Tensor, layout: Layout) -> Tensor:
        """Attention of packed rows over the encoder's output: [N, d_model]."""
        (q_ZTK,) = layout.to_heads(self.q(x_ND), [self.d_k], n_heads=self.n_heads)
        k_ZSK, v_ZSV = memory.to_heads(
            self.kv(memory_MD), [self.d_k, self.d_v], n_heads=self.n_heads
        )
        return self._attend(q_ZTK, k_ZSK, v_ZSV, memory.key_mask(), layout)

    def _attend(self, q_ZTK, k_ZSK, v_ZSV, mask_B1TS: Tensor, layout: Layout) -> Tensor:
        dropout = self.attention_dropout if self.training else 0.0
        if q_ZTK.device.type == "cpu":
            heads_ZTV = _Attention.apply(q_ZTK, k_ZSK, v_ZSV, mask_B1TS, dropout)
        else:
            q, k, v = (x.unflatten(0, (-1, self.n_heads)) for x in (q_ZTK, k_ZSK, v_ZSV))
            heads_ZTV = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask_B1TS.to(q.dtype), dropout_p=dropout
            ).flatten(0, 1)
        return self.out(layout.to_rows(heads_ZTV, n_heads=self.n_heads))
