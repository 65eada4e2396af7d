"""The best extensions of hypotheses, in one order that leaves no tie open."""

import torch
from torch import Tensor

# R rows, Y columns, k best

BLOCK = 32
MAX_ROWS_OF_KEYS = 1 << 31


def sort_keys(scores: Tensor) -> Tensor:
    """int64 keys of float32 scores: greater score, greater key; of equal scores the earlier column.

    A float's bits, read as an integer, are ordered like the float once those of negative numbers
    are turned around; the low 32 bits hold the column, counted down.
    """
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 makes -0.0 equal to 0.0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    columns = torch.arange(scores.size(-1), device=scores.device)
    return (ordered.long() << 32) | (0xFFFFFFFF - columns)


def best(scores_RY: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest of each row, [R, k] values and columns; of equal ones the earlier column.

    Wide rows are cut into blocks: each of the k greatest lies in one of the k blocks whose
    greatest come first in the same order, for a block that is left out has k blocks before it and
    each of them holds a number that comes before all of its own. So most columns are only ever
    compared, which is much cheaper than ranking them.
    """
    columns = scores_RY.size(-1)
    if columns <= 4 * k * BLOCK:
        index_Rk = sort_keys(scores_RY).topk(k).indices
        return scores_RY.gather(-1, index_Rk), index_Rk
    whole = columns // BLOCK * BLOCK
    blocks_RCb = scores_RY[:, :whole].unflatten(-1, (-1, BLOCK))
    maxima_RC = blocks_RCb.amax(dim=-1)
    block_Rk = sort_keys(maxima_RC).topk(k).indices.sort(dim=-1).values
    index_Rc = (block_Rk[:, :, None] * BLOCK + torch.arange(BLOCK, device=block_Rk.device)).flatten(
        1
    )
    rest = torch.arange(whole, columns, device=index_Rc.device).expand(len(index_Rc), -1)
    index_Rc = torch.cat([index_Rc, rest], dim=1)
    values_Rc = scores_RY.gather(1, index_Rc)
    chosen_Rk = sort_keys(values_Rc).topk(k).indices
    return values_Rc.gather(1, chosen_Rk), index_Rc.gather(1, chosen_Rk)
