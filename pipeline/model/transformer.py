"""Section 3: the Transformer, post-norm, with one matrix for both embeddings and the logits."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.config.schema import ModelConfig
from pipeline.model.attention import MultiHeadAttention
from pipeline.model.packing import Packing
from pipeline.model.positions import Positions

# B batch, S source positions, T target positions, D d_model, V vocabulary
# N, M packed tokens of target and source


class FeedForward(nn.Module):
    """Section 3.3, eq. (2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.out = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x_ND: Tensor) -> Tensor:
        return self.out(F.relu(self.inner(x_ND), inplace=True))


class Residual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(Sublayer(x)))."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_ND: Tensor, sublayer_ND: Tensor) -> Tensor:
        return self.norm(x_ND + self.dropout(sublayer_ND))


class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config, over_memory=False)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_MD: Tensor, packing: Packing) -> Tensor:
        x_MD = self.attention_residual(x_MD, self.attention(x_MD, packing))
        return self.feed_forward_residual(x_MD, self.feed_forward(x_MD))


class DecoderLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.causal = config.causal
        self.attention = MultiHeadAttention(config, over_memory=False)
        self.attention_residual = Residual(config)
        self.memory_attention = MultiHeadAttention(config, over_memory=True)
        self.memory_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self, x_ND: Tensor, packing: Packing, memory_MD: Tensor, memory_packing: Packing
    ) -> Tensor:
        own_ND = self.attention(x_ND, packing, causal=self.causal)
        x_ND = self.attention_residual(x_ND, own_ND)
        seen_ND = self.memory_attention(
            x_ND, packing, memory_MD=memory_MD, memory_packing=memory_packing
        )
        x_ND = self.memory_attention_residual(x_ND, seen_ND)
        return self.feed_forward_residual(x_ND, self.feed_forward(x_ND))


class Transformer(nn.Module):
    """Section 3. Ids in, states out; logits are `states @ embedding.weight.T` (section 3.4)."""

    def __init__(self, config: ModelConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, config.d_model)
        self.positions = Positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Glorot uniform for each projection by itself, zero biases, N(0, 1 / d_model) embeddings.

        The paper states none. Glorot keeps variances alike forward and backward; embeddings of
        that width have unit variance once multiplied by sqrt(d_model) (section 3.4), like the
        sinusoids beside them, and give logits of unit scale on normalised states.
        """
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                for weight in projections(module):
                    nn.init.xavier_uniform_(weight)
            elif isinstance(module, FeedForward):
                for linear in (module.inner, module.out):
                    nn.init.xavier_uniform_(linear.weight)
                    nn.init.zeros_(linear.bias)
        nn.init.normal_(self.embedding.weight, std=self.config.d_model**-0.5)
        if self.positions.kind == "learned":
            nn.init.normal_(self.positions.table, std=1.0)

    def embed(self, ids_BS: Tensor, packing: Packing) -> Tensor:
        """Sections 3.4, 3.5 and 5.4: Dropout(sqrt(d_model) E[ids] + PE), packed [N, D]."""
        embedded_ND = self.embedding(packing.to_packed(ids_BS)) * math.sqrt(self.config.d_model)
        placed_ND = embedded_ND + self.positions(packing.position_N, longest=ids_BS.size(1))
        return self.dropout(placed_ND)

    def encode_packed(self, src_BS: Tensor) -> tuple[Tensor, Packing]:
        """Encoder output of the source tokens that are not padding, [M, D], and where they lie."""
        packing = Packing(src_BS, pad_id=self.pad_id)
        x_MD = self.embed(src_BS, packing)
        for layer in self.encoder:
            x_MD = layer(x_MD, packing)
        return x_MD, packing

    def encode(self, src_BS: Tensor) -> Tensor:
        """Memory [B, S, D] of right-padded source ids; zeros where there is padding."""
        memory_MD, packing = self.encode_packed(src_BS)
        return packing.to_grid(memory_MD)

    def forward(self, src_BS: Tensor, tgt_BT: Tensor) -> Tensor:
        """States [N, D] after each target token that is not padding, in reading order.

        src_BS, tgt_BT: int64 ids, right-padded with pad_id; the target starts with bos_id.
        """
        memory_MD, memory_packing = self.encode_packed(src_BS)
        packing = Packing(tgt_BT, pad_id=self.pad_id)
        x_ND = self.embed(tgt_BT, packing)
        for layer in self.decoder:
            x_ND = layer(x_ND, packing, memory_MD, memory_packing)
        return x_ND

    def logits(self, states_ND: Tensor) -> Tensor:
        """[N, V] (section 3.4: the embedding's own matrix)."""
        return F.linear(states_ND, self.embedding.weight)


def projections(attention: MultiHeadAttention) -> list[Tensor]:
    """Views of the separate projections W^Q, W^K, W^V and W^O of all heads, by section 3.2.2."""
    q, v = attention.q_width, attention.v_width
    if hasattr(attention, "qkv"):
        parts = list(attention.qkv.weight.split([q, q, v]))
    else:
        parts = [attention.q.weight, *attention.kv.weight.split([q, v])]
    return [*parts, attention.out.weight]


def count_parameters(config: ModelConfig, *, vocab_size: int) -> int:
    """Trainable numbers of a model, counted without allocating it."""
    with torch.device("meta"):
        model = Transformer(config, vocab_size=vocab_size, pad_id=0)
    return sum(parameter.numel() for parameter in model.parameters())
