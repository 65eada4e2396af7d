"""Group the training pairs of a corpus by their lengths, once for all trainings on it."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from pipeline.batching.buckets import write_buckets
from pipeline.batching.report import MOST_PAIRS, padding_report
from pipeline.encoded import EncodedSplit, read_lengths
from pipeline.files import write_manifest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.bucket", description=__doc__)
    parser.add_argument("--encoded", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder")
    options = parser.parse_args(arguments)

    EncodedSplit.open(options.encoded / "train")  # refuses sides that differ in number
    buckets = write_buckets(options.output, partial(read_lengths, options.encoded / "train"))
    sides = {"src": buckets.src, "tgt": buckets.tgt}
    write_manifest(
        options.output / "bucket.json",
        step="bucket",
        inputs={"encoded": options.encoded / "encode.json"},
        pairs=len(buckets),
        buckets=len(buckets.src),
        src_tokens=buckets.src_tokens,
        tgt_tokens=buckets.tgt_tokens,
        longest={side: int(lengths.max()) for side, lengths in sides.items()},
        percentiles={
            str(p): {
                side: _percentile(lengths, buckets.sizes, p) for side, lengths in sides.items()
            }
            for p in (50, 90, 99)
        },
        padding=padding_report(buckets),
        padding_of_pairs=min(len(buckets), MOST_PAIRS),
    )


def _percentile(lengths: np.ndarray, sizes: np.ndarray, percent: int) -> int:
    """The least length that `percent` of 100 pairs do not exceed; sizes: pairs of each length."""
    counts = np.bincount(lengths, weights=sizes)
    return int(np.searchsorted(np.cumsum(counts), sizes.sum() * percent / 100))


if __name__ == "__main__":
    main()
