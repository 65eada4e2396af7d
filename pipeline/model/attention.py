"""Section 3.2: scaled dot-product attention and its heads."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.config.schema import ModelConfig
from pipeline.model.packing import Packing

# B batch, H heads, T queries, S keys, K d_k, V d_v, D d_model; N, M packed queries and keys


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, mask_BHTS: Tensor | None = None) -> Tensor:
    """Section 3.2.1, eq. (1) before the values: softmax(Q K^T / sqrt(d_k)), [B, H, T, S].

    mask_BHTS: bool, True = may attend; each query may attend somewhere.
    """
    scores_BHTS = q_BHTK @ k_BHSK.transpose(-2, -1) / math.sqrt(q_BHTK.size(-1))
    if mask_BHTS is not None:
        scores_BHTS = scores_BHTS.masked_fill(~mask_BHTS, -torch.inf)
    return scores_BHTS.softmax(dim=-1)


def split_heads(x_BSE: Tensor, n_heads: int) -> Tensor:
    """[B, S, heads * width] to [B, heads, S, width]."""
    return x_BSE.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x_BHSV: Tensor) -> Tensor:
    """[B, heads, S, width] to [B, S, heads * width]."""
    return x_BHSV.transpose(1, 2).flatten(2)


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
        self.q_width = config.n_heads * config.d_k
        self.v_width = config.n_heads * config.d_v
        if over_memory:
            self.q = nn.Linear(config.d_model, self.q_width, bias=False)
            self.kv = nn.Linear(config.d_model, self.q_width + self.v_width, bias=False)
        else:
            self.qkv = nn.Linear(config.d_model, 2 * self.q_width + self.v_width, bias=False)
        self.out = nn.Linear(self.v_width, config.d_model, bias=False)

    def project(self, x_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention, each [..., heads * width]."""
        return self.qkv(x_ND).split([self.q_width, self.q_width, self.v_width], dim=-1)

    def project_memory(self, memory_MD: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values over the encoder's output, each [..., heads * width]."""
        return self.kv(memory_MD).split([self.q_width, self.v_width], dim=-1)

    def forward(
        self,
        x_ND: Tensor,
        packing: Packing,
        *,
        memory_MD: Tensor | None = None,
        memory_packing: Packing | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Packed tokens in, packed tokens out: [N, d_model].

        With a causal mask the padding at the right of the grid lies after every token, so that no
        token can see it and no key mask is needed.
        """
        if memory_MD is None:
            keys, (q, k, v) = packing, self.project(x_ND)
        else:
            assert memory_packing is not None
            keys, q, (k, v) = memory_packing, self.q(x_ND), self.project_memory(memory_MD)
        heads_BHTV = F.scaled_dot_product_attention(
            split_heads(packing.to_grid(q), self.n_heads),
            split_heads(keys.to_grid(k), self.n_heads),
            split_heads(keys.to_grid(v), self.n_heads),
            attn_mask=None if causal else keys.key_mask(),
            dropout_p=self.attention_dropout if self.training else 0.0,
            is_causal=causal,
        )
        return self.out(packing.to_packed(merge_heads(heads_BHTV)))
