"""How much padding a corpus's batches hold, beside batches that don't look at lengths."""

from collections.abc import Iterable

import numpy as np

from pipeline.batching.buckets import Buckets
from pipeline.batching.plan import plan_epoch
from pipeline.batching.split import padded_tokens

TOKENS_PER_STEP = (4096, 25000)
MOST_UPDATES = 500  # looked at, of an epoch
MOST_PAIRS = 1_000_000  # planned, of a larger corpus; more would pad a little less


def padding_report(buckets: Buckets) -> dict[str, dict[str, float]]:
    """For sizes of an update: its share of padding, of all cells on both sides, as one batch.

    "bucketed" by `plan_epoch`; "shuffled" where pairs are drawn at random. Sizes below the longest
    pair are left out.
    """
    buckets = buckets.thinned(MOST_PAIRS)
    longest = int(max(buckets.src.max(), buckets.tgt.max()))
    src, tgt = (np.repeat(side, buckets.sizes) for side in (buckets.src, buckets.tgt))
    report = {}
    for tokens in TOKENS_PER_STEP:
        if tokens >= longest:
            plan = plan_epoch(buckets, tokens_per_step=tokens, seed=0, epoch=0)
            size = max(1, int(tokens * len(buckets) / max(buckets.src_tokens, buckets.tgt_tokens)))
            drawn = np.random.default_rng(0).integers(len(buckets), size=(MOST_UPDATES, size))
            of_plan = (plan.update(number) for number in range(min(len(plan), MOST_UPDATES)))
            report[str(tokens)] = {
                "bucketed": round(_padding(src, tgt, of_plan), 4),
                "shuffled": round(_padding(src, tgt, drawn), 4),
            }
    return report


def _padding(src: np.ndarray, tgt: np.ndarray, batches: Iterable[np.ndarray]) -> float:
    tokens = cells = 0
    for ids in batches:
        cells += padded_tokens(src[ids], tgt[ids])
        tokens += int(src[ids].sum() + tgt[ids].sum())
    return 1 - tokens / cells
