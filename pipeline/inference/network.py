"""The Transformer of section 3 laid out for decoding, one target token of each hypothesis a step.

Computes what `pipeline.model.Transformer` computes (the tests compare them). A sentence's
hypotheses share everything: its memory is projected once, and its hypotheses are the queries of
one attention over keys that are stored once for all of them. Keys of target positions are never
moved when hypotheses are reordered; a mask says which hypothesis descends from which key.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.inference.products import Precision, Product, product
from pipeline.model.packing import Packing, pad_sequences
from pipeline.model.transformer import FeedForward, Residual, Transformer

# S sentences, B hypotheses of each, M source positions, W stored target keys, D d_model
# H heads, K d_k, V d_v, Y vocabulary; N, R packed rows


class Attention:
    """The products of one attention. Rows in, [rows, heads * width] out, unless stated."""

    def __init__(self, module, *, n_heads: int, precision: Precision) -> None:
        self.n_heads, self.q_width, self.v_width = n_heads, module.q_width, module.v_width
        weights = [module.q, module.kv] if hasattr(module, "kv") else [module.qkv]
        self.inputs = [product(linear.weight, precision=precision) for linear in weights]
        self.out = product(module.out.weight, precision=precision)

    def own(self, x_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention."""
        return self.inputs[0](x_ND).split([self.q_width, self.q_width, self.v_width], dim=-1)

    def query(self, x_ND: Tensor) -> Tensor:
        return self.inputs[0](x_ND)

    def memory(self, memory_ND: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's output."""
        return self.inputs[1](memory_ND).split([self.q_width, self.v_width], dim=-1)

    def heads(self, x: Tensor) -> Tensor:
        """[S, positions, heads * width] to [S, heads, positions, width]."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class Rest:
    """What follows an attention or feed-forward sub-layer: LayerNorm(x + sublayer)."""

    def __init__(self, module: Residual) -> None:
        self.norm = module.norm

    def __call__(self, x_ND: Tensor, sublayer_ND: Tensor) -> Tensor:
        norm = self.norm
        x_ND = x_ND + sublayer_ND
        return F.layer_norm(x_ND, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class Inner:
    """Section 3.3, eq. (2)."""

    def __init__(self, module: FeedForward, *, precision: Precision) -> None:
        self.inner: Product = product(module.inner.weight, module.inner.bias, precision=precision)
        self.out: Product = product(module.out.weight, module.out.bias, precision=precision)

    def __call__(self, x_ND: Tensor) -> Tensor:
        return self.out(self.inner(x_ND).relu_())


class Network:
    """A model ready to decode. `precision` is that of its matrix products and stored keys."""

    def __init__(self, model: Transformer, *, precision: Precision = "fp32") -> None:
        self.config, self.pad_id = model.config, model.pad_id
        self.positions = model.positions
        self.table_YD = model.embedding.weight.detach()
        self.device = self.table_YD.device
        self.logits_product = product(self.table_YD, precision=precision)
        n_heads = model.config.n_heads
        self.encoder = [
            (
                Attention(layer.attention, n_heads=n_heads, precision=precision),
                Rest(layer.attention_residual),
                Inner(layer.feed_forward, precision=precision),
                Rest(layer.feed_forward_residual),
            )
            for layer in model.encoder
        ]
        self.decoder = [
            (
                Attention(layer.attention, n_heads=n_heads, precision=precision),
                Rest(layer.attention_residual),
                Attention(layer.memory_attention, n_heads=n_heads, precision=precision),
                Rest(layer.memory_attention_residual),
                Inner(layer.feed_forward, precision=precision),
                Rest(layer.feed_forward_residual),
            )
            for layer in model.decoder
        ]

    @property
    def vocab_size(self) -> int:
        return len(self.table_YD)

    def embed(self, ids_N: Tensor, position_N: Tensor, *, longest: int) -> Tensor:
        """Sections 3.4 and 3.5, [N, D]."""
        scaled_ND = self.table_YD[ids_N] * math.sqrt(self.config.d_model)
        return scaled_ND + self.positions(position_N, longest=longest)

    def encode(self, sources: Sequence[Tensor]) -> tuple[Tensor, Packing]:
        """Encoder output of id sequences (with eos), packed [N, D], and where its rows lie."""
        ids_SM = pad_sequences(list(sources), pad_id=self.pad_id).to(self.device)
        packing = Packing(ids_SM, pad_id=self.pad_id)
        mask = additive(packing.key_mask())
        x_ND = self.embed(packing.to_packed(ids_SM), packing.position_N, longest=ids_SM.size(1))
        for attention, rest, inner, rest_inner in self.encoder:
            q, k, v = (attention.heads(packing.to_grid(x)) for x in attention.own(x_ND))
            seen = attend(q, k, v, mask)
            x_ND = rest(x_ND, attention.out(packing.to_packed(seen)))
            x_ND = rest_inner(x_ND, inner(x_ND))
        return x_ND, packing

    def logits(self, x_ND: Tensor) -> Tensor:
        """[N, Y], float32 (section 3.4: the embedding's own matrix)."""
        return self.logits_product(x_ND).float()


class Cache:
    """Keys and values of a batch of sentences while it is decoded.

    keys, values: for each decoder layer [S, H, W, K] and [S, H, W, V], the first `width` of W in
    use; memory_keys, memory_values: [S, H, M, K or V]; visible: bool [S, B, width].
    """

    ROOM_STEPS = 8  # steps between two clearings of keys that no hypothesis descends from

    def __init__(self, network: Network, sources: Sequence[Tensor]) -> None:
        self.network = network
        memory_ND, packing = network.encode(sources)
        self.memory_mask = additive(packing.key_mask())
        self.memory_keys, self.memory_values = [], []
        for _, _, attention, *_ in network.decoder:
            k, v = (attention.heads(packing.to_grid(x)) for x in attention.memory(memory_ND))
            self.memory_keys.append(k.contiguous())
            self.memory_values.append(v.contiguous())
        n = len(sources)
        self.visible = torch.zeros(n, 1, 0, dtype=torch.bool, device=network.device)
        self.width = self.position = 0
        self.keys = [k[:, :, :0] for k in self.memory_keys]
        self.values = [v[:, :, :0] for v in self.memory_values]

    def step(self, tokens_SB: Tensor, parent_SB: Tensor) -> Tensor:
        """States [S * B, D] after one more token of each hypothesis.

        parent_SB: the hypothesis of the step before that each one extends.
        """
        sentences, beams = tokens_SB.shape
        self.visible = self.visible.gather(
            1, parent_SB[:, :, None].expand(-1, -1, self.visible.size(2))
        )
        if self.width + beams > self.keys[0].size(2):
            self._clear(room=self.ROOM_STEPS * beams)
        new = slice(self.width, self.width + beams)
        self.width += beams
        itself = torch.eye(beams, dtype=torch.bool, device=tokens_SB.device)
        self.visible = torch.cat([self.visible, itself.expand(sentences, -1, -1)], dim=2)
        mask = additive(self.visible[:, None])
        position_1 = torch.full((1,), self.position, device=tokens_SB.device)
        x = self.network.embed(tokens_SB.flatten(), position_1, longest=self.position + 1)
        self.position += 1
        for number, layer in enumerate(self.network.decoder):
            attention, rest, over_memory, rest_memory, inner, rest_inner = layer
            keys, values = self.keys[number], self.values[number]
            q, k, v = (attention.heads(y.view(sentences, beams, -1)) for y in attention.own(x))
            keys[:, :, new], values[:, :, new] = k, v
            seen = attend(q, keys[:, :, : self.width], values[:, :, : self.width], mask)
            x = rest(x, attention.out(seen.flatten(0, 1)))
            q = over_memory.heads(over_memory.query(x).view(sentences, beams, -1))
            seen = attend(q, self.memory_keys[number], self.memory_values[number], self.memory_mask)
            x = rest_memory(x, over_memory.out(seen.flatten(0, 1)))
            x = rest_inner(x, inner(x))
        return x

    def keep(self, sentence_S: Tensor) -> None:
        """Go on with these sentences only (ascending indices)."""
        self.visible = self.visible[sentence_S]
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask[sentence_S]
        for stored in (self.keys, self.values, self.memory_keys, self.memory_values):
            stored[:] = [x[sentence_S] for x in stored]

    def _clear(self, *, room: int) -> None:
        """Drop keys that no hypothesis sees and make room for new ones."""
        live_SW = self.visible.any(dim=1)
        width = int(live_SW.sum(dim=1).max()) if self.width else 0
        order_SW = live_SW.byte().argsort(dim=1, descending=True, stable=True)[:, :width]
        self.visible = self.visible.gather(
            2, order_SW[:, None].expand(-1, self.visible.size(1), -1)
        )
        for stored in (self.keys, self.values):
            for number, x in enumerate(stored):
                sentences, heads, _, size = x.shape
                grown = x.new_zeros(sentences, heads, width + room, size)
                index = order_SW[:, None, :, None].expand(-1, heads, -1, size)
                grown[:, :, :width] = x.gather(2, index)
                stored[number] = grown
        self.width = width


def additive(mask: Tensor | None) -> Tensor | None:
    """0 where a query may attend, -inf elsewhere: made once a step, not once a layer."""
    if mask is None:
        return None
    return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -torch.inf)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Section 3.2.1, eq. (1), heads merged: [S, queries, heads * V]."""
    if mask is not None:
        mask = mask.to(q.dtype)
    seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return seen.transpose(1, 2).flatten(2)
