"""The Transformer of section 3 laid out for decoding: its matrix products and its encoder.

Computes what `pipeline.model.Transformer` computes (the tests compare them), with weights packed
for products only. `cache.Cache` runs the decoder one token at a time.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.inference.grid import Grid
from pipeline.inference.products import Precision, product
from pipeline.memory import keep_freed_memory
from pipeline.model.attention import MultiHeadAttention
from pipeline.model.transformer import FeedForward, Residual, Transformer

# S sentences, P positions of the grid, D d_model, Y vocabulary, N packed rows

COLUMNS = 4096  # of the logits at a time: what is done with them stays in the processor's cache


class Attention:
    """The products of one attention; queries come scaled by 1 / sqrt(d_k).

    Rows in, [rows, heads * width] out, float32.
    """

    def __init__(self, module: MultiHeadAttention, *, d_k: int, precision: Precision) -> None:
        self.n_heads, self.q_width, self.v_width = module.n_heads, module.q_width, module.v_width
        over_memory = hasattr(module, "kv")
        first = (module.q if over_memory else module.qkv).weight.detach().clone()
        first[: self.q_width] *= d_k**-0.5
        self.first = product(first, precision=precision)
        if over_memory:
            self.second = product(module.kv.weight, precision=precision)
        self.out = product(module.out.weight, precision=precision)

    def own(self, x_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention."""
        return self.first(x_ND).float().split([self.q_width, self.q_width, self.v_width], dim=-1)

    def query(self, x_ND: Tensor) -> Tensor:
        return self.first(x_ND).float()

    def memory(self, memory_ND: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's output."""
        return self.second(memory_ND).float().split([self.q_width, self.v_width], dim=-1)

    def heads(self, x: Tensor) -> Tensor:
        """[S, P, heads * width] to [S * heads, P, width]."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2).flatten(0, 1)

    def weights(self, q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        """softmax(Q K^T / sqrt(d_k)) of `heads`, [S, heads, queries, keys]; mask as below."""
        scores = torch.bmm(q, k.transpose(1, 2)).unflatten(0, (-1, self.n_heads))
        if mask is not None:
            scores += mask
        return scores.softmax(dim=-1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Section 3.2.1, eq. (1), of `heads`, merged again: [S, queries, heads * width].

        mask: added to the scores, [S, 1, queries or 1, keys].
        """
        seen = torch.bmm(self.weights(q, k, mask).flatten(0, 1), v)
        return seen.unflatten(0, (-1, self.n_heads)).transpose(1, 2).flatten(2)


class Rest:
    """What follows an attention or feed-forward sub-layer: LayerNorm(x + sublayer)."""

    def __init__(self, module: Residual) -> None:
        norm = module.norm
        self.after = (norm.normalized_shape, norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, x_ND: Tensor, sublayer_ND: Tensor) -> Tensor:
        return F.layer_norm(x_ND + sublayer_ND, *self.after)


class Inner:
    """Section 3.3, eq. (2)."""

    def __init__(self, module: FeedForward, *, precision: Precision) -> None:
        inner, out = module.inner, module.out
        self.inner = product(inner.weight, inner.bias, precision=precision, relu=True)
        self.out = product(out.weight, out.bias, precision=precision)

    def __call__(self, x_ND: Tensor) -> Tensor:
        return self.out(self.inner(x_ND))


EncoderLayer = tuple[Attention, Rest, Inner, Rest]


class Network:
    """A model ready to decode. `precision` is that of its matrix products."""

    def __init__(self, model: Transformer, *, precision: Precision = "fp32") -> None:
        self.config = model.config
        self.positions = model.positions
        self.table_YD = model.embedding.weight.detach()
        columns = len(self.table_YD)
        if self.device.type == "cpu":
            columns = COLUMNS
            keep_freed_memory()
        self.logits = [product(part, precision=precision) for part in self.table_YD.split(columns)]
        how = {"precision": precision}
        d_k = model.config.d_k
        self.encoder = [
            (
                Attention(layer.attention, d_k=d_k, **how),
                Rest(layer.attention_residual),
                Inner(layer.feed_forward, **how),
                Rest(layer.feed_forward_residual),
            )
            for layer in model.encoder
        ]
        self.decoder = [
            (
                Attention(layer.attention, d_k=d_k, **how),
                Rest(layer.attention_residual),
                Attention(layer.memory_attention, d_k=d_k, **how),
                Rest(layer.memory_attention_residual),
                Inner(layer.feed_forward, **how),
                Rest(layer.feed_forward_residual),
            )
            for layer in model.decoder
        ]

    @property
    def device(self) -> torch.device:
        return self.table_YD.device

    def embed(self, ids_N: Tensor, position_N: Tensor, *, longest: int) -> Tensor:
        """Sections 3.4 and 3.5, [N, D]."""
        scaled_ND = self.table_YD.index_select(0, ids_N) * math.sqrt(self.config.d_model)
        return scaled_ND + self.positions(position_N, longest=longest)

    def encode(self, sources: Sequence[Tensor]) -> tuple[Tensor, Grid]:
        """Encoder output of id sequences (with eos), packed [N, D], and where its rows lie."""
        grid = Grid(sources, device=self.device)
        mask = additive(grid.mask_S11P)
        x_ND = self.embed(grid.ids_N, grid.position_N, longest=grid.longest)
        for layer in self.encoder:
            x_ND = self.encoder_layer(layer, x_ND, grid, mask)
        return x_ND, grid

    def encoder_layer(
        self, layer: EncoderLayer, x_ND: Tensor, grid: Grid, mask: Tensor | None
    ) -> Tensor:
        attention, rest, inner, rest_inner = layer
        q, k, v = (attention.heads(grid.to_grid(x)) for x in attention.own(x_ND))
        seen_ND = grid.to_packed(attention.attend(q, k, v, mask))
        x_ND = rest(x_ND, attention.out(seen_ND))
        return rest_inner(x_ND, inner(x_ND))


def additive(mask: Tensor | None) -> Tensor | None:
    """0 where a query may attend, -inf elsewhere: made once a step, not once a layer."""
    if mask is None:
        return None
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -torch.inf)
