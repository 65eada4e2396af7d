"""Decode one test set: hypotheses.txt in the order of the input, and decode.json about it."""

import argparse
import time
from collections.abc import Sequence
from typing import get_args

from pipeline.config.bounds import MOST_TOKENS, whole
from pipeline.config.schema import DecodingConfig, DecodingPrecision
from pipeline.files import commit, read_lines, write_json, write_lines
from pipeline.gpus import claimed
from pipeline.inference.device import choose_device
from pipeline.inference.precision import chosen_precision
from pipeline.inference.translator import BLANK, Translator, total_repairs
from pipeline.model.folder import ModelFolder
from pipeline.progress import log, track, warn


@claimed(1)
def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.decode", description=__doc__)
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--text", required=True, help="source text, one sentence a line")
    parser.add_argument("--decoding", required=True, help="section of the experiment, JSON")
    parser.add_argument("--split", required=True)
    parser.add_argument("--test-set", required=True, help="its name, such as newstest2014")
    parser.add_argument(
        "--max-tokens", type=whole(1, MOST_TOKENS), required=True, help="hypotheses x source tokens"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", choices=get_args(DecodingPrecision), default="fp32")
    parser.add_argument("--output", required=True, help="hypotheses.txt")
    parser.add_argument("--report", required=True, help="decode.json")
    options = parser.parse_args(arguments)

    lines = read_lines(options.text)
    decoding = DecodingConfig.model_validate_json(options.decoding)
    folder = ModelFolder.open(options.model)
    start = time.perf_counter()
    device = choose_device(options.device)
    precision = chosen_precision(options.precision, folder, device=device)
    translator = Translator(folder, device=device, precision=precision)
    most = translator.most_bytes(lines, decoding=decoding, max_tokens=options.max_tokens)
    log(f"memory of a batch beside the weights, at most: {most / 1e6:,.0f} MB")
    outputs = [BLANK] * len(lines)
    found = translator.run_batches(lines, decoding=decoding, max_tokens=options.max_tokens)
    for index, (output,) in track(found, what="decode", total=len(lines), unit="lines"):
        outputs[index] = output
    said = sum(bool(line.strip()) for line in lines)
    if blank := said - sum(bool(output.text.strip()) for output in outputs):
        warn(
            f"blank output for {blank:,} of {said:,} lines of text; see in the dev "
            "perplexity of the training whether the model has learnt anything"
        )
    write_lines(options.output, (output.text for output in outputs))
    report = {
        **folder.facts(),
        "split": options.split,
        "test_set": options.test_set,
        **decoding.model_dump(mode="json", exclude={"n_average"}),
        "precision": precision,
        "sentences": len(lines),
        "tgt_tokens": sum(output.n_tokens for output in outputs),
        "seconds": round(time.perf_counter() - start, 3),
        "commit": commit(),
    }
    if folder.kind == "parsing":
        report["repairs"] = total_repairs(outputs)
    write_json(options.report, report)


if __name__ == "__main__":
    main()
