"""Rule learn_subwords: the joint vocabulary of a corpus, from its training text."""

import argparse
from pathlib import Path

from pipeline.config.corpus import SubwordCorpus
from pipeline.corpora.symbols import file_inventory
from pipeline.files import atomic_open, write_json, write_manifest
from pipeline.subwords.learn import learn, sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=SubwordCorpus.model_validate_json)
    parser.add_argument("--text", required=True, type=Path, help="folder of the prepared text")
    parser.add_argument("--output", required=True, type=Path, help="folder of the vocabulary")
    arguments = parser.parse_args()
    corpus, output = arguments.corpus, arguments.output
    texts = [arguments.text / f"train.{side}" for side in corpus.languages]
    symbols: list[str] = []
    if corpus.kind == "parsing":
        symbols = file_inventory(texts.pop(), tags=corpus.tags)
        write_json(output / "symbols.json", symbols)
    counts: dict[str, int] = {}
    n_pieces = corpus.subwords.vocab_size - len(symbols)
    lines = sample(texts, subwords=corpus.subwords, counts=counts)
    model = learn(lines, n_pieces=n_pieces, subwords=corpus.subwords, corpus=corpus.name)
    with atomic_open(output / "subwords.model") as stream:
        stream.write(model)
    write_manifest(
        output / "subwords.json",
        step="learn_subwords",
        inputs={text.name: text for text in texts} | {"model": output / "subwords.model"},
        corpus=corpus.name,
        subwords=corpus.subwords.model_dump(mode="json"),
        vocab_size=corpus.subwords.vocab_size,
        n_pieces=n_pieces,
        n_symbols=len(symbols),
        lines=counts,
    )


if __name__ == "__main__":
    main()
