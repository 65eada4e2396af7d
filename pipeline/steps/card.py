"""Rule card: what is in a corpus, on one page, with a plot of its lengths."""

import argparse
from pathlib import Path

from pipeline.config.corpus import CorpusConfig
from pipeline.corpora.baselines import copy_source, nearest_sentence
from pipeline.corpora.card import card_facts
from pipeline.evaluation.bleu import translation_metrics
from pipeline.files import atomic_open, read_lines, write_manifest
from pipeline.results.card import length_figure, markdown
from pipeline.results.figure_style import save, style


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=CorpusConfig.model_validate_json)
    parser.add_argument("--sources", required=True, type=Path, help="sources.json")
    parser.add_argument("--text", required=True, type=Path, help="folder of the prepared text")
    parser.add_argument("--report", required=True, type=Path, help="prepare.json")
    parser.add_argument("--subwords", required=True, type=Path, help="folder of the vocabulary")
    parser.add_argument("--encoded", required=True, type=Path, help="folder of the arrays")
    parser.add_argument("--output", required=True, type=Path, help="folder of card.md and the rest")
    arguments = vars(parser.parse_args())
    corpus, output = arguments.pop("corpus"), arguments.pop("output")
    facts = card_facts(sides=corpus.languages, **arguments)
    if corpus.kind == "translation" and corpus.source.kind == "grammar":
        facts["baselines"] = baselines(arguments["text"], corpus.languages)
    with style():
        save(length_figure(facts), output)
    with atomic_open(output / "card.md") as stream:
        stream.write(markdown(facts, title=corpus.title).encode("utf-8"))
    write_manifest(
        output / "card.json",
        step="card",
        inputs={"report": arguments["report"], "encoded": arguments["encoded"] / "encode.json"},
        **facts,
    )


def baselines(text: Path, sides: tuple[str, str]) -> dict[str, dict[str, dict]]:
    """Scores on test of copying the source and of the nearest training sentence's target."""
    train, test = ([read_lines(text / f"{split}.{side}") for side in sides]
                   for split in ("train", "test"))  # fmt: skip
    nearest = nearest_sentence(test[0], train_sources=train[0], train_targets=train[1])
    systems = {"source copied": copy_source(test[0]), "nearest training sentence": nearest}
    return {
        name: {
            key: {"score": metric.corpus_score(lines, [test[1]]).score,
                  "signature": str(metric.get_signature())}
            for key, metric in translation_metrics("-".join(sides)).items()
        }
        for name, lines in systems.items()
    }  # fmt: skip


if __name__ == "__main__":
    main()
