"""Score one decoded test set: `scores.json` with every score, its interval and its signature."""

import argparse
from collections.abc import Sequence

from pipeline.evaluation.scores import score_translations, score_trees, write_statistics
from pipeline.files import commit, read_json, read_lines, sha256_of, write_json
from pipeline.progress import warn

FACTS = (
    "scale",
    "run",
    "experiment",
    "seed",
    "split",
    "n_average",
    "checkpoint_steps",
)  # copied from the decode manifest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.score", description=__doc__)
    parser.add_argument("--hypotheses", required=True)
    parser.add_argument("--references", required=True)
    parser.add_argument("--test-set", required=True, help="its name, such as newstest2014")
    parser.add_argument("--kind", choices=("translation", "parsing"), default="translation")
    parser.add_argument("--languages", help="source-target, such as en-de")
    parser.add_argument("--decode", required=True, help="decode.json of the hypotheses")
    parser.add_argument("--output", required=True, help="scores.json")
    parser.add_argument("--statistics", help="sentence statistics for paired tests, .npz")
    options = parser.parse_args(arguments)
    if options.kind == "translation" and not options.languages:
        parser.error("--kind translation needs --languages")

    hypotheses, references = read_lines(options.hypotheses), read_lines(options.references)
    names = (options.hypotheses, options.references)
    if options.kind == "parsing":
        scored = score_trees(hypotheses, references, names=names)
    else:
        scored = score_translations(
            hypotheses, references, languages=options.languages, names=names
        )
    for warning in scored.warnings:
        warn(warning)
    if options.statistics:
        write_statistics(options.statistics, scored)
    decode = read_json(options.decode)
    about = {
        "test_set": options.test_set,
        "languages": options.languages,
        "reference_sha256": sha256_of(options.references),
        **{fact: decode.get(fact) for fact in FACTS},
        "commit": commit(),
    }
    write_json(options.output, {**scored.as_data(), **about})


if __name__ == "__main__":
    main()
