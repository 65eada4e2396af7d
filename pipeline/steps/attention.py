"""Attention weights of an encoder layer for one sentence: attention.json for the figures."""

import argparse
from collections.abc import Sequence

import torch

from pipeline.config.bounds import MOST_LAYERS, whole
from pipeline.encoded import EOS_ID
from pipeline.files import commit, write_json
from pipeline.inference.attention_maps import encoder_attention
from pipeline.inference.network import Network
from pipeline.inference.translator import vocabulary_of
from pipeline.model.folder import ModelFolder


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m pipeline.steps.attention", description=__doc__)
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--sentence", required=True, help="source text")
    parser.add_argument(
        "--layer",
        type=whole(1, MOST_LAYERS),
        help="from 1; default the last but one, as the paper's",
    )
    parser.add_argument("--name", default="attention", help="of the figures")
    parser.add_argument("--output", required=True, help="attention.json")
    options = parser.parse_args(arguments)

    if not options.sentence.strip():
        raise ValueError("a blank sentence has no attention to show; give --sentence some text")
    folder = ModelFolder.open(options.model)
    layer = options.layer or max(1, folder.model.n_layers - 1)
    vocabulary = vocabulary_of(folder)
    pieces = vocabulary.pieces
    source = torch.tensor([*vocabulary.encode(options.sentence), EOS_ID])
    heads = encoder_attention(Network(folder.load()), source, layer=layer)
    write_json(
        options.output,
        {
            "name": options.name,
            "run": folder.card.get("run"),
            "sentence": options.sentence,
            "layer": layer,
            "pieces": [pieces[index] for index in source.tolist()],
            "heads": [[[round(w, 6) for w in row] for row in head] for head in heads.tolist()],
            "commit": commit(),
        },
    )


if __name__ == "__main__":
    main()
