"""Generate a grammar corpus: raw files `raw/<split>.<side>` and their list, `sources.json`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.corpus import RawCorpus
from pipeline.corpora.grammar import write_corpus
from pipeline.corpora.sources import write_sources
from pipeline.progress import log


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.generate", description=__doc__)
    parser.add_argument("--corpus", required=True, help="RawCorpus as JSON")
    parser.add_argument("--folder", required=True, type=Path, help="folder of the corpus")
    options = parser.parse_args(arguments)

    config = RawCorpus.model_validate_json(options.corpus)
    if config.source.kind != "grammar":
        parser.error(f"corpus {config.name}: source.kind must be grammar: {config.source.kind}")
    splits = write_corpus(config, options.folder / "raw")
    sources = options.folder / "sources.json"
    write_sources(sources, step="generate", corpus=config.name, splits=splits)
    sizes = ", ".join(f"{split} {parts[0].lines:,}" for split, parts in splits.items())
    log(f"{config.name}: {sizes} sentences in {options.folder / 'raw'}")


if __name__ == "__main__":
    main()
