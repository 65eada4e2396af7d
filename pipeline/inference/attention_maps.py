"""Where the heads of an encoder layer look, for figures like the paper's 3 to 5."""

import torch
from torch import Tensor

from pipeline.encoded import EOS_ID
from pipeline.inference.grid import Grid
from pipeline.inference.network import Network


@torch.inference_mode()
def encoder_attention(network: Network, source: Tensor, *, layer: int) -> Tensor:
    """Attention weights of encoder layer `layer` (from 1), [heads, queries, keys]; rows sum to 1.

    source: 1-d ids with eos at the end. Raises ValueError for a layer that the model lacks.
    """
    if not 1 <= layer <= len(network.encoder):
        raise ValueError(f"layer must be from 1 to {len(network.encoder)}: {layer}")
    assert source[-1] == EOS_ID
    grid = Grid([source], device=network.device)
    x_ND = network.embed(grid.ids_N, grid.position_N, longest=grid.longest)
    for lower in network.encoder[: layer - 1]:
        x_ND = network.encoder_layer(lower, x_ND, grid, None)
    attention = network.encoder[layer - 1][0]
    q, k, _ = (attention.heads(grid.to_grid(x)) for x in attention.own(x_ND))
    return attention.weights(q, k, None)[0]
