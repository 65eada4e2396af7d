"""Sentences of a batch as packed rows, and laid out side by side where attention needs them."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

# S sentences, P positions of the grid, N packed rows


def pad(sequences: Sequence[Tensor], *, pad_id: int) -> Tensor:
    """Id sequences of any lengths as a right-padded grid [S, P]."""
    return pad_sequence(list(sequences), batch_first=True, padding_value=pad_id)


class Grid:
    """Where the tokens of id sequences lie. ids_N, position_N: of each packed row."""

    def __init__(self, sequences: Sequence[Tensor], *, device: torch.device) -> None:
        lengths_S = torch.tensor([len(ids) for ids in sequences], device=device)
        self.longest = int(lengths_S.max())
        self.shape = len(sequences), self.longest
        mask_SP = torch.arange(self.longest, device=device) < lengths_S[:, None]
        self.mask_S11P = None if bool(mask_SP.all()) else mask_SP[:, None, None]
        self.index_N = mask_SP.flatten().nonzero().squeeze(1)
        self.ids_N = torch.cat(list(sequences)).to(device)
        self.position_N = self.index_N % self.longest

    def to_grid(self, x_ND: Tensor) -> Tensor:
        """[N, ...] to [S, P, ...], zeros where a sentence has ended."""
        if self.mask_S11P is None:
            return x_ND.unflatten(0, self.shape)
        cells = x_ND.new_zeros(self.shape[0] * self.longest, *x_ND.shape[1:])
        return cells.index_copy_(0, self.index_N, x_ND).unflatten(0, self.shape)

    def to_packed(self, x_SPD: Tensor) -> Tensor:
        """[S, P, ...] to [N, ...]."""
        x = x_SPD.flatten(0, 1)
        return x if self.mask_S11P is None else x.index_select(0, self.index_N)
