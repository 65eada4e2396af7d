"""Rule prepare: raw files to one sentence a line for each split and side."""

import argparse
from pathlib import Path

from pipeline.config.corpus import TextCorpus
from pipeline.corpora.prepare import prepare
from pipeline.corpora.sources import Sources
from pipeline.files import sha256_of, write_manifest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=TextCorpus.model_validate_json)
    parser.add_argument("--sources", required=True, type=Path, help="sources.json")
    parser.add_argument("--output", required=True, type=Path, help="folder of the text")
    parser.add_argument("--report", required=True, type=Path, help="counts, as JSON")
    arguments = parser.parse_args()
    corpus = arguments.corpus
    sources = Sources.read(arguments.sources)
    sources.check_files(arguments.sources)
    report = prepare(corpus, sources, arguments.output)
    digests = {
        f"{split}.{side}": sha256_of(arguments.output / f"{split}.{side}")
        for split in report["splits"]
        for side in corpus.languages
    }
    write_manifest(
        arguments.report,
        step="prepare",
        inputs={"sources": arguments.sources},
        corpus=corpus.name,
        filters=corpus.filters.model_dump(mode="json"),
        sha256=digests,
        **report,
    )


if __name__ == "__main__":
    main()
