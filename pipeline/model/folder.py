"""The folder of a model that can be used and copied anywhere: weights, sizes, subwords, origin.

model.safetensors   weights by the names of `Transformer`, the shared embedding once
config.json         kind, languages, sizes, vocabulary size, how it decodes, sha256 of the subwords
subwords.model      the subword model; for parsing symbols.json beside it
card.json           where it comes from: run, corpus, checkpoints averaged, commit
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from pipeline.config.problems import at, problems
from pipeline.config.schema import Closed, DecodingConfig, ModelConfig, VocabSize
from pipeline.encoded import PAD_ID
from pipeline.files import atomic_folder, read_json, sha256_of, write_json
from pipeline.model.transformer import Transformer

FORMAT = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"
FACTS = ("run", "experiment", "scale", "seed", "n_average", "checkpoint_steps")
SUBWORD_FILES = ("subwords.model", "symbols.json", "subwords.json")
MEANING = SUBWORD_FILES[:2]  # of a token's id


class _Stated(Closed):
    """config.json. subwords: the sha256 of each file; folders of earlier versions have none."""

    format: Literal[1]
    kind: Literal["translation", "parsing"]
    languages: Annotated[tuple[str, str], Field(strict=False)]
    tags: str | None = None
    vocab_size: VocabSize
    subwords: dict[str, str] = Field(default_factory=dict)
    model: ModelConfig
    decoding: DecodingConfig


@dataclass(frozen=True)
class ModelFolder:
    """What a model folder says, without its weights; `load` reads those."""

    path: Path
    kind: Literal["translation", "parsing"]
    languages: tuple[str, str]
    model: ModelConfig
    decoding: DecodingConfig
    vocab_size: int
    tags: str | None
    card: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> "ModelFolder":
        """Raises ValueError where the folder is missing, incomplete, damaged, of another format, or
        its subwords are not those that the model was trained with."""
        path = Path(path)
        missing = [
            name for name in (CONFIG, WEIGHTS, SUBWORD_FILES[0]) if not (path / name).exists()
        ]
        if missing:
            raise ValueError(f"not a model folder, {', '.join(missing)} missing: {path}")
        config = read_json(path / CONFIG)
        try:
            stated = _Stated.model_validate(config)
        except ValidationError as error:
            raise ValueError(
                f"{path / CONFIG}: {at(*next(problems(_Stated, config, error)))}"
            ) from None
        for name, digest in stated.subwords.items():
            if not (path / name).exists() or sha256_of(path / name) != digest:
                raise ValueError(
                    f"{path / name}: not the file that the model was trained with; copy it from "
                    f"where the model was made: sha256 must be {digest}"
                )
        return cls(
            path=path,
            kind=stated.kind,
            languages=stated.languages,
            model=stated.model,
            decoding=stated.decoding,
            vocab_size=stated.vocab_size,
            tags=stated.tags,
            card=read_json(path / CARD) if (path / CARD).exists() else {},
        )

    def facts(self) -> dict[str, Any]:
        """What every figure made with the model says about it."""
        return {fact: self.card.get(fact) for fact in FACTS}

    def load(self, *, device: str | torch.device = "cpu") -> Transformer:
        """The model with its weights, in evaluation mode.

        Raises ValueError where the weights don't fit the sizes in config.json.
        """
        try:
            weights = load_file(self.path / WEIGHTS, device=str(device))
        except SafetensorError as error:
            raise ValueError(f"{self.path / WEIGHTS} is damaged, copy it again: {error}") from None
        with torch.device("meta"):
            model = Transformer(self.model, vocab_size=self.vocab_size, pad_id=PAD_ID)
        if model.positions.kind == "sinusoidal":  # a buffer that no file holds; it grows as needed
            model.positions.table = torch.empty(0, self.model.d_model, device=device)
        try:
            model.load_state_dict(weights, assign=True)
        except RuntimeError as error:  # a heading, then a line for every tensor
            first = str(error).split("\n")[:2][-1].strip()[:160]
            raise ValueError(f"{self.path / WEIGHTS} does not fit {CONFIG}: {first}") from None
        return model.eval().requires_grad_(False)


def save_model(
    path: str | Path,
    *,
    weights: Mapping[str, Tensor],
    kind: str,
    languages: tuple[str, str],
    model: ModelConfig,
    decoding: DecodingConfig,
    vocab_size: int,
    subwords: str | Path,
    card: Mapping[str, Any],
    tags: str | None = None,
) -> None:
    """Write a model folder; it appears whole or not at all, in place of one that was there.

    subwords: the corpus's folder of subwords.model (and symbols.json). tags: for parsing, how
    trees were linearised ("keep", "drop" or "words").
    """
    path, subwords = Path(path), Path(subwords)
    with atomic_folder(path) as folder:
        whole = {name: tensor.detach().contiguous() for name, tensor in weights.items()}
        save_file(whole, folder / WEIGHTS)
        for name in SUBWORD_FILES:
            if (subwords / name).exists():
                shutil.copyfile(subwords / name, folder / name)
        write_json(
            folder / CONFIG,
            {
                "format": FORMAT,
                "kind": kind,
                "languages": list(languages),
                "tags": tags,
                "vocab_size": vocab_size,
                "subwords": {
                    name: sha256_of(folder / name) for name in MEANING if (folder / name).exists()
                },
                "model": model.model_dump(mode="json"),
                "decoding": decoding.model_dump(mode="json"),
            },
        )
        write_json(folder / CARD, dict(card))
        if path.exists():
            shutil.rmtree(path)
