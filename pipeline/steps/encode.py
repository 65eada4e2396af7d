"""Rule encode: the text of each split to arrays of token ids."""

import argparse
import os
from functools import partial
from pathlib import Path

from pipeline.config.bounds import MOST_RANKS, whole
from pipeline.config.corpus import Sides
from pipeline.corpora.symbols import line_symbols
from pipeline.files import read_json, write_manifest
from pipeline.subwords.encode import Encoder, encode_corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=Sides.model_validate_json)
    parser.add_argument("--text", required=True, type=Path, help="folder of the prepared text")
    parser.add_argument("--subwords", required=True, type=Path, help="folder of the vocabulary")
    parser.add_argument("--output", required=True, type=Path, help="folder of the arrays")
    parser.add_argument("--threads", type=whole(1, MOST_RANKS), default=os.cpu_count())
    arguments = parser.parse_args()
    corpus = arguments.corpus
    symbols_of = None
    if corpus.kind == "parsing":
        known = frozenset(read_json(arguments.subwords / "symbols.json"))
        symbols_of = partial(line_symbols, tags=corpus.tags, known=known)
    facts = encode_corpus(
        arguments.text,
        arguments.output,
        sides=corpus.languages,
        encoder=Encoder(str(arguments.subwords), symbols_of, corpus.tags == "words"),
        threads=arguments.threads,
    )
    write_manifest(
        arguments.output / "encode.json",
        step="encode",
        inputs={"subwords": arguments.subwords / "subwords.model"},
        corpus=corpus.name,
        **facts,
    )


if __name__ == "__main__":
    main()
