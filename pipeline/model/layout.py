"""Padding never enters a matrix product: tokens lie packed, and only attention sees a grid.

A batch arrives as a padded grid of ids. Every layer that treats tokens one by one (projections,
feed-forward, norms, dropout, logits) works on packed rows [N, ...]. Attention needs a sentence's
tokens side by side, for each head; one gather lays them out, padding and transposing at once, and
another takes them back.

The packed rows are filled up to a multiple of `ROWS`, at least one more than there are tokens,
and a grid to multiples of `SENTENCES` and `CELLS`: a kernel is prepared for each new shape, so
shapes should recur, and rows of whole vectors are fast. Rows that hold no token are read where a
grid has no token; nothing reads what comes of them, so their gradients are zero.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, SENTENCES, CELLS = 64, 4, 8

# B batch, S positions of the grid, N packed rows, H heads, W a head's width


class Layout:
    """Where the tokens of one side of a batch lie.

    ids_BS: int64, right-padded with `pad_id`. ids_N, position_N: of each packed row.
    """

    def __init__(self, ids_BS: Tensor, *, pad_id: int) -> None:
        device = ids_BS.device
        batch, longest = ids_BS.shape
        mask_BS = ids_BS != pad_id
        token_T = mask_BS.flatten().nonzero().squeeze(1)
        self.longest = longest
        self.n_tokens = token_T.numel()
        self.n_rows = (self.n_tokens // ROWS + 1) * ROWS
        self.shape = -(-batch // SENTENCES) * SENTENCES, -(-longest // CELLS) * CELLS
        self.ids_N = ids_BS.new_full((self.n_rows,), pad_id)
        self.ids_N[: self.n_tokens] = ids_BS.flatten()[token_T]
        self.position_N = ids_BS.new_zeros(self.n_rows)
        self.position_N[: self.n_tokens] = token_T % longest
        sentence_N = ids_BS.new_zeros(self.n_rows)
        sentence_N[: self.n_tokens] = token_T // longest
        self.sentence_N = sentence_N
        cell_T = sentence_N[: self.n_tokens] * self.shape[1] + token_T % longest
        row_of_cell = torch.full((self.shape[0] * self.shape[1],), self.n_tokens, device=device)
        row_of_cell[cell_T] = torch.arange(self.n_tokens, device=device)
        self.row_BS = row_of_cell.view(self.shape)
        self.is_token_BS = self.row_BS < self.n_tokens
        self._key_mask: Tensor | None = None
        self._causal_mask: Tensor | None = None
        self._heads: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}

    def to_heads(self, x_NE: Tensor, widths: list[int], *, n_heads: int) -> list[Tensor]:
        """Packed rows, in which the heads' vectors of one kind follow those of another, to
        [B * H, S, width] for each kind.

        widths: of a head's vector of each kind, such as [d_k, d_k, d_v].
        """
        index, inverse = self._indices(widths, n_heads)
        unit = x_NE.size(1) // (inverse.numel() // self.n_rows)
        tokens = self.n_tokens * (x_NE.size(1) // unit)
        flat = _Gather.apply(x_NE.reshape(-1, unit), index, inverse, tokens)
        batch, longest = self.shape
        cells = batch * n_heads * longest
        parts = flat.split([cells * width // unit for width in widths])
        return [
            part.view(batch * n_heads, longest, width)
            for part, width in zip(parts, widths, strict=True)
        ]

    def to_rows(self, x_ZSW: Tensor, *, n_heads: int) -> Tensor:
        """[B * H, S, width] back to packed rows [N, heads * width]."""
        width = x_ZSW.size(2)
        index, inverse = self._indices([width], n_heads)
        flat = _Gather.apply(x_ZSW.reshape(-1, width), inverse, index, None)
        return flat.view(self.n_rows, n_heads * width)

    def key_mask(self) -> Tensor:
        """[B, 1, 1, S], added to scores: 0 where there is a token, -inf where there is none.

        A sentence that only fills up the grid sees all of itself: softmax needs something to see.
        """
        if self._key_mask is None:
            empty_B1 = ~self.is_token_BS[:, :1]
            self._key_mask = _additive(self.is_token_BS | empty_B1)[:, None, None]
        return self._key_mask

    def causal_mask(self) -> Tensor:
        """[1, 1, S, S], added to scores: -inf at later positions than the query's own.

        It hides padding from every token too, since that lies to the right of them all.
        """
        if self._causal_mask is None:
            size = self.shape[1]
            earlier = torch.ones(size, size, dtype=torch.bool, device=self.row_BS.device).tril()
            self._causal_mask = _additive(earlier)[None, None]
        return self._causal_mask

    def _indices(self, widths: list[int], n_heads: int) -> tuple[Tensor, Tensor]:
        """Of every unit (the widths' greatest common divisor) of the grids its place among the
        packed units, and the inverse."""
        key = (n_heads, *widths)
        if key not in self._heads:
            self._heads[key] = self._compute_indices(widths, n_heads)
        return self._heads[key]

    def _compute_indices(self, widths: list[int], n_heads: int) -> tuple[Tensor, Tensor]:
        unit = math.gcd(*widths)
        per_row = n_heads * sum(widths) // unit
        batch, longest = self.shape
        head_H = torch.arange(n_heads, device=self.row_BS.device)
        to_grid, to_rows, before, cells = [], [], 0, 0
        for width in widths:
            units_U = torch.arange(width // unit, device=self.row_BS.device)
            within_HU = before + head_H[:, None] * len(units_U) + units_U
            row_BHSU = self.row_BS[:, None, :, None] * per_row
            to_grid.append((row_BHSU + within_HU[:, None]).flatten())
            place_NH = (self.sentence_N[:, None] * n_heads + head_H) * longest
            place_NH = place_NH + self.position_N[:, None]
            to_rows.append(cells + (place_NH[..., None] * len(units_U) + units_U).flatten(1))
            before += n_heads * len(units_U)
            cells += batch * n_heads * longest * len(units_U)
        return torch.cat(to_grid), torch.cat(to_rows, dim=1).flatten()


def _additive(visible: Tensor) -> Tensor:
    return torch.zeros(visible.shape, device=visible.device).masked_fill_(~visible, -torch.inf)


class _Gather(torch.autograd.Function):
    """Rows `index` of x. `inverse` undoes it, so that the gradient is gathered too; gradients
    from row `end` on are known to be zero."""

    @staticmethod
    def forward(ctx, x, index, inverse, end):
        ctx.save_for_backward(inverse)
        ctx.end = end
        return x.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx, d_y):
        (inverse,) = ctx.saved_tensors
        d_x = d_y.contiguous().index_select(0, inverse)
        if ctx.end is not None:
            d_x[ctx.end :] = 0
        return d_x, None, None, None
