"""Average a run's last checkpoints into a model folder that can be used anywhere."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.bounds import MOST_CHECKPOINTS, whole
from pipeline.config.corpus import Sides
from pipeline.config.schema import PAPER_DECODING, ModelConfig
from pipeline.files import commit, read_json
from pipeline.model.folder import save_model
from pipeline.training.averaging import average, last_checkpoints

FACTS = ("run", "experiment", "scale", "seed", "corpus", "fingerprint", "max_steps", "training")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.average", description=__doc__)
    parser.add_argument("--train", type=Path, required=True, help="train.json")
    parser.add_argument("--n-average", type=whole(1, MOST_CHECKPOINTS), required=True)
    parser.add_argument("--subwords", type=Path, required=True, help="folder")
    parser.add_argument("--corpus", required=True, help="Sides of the corpus, JSON")
    parser.add_argument("--output", type=Path, required=True, help="model folder")
    options = parser.parse_args(arguments)

    train = read_json(options.train)
    corpus = Sides.model_validate_json(options.corpus)
    chosen = last_checkpoints(train, options.n_average)
    save_model(
        options.output,
        weights=average([Path(checkpoint["path"]) for checkpoint in chosen]),
        kind=corpus.kind,
        languages=corpus.languages,
        model=ModelConfig.model_validate(train["model"]),
        decoding=PAPER_DECODING[corpus.kind],
        vocab_size=train["vocab_size"],
        subwords=options.subwords,
        tags=corpus.tags,
        card={
            **{fact: train[fact] for fact in FACTS},
            "n_average": options.n_average,
            "checkpoint_steps": [checkpoint["step"] for checkpoint in chosen],
            "trained_by": train["commit"],
            "commit": commit(),
        },
    )


if __name__ == "__main__":
    main()
