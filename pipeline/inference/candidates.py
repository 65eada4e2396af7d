"""The best extensions of hypotheses, in one order that leaves no tie open.

The logits of a step over a large vocabulary are the largest tensor of decoding. They come in
pieces of some columns, of which everything is taken while they are at hand: the sum of their
exponentials and the greatest of each block of columns. Only the blocks that can hold a candidate
are looked at again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# R rows, C columns of a piece, b columns of a block, N blocks, k best, Y all columns

BLOCK = 32
Logits = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Stand:
    """A token that stands for many: its probability is the sum of theirs.

    token_R: int64, one for each row; -1 in rows without.
    """

    columns: range
    token_R: Tensor


def sort_keys(scores: Tensor) -> Tensor:
    """int64 keys of float32 scores: greater score, greater key; of equal scores the earlier column.

    A float's bits, read as an integer, are ordered like the float once those of negative numbers
    are turned around; the low 32 bits hold the column, counted down.
    """
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 makes -0.0 equal to 0.0
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    columns = torch.arange(scores.size(-1), device=scores.device)
    return (ordered.long() << 32) | (0xFFFFFFFF - columns)


def best_tokens(
    states_RD: Tensor,
    logits: Sequence[Logits],
    k: int,
    *,
    mask: Callable[[Tensor, int], None],
    stand: Stand | None = None,
) -> tuple[Tensor, Tensor]:
    """The k most probable tokens of each row, [R, k]: log-probabilities, ids; best first.

    logits: each gives the logits of the next columns. mask(logits_RC, start): sets in place to -inf
    what may not be chosen, in the columns from `start` on; probabilities are not renormalised.
    stand: a token that is chosen with the probability of many, whatever the mask says of them.

    Each of the k greatest of a row lies in one of the k blocks whose greatest come first, in the
    same order: a block that is left out has k blocks before it, and each of them holds a number
    that comes before all of its own.
    """
    pieces, totals, together, greatest, start = [], [], [], [], 0
    for part in logits:
        piece_RC = part(states_RD).float()
        # their difference in any column; twice as fast as logsumexp, which keeps three copies
        totals.append(piece_RC[:, 0] - piece_RC.log_softmax(dim=1)[:, 0])
        columns = piece_RC.size(1)
        if stand is not None:
            shared = slice(max(stand.columns.start - start, 0), max(stand.columns.stop - start, 0))
            together.append(piece_RC[:, shared].logsumexp(dim=1))
        mask(piece_RC, start)
        start += columns
        if columns % BLOCK:  # the last piece alone
            piece_RC = torch.nn.functional.pad(piece_RC, (0, -columns % BLOCK), value=-torch.inf)
        pieces.append(piece_RC.unflatten(1, (-1, BLOCK)))
        greatest.append(pieces[-1].amax(dim=2))
    if stand is not None:
        _put(pieces, greatest, stand.token_R, torch.stack(together).logsumexp(dim=0))
    total_R = torch.stack(totals).logsumexp(dim=0)
    block_RN = torch.cat(greatest, dim=1)
    block_Rn = sort_keys(block_RN).topk(min(k, block_RN.size(1))).indices.sort(dim=1).values
    values_Rnb = _blocks(pieces, block_Rn)
    inside_b = torch.arange(BLOCK, device=block_Rn.device)
    tokens_RC = (block_Rn[:, :, None] * BLOCK + inside_b).flatten(1)
    values_RC = values_Rnb.flatten(1)
    order_Rk = sort_keys(values_RC).topk(min(k, start)).indices
    return values_RC.gather(1, order_Rk) - total_R[:, None], tokens_RC.gather(1, order_Rk)


def _put(pieces: list[Tensor], greatest: list[Tensor], token_R: Tensor, value_R: Tensor) -> None:
    """Set one column of each row, and what is known of its block; in place. No column: -1."""
    start = 0
    for piece_RNb, greatest_RN in zip(pieces, greatest, strict=True):
        columns = piece_RNb.size(1) * BLOCK
        row = ((token_R >= start) & (token_R < start + columns)).nonzero().squeeze(1)
        block, inside = (token_R[row] - start) // BLOCK, (token_R[row] - start) % BLOCK
        piece_RNb[row, block, inside] = value_R[row]
        greatest_RN[row, block] = piece_RNb[row, block].amax(dim=1)
        start += columns


def _blocks(pieces: list[Tensor], block_Rn: Tensor) -> Tensor:
    """The columns of the chosen blocks of each row, [R, n, b]."""
    if len(pieces) == 1:
        return pieces[0].gather(1, block_Rn[:, :, None].expand(-1, -1, BLOCK))
    rows, n = block_Rn.shape
    row_of = torch.arange(rows, device=block_Rn.device).repeat_interleave(n)
    flat = block_Rn.flatten()
    values = torch.empty(rows * n, BLOCK, device=flat.device)
    start = 0
    for piece in pieces:
        here = ((flat >= start) & (flat < start + piece.size(1))).nonzero().squeeze(1)
        values[here] = piece[row_of[here], flat[here] - start]
        start += piece.size(1)
    return values.view(rows, n, BLOCK)
