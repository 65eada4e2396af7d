"""Section 3.5: where a token stands."""

import torch
from torch import Tensor, nn

from pipeline.config.schema import ModelConfig


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """[n_positions, d_model], float32: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), 2i+1 cos.

    Computed in float64, so that far positions keep their phase.
    """
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]
    rate = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position * rate
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


class Positions(nn.Module):
    """Gives the vector that is added to the embedding of a token at a position."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.positions
        self.d_model = config.d_model
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind == "sinusoidal":
            self.register_buffer("table", torch.empty(0, config.d_model), persistent=False)

    def forward(self, position_N: Tensor, *, longest: int) -> Tensor | float:
        """[N] positions below `longest` to [N, d_model].

        Raises ValueError where a learned table is too short; sinusoids grow as needed.
        """
        if self.kind == "none":
            return 0.0
        if longest > len(self.table):
            if self.kind == "learned":
                raise ValueError(
                    f"a sentence of {longest} tokens is longer than the table of learned "
                    f"positions; raise model.max_positions: {len(self.table)}"
                )
            rows = max(256, 1 << (longest - 1).bit_length())
            self.table = sinusoids(rows, self.d_model).to(position_N.device)
        return self.table[position_N]
