"""Perplexity a word-piece (end of sentence counted, no smoothing) of an encoded split."""

import argparse
from collections.abc import Sequence

from pipeline.config.bounds import MOST_TOKENS, whole
from pipeline.encoded import EncodedSplit
from pipeline.files import commit, write_json
from pipeline.gpus import claimed
from pipeline.inference.device import choose_device
from pipeline.inference.scoring import split_log_prob
from pipeline.model.folder import ModelFolder
from pipeline.model.likelihood import perplexity


@claimed(1)
def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.steps.perplexity", description=__doc__
    )
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--encoded", required=True, help="folder of the encoded split")
    parser.add_argument("--split", required=True)
    parser.add_argument("--test-set", required=True, help="its name, such as newstest2013")
    parser.add_argument(
        "--max-tokens", type=whole(1, MOST_TOKENS), required=True, help="padded tokens of a batch"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", required=True, help="perplexity.json")
    options = parser.parse_args(arguments)

    folder = ModelFolder.open(options.model)
    model = folder.load(device=choose_device(options.device))
    split = EncodedSplit.open(options.encoded)
    if len(split) == 0:
        raise ValueError(f"nothing to measure, the split has no sentences: {options.encoded}")
    log_prob, tokens = split_log_prob(model, split, max_tokens=options.max_tokens)
    write_json(
        options.output,
        {
            **folder.facts(),
            "split": options.split,
            "test_set": options.test_set,
            "perplexity": perplexity(-log_prob, tokens),
            "nll": -log_prob,
            "tgt_tokens": tokens,
            "commit": commit(),
        },
    )


if __name__ == "__main__":
    main()
