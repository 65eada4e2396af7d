"""What each update reads: plans of one epoch after another, dealt to ranks and micro-batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.batching.buckets import Buckets
from pipeline.batching.grids import read_grids
from pipeline.batching.plan import Epoch, plan_epoch
from pipeline.batching.split import padded_tokens, split_update
from pipeline.encoded import EncodedSplit
from pipeline.training.ranks import Rank

Batch = tuple[Tensor, Tensor, Tensor]  # src_BS, tgt_BT, targets_N


@dataclass(frozen=True)
class Update:
    """One update as this rank sees it.

    ids: the update's pairs, of all ranks; batches: this rank's micro-batches, each with whether
    it counts (one that doesn't keeps the rank in step); counts: sums over all ranks.
    """

    epoch: int
    index: int
    ids: np.ndarray
    batches: list[tuple[Batch, bool]]
    counts: "Counts"


@dataclass
class Counts:
    """What training has read: tokens count eos; cells count padding; products are per pair."""

    src_tokens: int = 0
    tgt_tokens: int = 0
    cells: int = 0
    sum_src_squared: int = 0
    sum_tgt_squared: int = 0
    sum_src_tgt: int = 0

    def add(self, other: "Counts") -> None:
        for key, value in vars(other).items():
            setattr(self, key, getattr(self, key) + value)

    @property
    def padding_share(self) -> float:
        """Share of all cells, source and target, that hold no token."""
        return 1 - (self.src_tokens + self.tgt_tokens) / self.cells if self.cells else 0.0


class Feed:
    """Reads the updates of a split in the order of (seed, epoch), from any position on."""

    def __init__(
        self,
        split: EncodedSplit,
        buckets: Buckets,
        *,
        rank: Rank,
        seed: int,
        tokens_per_step: int,
        max_tokens: int,
    ) -> None:
        self.split, self.buckets, self.rank = split, buckets, rank
        self.seed, self.tokens_per_step, self.max_tokens = seed, tokens_per_step, max_tokens

    def updates(self, *, epoch: int, index: int) -> Iterator[Update]:
        """Endless, from update `index` of `epoch` on."""
        while True:
            plan = plan_epoch(
                self.buckets, tokens_per_step=self.tokens_per_step, seed=self.seed, epoch=epoch
            )
            for number in range(index, len(plan)):
                yield self._update(plan, epoch, number)
            epoch, index = epoch + 1, 0

    def _update(self, plan: Epoch, epoch: int, number: int) -> Update:
        ids = plan.update(number)
        src, tgt = (
            offsets[ids + 1] - offsets[ids]
            for offsets in (self.split.src_offsets, self.split.tgt_offsets)
        )
        parts = split_update(src, tgt, ranks=self.rank.world_size, max_tokens=self.max_tokens)
        counts = Counts(
            src_tokens=int(src.sum()),
            tgt_tokens=int(tgt.sum()),
            cells=sum(padded_tokens(src[p], tgt[p]) for row in parts for p in row),
            sum_src_squared=int(src @ src),
            sum_tgt_squared=int(tgt @ tgt),
            sum_src_tgt=int(src @ tgt),
        )
        mine = [
            (self.batch(ids[part] if len(part) else ids[:1]), len(part) > 0)
            for part in parts[self.rank.rank]
        ]
        return Update(epoch, number, ids, mine, counts)

    def batch(self, ids: np.ndarray) -> Batch:
        return read_batch(self.split, ids, self.rank.device)


def read_batch(split: EncodedSplit, ids: np.ndarray, device: torch.device) -> Batch:
    grids = read_grids(split, ids)
    arrays = (grids.src_BS, grids.tgt_BT, grids.targets_N)
    if device.type == "cpu":
        return tuple(torch.from_numpy(a) for a in arrays)
    return tuple(torch.from_numpy(a).pin_memory().to(device, non_blocking=True) for a in arrays)
