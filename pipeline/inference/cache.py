"""The decoder, one token of each hypothesis a step, over stored keys and values.

A sentence's hypotheses share everything. Its memory is projected once, and its hypotheses are the
queries of one attention over it. So it is with the target: the keys and values of every hypothesis
of a sentence lie side by side, each is stored once however many hypotheses descend from it, and a
mask says which ones do. Reordering hypotheses moves the mask alone. Now and then the keys that no
hypothesis descends from any more are cleared away, which leaves little more than one a position:
hypotheses of one sentence mostly share all but their last tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from pipeline.inference.network import Network, additive

# S sentences, B hypotheses of each, M source positions, W stored target keys, D d_model
# H heads, K d_k, V d_v

ROOM_STEPS = 16  # steps between two clearings


class Cache:
    """Keys and values of a batch of sentences while it is decoded.

    stored: for each decoder layer [S * H, W, K] and [S * H, W, V], the first `width` of W in use;
    memory: for each decoder layer [S * H, M, K] and [S * H, M, V]; visible: bool [S, B, width].
    """

    def __init__(self, network: Network, sources: Sequence[Tensor]) -> None:
        self.network, self.n_heads = network, network.config.n_heads
        memory_ND, grid = network.encode(sources)
        self.memory_mask = additive(grid.mask_S11P)
        self.memory = [
            [attention.heads(grid.to_grid(x)) for x in attention.memory(memory_ND)]
            for _, _, attention, *_ in network.decoder
        ]
        self.stored = [[x[:, :0] for x in pair] for pair in self.memory]
        self.visible = torch.zeros(len(sources), 1, 0, dtype=torch.bool, device=network.device)
        self.width = self.position = 0

    def step(self, tokens_SB: Tensor, parent_SB: Tensor) -> Tensor:
        """States [S * B, D] after one more token of each hypothesis.

        parent_SB: the hypothesis of the step before that each one extends.
        """
        sentences, beams = tokens_SB.shape
        columns = self.visible.size(2)
        self.visible = self.visible.gather(1, parent_SB[:, :, None].expand(-1, -1, columns))
        if self.width + beams > self.stored[0][0].size(1):
            self._clear(room=ROOM_STEPS * beams)
        new = slice(self.width, self.width + beams)
        self.width += beams
        itself = torch.eye(beams, dtype=torch.bool, device=tokens_SB.device)
        self.visible = torch.cat([self.visible, itself.expand(sentences, -1, -1)], dim=2)
        mask = additive(self.visible[:, None])
        position_1 = torch.full((1,), self.position, device=tokens_SB.device)
        x = self.network.embed(tokens_SB.flatten(), position_1, longest=self.position + 1)
        self.position += 1
        for layer, stored, memory in zip(
            self.network.decoder, self.stored, self.memory, strict=True
        ):
            attention, rest, over_memory, rest_memory, inner, rest_inner = layer
            q, *added = (attention.heads(y.view(sentences, beams, -1)) for y in attention.own(x))
            for kept, one in zip(stored, added, strict=True):
                kept[:, new] = one
            k, v = (kept[:, : self.width] for kept in stored)
            seen = attention.attend(q, k, v, mask)
            x = rest(x, attention.out(seen.flatten(0, 1)))
            q = over_memory.heads(over_memory.query(x).view(sentences, beams, -1))
            seen = over_memory.attend(q, *memory, self.memory_mask)
            x = rest_memory(x, over_memory.out(seen.flatten(0, 1)))
            x = rest_inner(x, inner(x))
        return x

    def keep(self, sentence_S: Tensor) -> None:
        """Go on with these sentences only (ascending indices)."""
        self.visible = self.visible.index_select(0, sentence_S)
        if self.memory_mask is not None:
            self.memory_mask = self.memory_mask.index_select(0, sentence_S)
        heads = torch.arange(self.n_heads, device=sentence_S.device)
        rows = (sentence_S[:, None] * self.n_heads + heads).flatten()
        for pair in [*self.stored, *self.memory]:
            pair[:] = [x.index_select(0, rows) for x in pair]

    def _clear(self, *, room: int) -> None:
        """Drop keys that no hypothesis sees and make room for new ones."""
        live_SW = self.visible.any(dim=1)
        width = int(live_SW.sum(dim=1).max()) if self.width else 0
        order_SW = live_SW.byte().argsort(dim=1, descending=True, stable=True)[:, :width]
        self.visible = self.visible.gather(
            2, order_SW[:, None].expand(-1, self.visible.size(1), -1)
        )
        capacity = self.stored[0][0].size(1)
        if capacity:
            # the room is filled with copies of a key: one gather makes the new array whole
            order_SW = torch.nn.functional.pad(order_SW, (0, room))
            rows = torch.arange(len(self.stored[0][0]), device=order_SW.device) * capacity
            index = (rows[:, None] + order_SW.repeat_interleave(self.n_heads, dim=0)).flatten()
        for pair in self.stored:
            for number, x in enumerate(pair):
                if capacity:
                    grown = x.flatten(0, 1).index_select(0, index)
                    pair[number] = grown.unflatten(0, (x.size(0), -1))
                else:
                    pair[number] = x.new_zeros(x.size(0), room, x.size(2))
        self.width = width
