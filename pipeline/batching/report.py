"""How much padding a corpus's batches hold, beside batches that don't look at lengths."""

import numpy as np

from pipeline.batching.buckets import Buckets
from pipeline.batching.plan import plan_epoch
from pipeline.batching.split import padded_tokens

TOKENS_PER_STEP = (4096, 25000)
MOST_UPDATES = 500  # looked at, of an epoch


def padding_report(buckets: Buckets) -> dict[str, dict[str, float]]:
    """For sizes of an update: its share of padding, of all cells on both sides, as one batch.

    "bucketed" by `plan_epoch`; "shuffled" where pairs are drawn at random. Sizes below the
    longest pair are left out.
    """
    longest = int(max(buckets.src.max(), buckets.tgt.max()))
    sizes = [tokens for tokens in TOKENS_PER_STEP if tokens >= longest]
    return {
        str(tokens): {
            "bucketed": round(_bucketed(buckets, tokens), 4),
            "shuffled": round(_shuffled(buckets, tokens), 4),
        }
        for tokens in sizes
    }


def _bucketed(buckets: Buckets, tokens_per_step: int) -> float:
    """From lengths alone: the plan's order is by pair, so lengths go through the pair's id."""
    src, tgt = lengths_by_pair(buckets)
    plan = plan_epoch(buckets, tokens_per_step=tokens_per_step, seed=0, epoch=0)
    updates = [plan.update(u) for u in range(min(len(plan), MOST_UPDATES))]
    cells = sum(padded_tokens(src[ids], tgt[ids]) for ids in updates)
    tokens = sum(int(src[ids].sum() + tgt[ids].sum()) for ids in updates)
    return 1 - tokens / cells


def _shuffled(buckets: Buckets, tokens_per_step: int) -> float:
    src, tgt = lengths_by_pair(buckets)
    order = np.random.default_rng(0).permutation(len(src))
    size = max(1, int(tokens_per_step / max(src.mean(), tgt.mean())))
    batches = [order[i : i + size] for i in range(0, len(order), size)][:MOST_UPDATES]
    cells = sum(padded_tokens(src[ids], tgt[ids]) for ids in batches)
    return 1 - sum(int(src[ids].sum() + tgt[ids].sum()) for ids in batches) / cells


def lengths_by_pair(buckets: Buckets) -> tuple[np.ndarray, np.ndarray]:
    """Source and target tokens of each pair id."""
    lengths = np.empty((2, int(buckets.order.max()) + 1), dtype=np.int64)
    for row, side in zip(lengths, (buckets.src, buckets.tgt), strict=True):
        row[buckets.order] = np.repeat(side, buckets.sizes)
    return lengths[0], lengths[1]
