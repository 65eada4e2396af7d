"""Padding never enters a matrix product: tokens travel packed, and only attention sees a grid.

A batch of sentences arrives as a padded grid of ids. Every layer that treats tokens one by one
(projections, feed-forward, norms, dropout, logits) works on the packed tokens of the batch; the
attention of a sentence needs its neighbours, so `to_grid` lays them out and `to_packed` takes them
back.
"""

import torch
from torch import Tensor

# B batch, S positions of the grid, N tokens that are not padding, D width


class Packing:
    """Which cells of a grid of ids hold tokens.

    ids_BS: int64, right-padded with `pad_id`.
    """

    def __init__(self, ids_BS: Tensor, *, pad_id: int) -> None:
        self.shape = ids_BS.shape
        self.mask_BS = ids_BS != pad_id
        self.index_N = self.mask_BS.flatten().nonzero().squeeze(1)
        self.full = self.index_N.numel() == ids_BS.numel()
        self.position_N = self.index_N % self.shape[1]

    def to_packed(self, x_BSD: Tensor) -> Tensor:
        """[B, S, ...] to [N, ...], the tokens in reading order."""
        x_flat = x_BSD.flatten(0, 1)
        return x_flat if self.full else x_flat.index_select(0, self.index_N)

    def to_grid(self, x_ND: Tensor) -> Tensor:
        """[N, ...] to [B, S, ...], zeros where there is padding."""
        if self.full:
            return x_ND.unflatten(0, self.shape)
        cells = self.shape[0] * self.shape[1]
        grid = x_ND.new_zeros((cells, *x_ND.shape[1:])).index_copy(0, self.index_N, x_ND)
        return grid.unflatten(0, self.shape)

    def key_mask(self) -> Tensor | None:
        """[B, 1, 1, S], True where a query may attend; None where no cell is padding."""
        return None if self.full else self.mask_BS[:, None, None, :]

    @property
    def n_tokens(self) -> int:
        return self.index_N.numel()


def pad_sequences(sequences: list[Tensor], *, pad_id: int) -> Tensor:
    """Lay out id sequences of any lengths as a right-padded int64 grid [B, S]."""
    return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=pad_id).long()
