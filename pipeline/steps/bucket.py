"""Group the training pairs of a corpus by their lengths, once for all trainings on it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.batching.buckets import bucket_pairs, write_buckets
from pipeline.batching.report import padding_report
from pipeline.encoded import EncodedSplit
from pipeline.files import write_manifest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.bucket", description=__doc__)
    parser.add_argument("--encoded", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder")
    options = parser.parse_args(arguments)

    split = EncodedSplit.open(options.encoded / "train")
    src, tgt = split.src_lengths(), split.tgt_lengths()
    del split  # the pages of its arrays that were read count as memory
    buckets = bucket_pairs(src, tgt)
    write_buckets(options.output, buckets)
    write_manifest(
        options.output / "bucket.json",
        step="bucket",
        inputs={"encoded": options.encoded / "encode.json"},
        pairs=len(buckets),
        buckets=len(buckets.src),
        src_tokens=buckets.src_tokens,
        tgt_tokens=buckets.tgt_tokens,
        longest={"src": int(src.max()), "tgt": int(tgt.max())},
        percentiles={
            str(p): {"src": _percentile(src, p), "tgt": _percentile(tgt, p)} for p in (50, 90, 99)
        },
        padding=padding_report(src, tgt, buckets),
    )


def _percentile(lengths: np.ndarray, percent: int) -> int:
    """The least length that `percent` of 100 pairs do not exceed."""
    return int(np.searchsorted(np.cumsum(np.bincount(lengths)), len(lengths) * percent / 100))


if __name__ == "__main__":
    main()
