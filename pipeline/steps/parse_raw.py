"""Parse raw text for self-training: a tree a line, and beside it how sure the parser was of it."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.bounds import MOST_SHARDS, MOST_TOKENS, whole
from pipeline.config.schema import DecodingConfig
from pipeline.config.self_training import RawText
from pipeline.corpora.silver import Parsed, choose_sentences, words_of, write_columns
from pipeline.files import commit, iter_lines, write_json, write_lines
from pipeline.inference.device import choose_device
from pipeline.inference.translator import BLANK, Translator, total_repairs
from pipeline.model.folder import ModelFolder
from pipeline.progress import track


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.parse_raw", description=__doc__)
    parser.add_argument("--model", required=True, help="model folder of a parser")
    parser.add_argument("--text", required=True, type=Path, help="raw text, one sentence a line")
    parser.add_argument("--raw", required=True, type=RawText.model_validate_json, help="as JSON")
    parser.add_argument("--decoding", required=True, type=DecodingConfig.model_validate_json)
    parser.add_argument(
        "--shard", type=whole(0, MOST_SHARDS), nargs=2, default=(0, 1), help="part from 0, parts"
    )
    parser.add_argument(
        "--max-tokens", type=whole(1, MOST_TOKENS), required=True, help="hypotheses x source tokens"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--trees", required=True, help="output, one tree a line")
    parser.add_argument("--columns", required=True, help="output, tab-separated")
    parser.add_argument("--report", required=True, help="output, JSON")
    options = parser.parse_args(arguments)

    raw, start = options.raw, time.perf_counter()
    chosen = choose_sentences(
        iter_lines(options.text),
        words_of=words_of(raw.words),
        max_sentences=raw.max_sentences,
        max_words=raw.max_words,
        seed=raw.seed,
        shard=options.shard[0],
        shards=options.shard[1],
    )
    folder = ModelFolder.open(options.model)
    translator = Translator(folder, device=choose_device(options.device))
    outputs = [BLANK] * len(chosen)
    settings = {"decoding": options.decoding, "max_tokens": options.max_tokens}
    found = translator.run_batches([sentence for _, sentence in chosen], **settings)
    for index, (output,) in track(found, what="parse", total=len(chosen), unit="sentences"):
        outputs[index] = output
    write_lines(options.trees, (output.text for output in outputs))
    rows = zip(chosen, outputs, strict=True)
    write_columns(
        options.columns, (Parsed(n, o.log_prob, o.n_tokens, o.repairs) for (n, _), o in rows)
    )
    report = {"sentences": len(outputs), "repairs": total_repairs(outputs)}
    report |= {"seconds": round(time.perf_counter() - start, 3), "commit": commit()}
    write_json(options.report, {**folder.facts(), **report})


if __name__ == "__main__":
    main()
