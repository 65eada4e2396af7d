"""Section 3: the Transformer, post-norm, with one matrix for both embeddings and the logits."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.config.schema import ModelConfig
from pipeline.model.attention import MultiHeadAttention
from pipeline.model.dropout import add_dropped, dropped
from pipeline.model.layout import Layout
from pipeline.model.linear import Linear
from pipeline.model.norm import LayerNorm
from pipeline.model.positions import Positions

# B batch, S source positions, T target positions, D d_model, V vocabulary
# N, M packed tokens of target and source


class FeedForward(nn.Module):
    """Section 3.3, eq. (2)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = Linear(config.d_model, config.d_ff)
        self.out = Linear(config.d_ff, config.d_model)

    def forward(self, x_ND: Tensor) -> Tensor:
        return self.out(F.relu(self.inner(x_ND), inplace=True))


class Residual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(Sublayer(x)))."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = LayerNorm(config.d_model)
        self.dropout = config.dropout

    def forward(self, x_ND: Tensor, sublayer_ND: Tensor) -> Tensor:
        rate = self.dropout if self.training else 0.0
        return self.norm(add_dropped(x_ND, sublayer_ND, rate=rate))


class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config, over_memory=False)
        self.attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x_MD: Tensor, layout: Layout) -> Tensor:
        x_MD = self.attention_residual(x_MD, self.attention(x_MD, layout))
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

    def forward(self, x_ND: Tensor, layout: Layout, memory_MD: Tensor, memory: Layout) -> Tensor:
        own_ND = self.attention(x_ND, layout, causal=self.causal)
        x_ND = self.attention_residual(x_ND, own_ND)
        seen_ND = self.memory_attention.over(memory_MD, memory, x_ND, layout)
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
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Glorot uniform for each projection by itself, zero biases, N(0, 1 / d_model) embeddings.

        The paper states none. Glorot keeps variances alike forward and backward; embeddings of
        that width have unit variance once multiplied by sqrt(d_model) (section 3.4), like the
        sinusoids beside them, and give logits of unit scale on normalised states.

        The last product of each sub-layer is divided by sqrt(sub-layers of the stack), so that all
        of them together add one unit of variance to the residual stream: a token's own embedding
        then reaches the top from the start, and attention over the source is learnt several times
        sooner (docs/training.md has the figures).
        """
        for stack, sublayers in ((self.encoder, 2), (self.decoder, 3)):
            scale = (sublayers * self.config.n_layers) ** -0.5
            for module in stack.modules():
                if isinstance(module, MultiHeadAttention):
                    for weight in projections(module):
                        nn.init.xavier_uniform_(weight)
                    module.out.weight.mul_(scale)
                elif isinstance(module, FeedForward):
                    for linear in (module.inner, module.out):
                        nn.init.xavier_uniform_(linear.weight)
                        nn.init.zeros_(linear.bias)
                    module.out.weight.mul_(scale)
        nn.init.normal_(self.embedding.weight, std=self.config.d_model**-0.5)
        if self.positions.kind == "learned":
            nn.init.normal_(self.positions.table, std=1.0)

    def embed(self, layout: Layout) -> Tensor:
        """Sections 3.4, 3.5 and 5.4: Dropout(sqrt(d_model) E[ids] + PE), packed [N, D]."""
        embedded_ND = self.embedding(layout.ids_N) * math.sqrt(self.config.d_model)
        placed_ND = embedded_ND + self.positions(layout.position_N, longest=layout.longest)
        return dropped(placed_ND, rate=self.config.dropout if self.training else 0.0)

    def encode_packed(self, src_BS: Tensor) -> tuple[Tensor, Layout]:
        """Encoder output in packed rows [M, D], and where its tokens lie."""
        layout = Layout(src_BS, pad_id=self.pad_id)
        x_MD = self.embed(layout)
        for layer in self.encoder:
            x_MD = layer(x_MD, layout)
        return x_MD, layout

    def encode(self, src_BS: Tensor) -> Tensor:
        """Memory [B, S, D] of right-padded source ids; zeros where there is padding."""
        memory_MD, layout = self.encode_packed(src_BS)
        memory_BSD = memory_MD[layout.row_BS] * layout.is_token_BS[:, :, None]
        return memory_BSD[: len(src_BS), : layout.longest]

    def forward(self, src_BS: Tensor, tgt_BT: Tensor) -> Tensor:
        """States [N, D] after each target token that is not padding, in reading order.

        src_BS, tgt_BT: int64 ids, right-padded with pad_id; the target starts with bos_id.
        """
        memory_MD, memory = self.encode_packed(src_BS)
        layout = Layout(tgt_BT, pad_id=self.pad_id)
        x_ND = self.embed(layout)
        for layer in self.decoder:
            x_ND = layer(x_ND, layout, memory_MD, memory)
        return x_ND[: layout.n_tokens]

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
