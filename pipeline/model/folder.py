"""The folder of a model that can be used and copied anywhere: weights, sizes, subwords, origin.

model.safetensors   weights by the names of `Transformer`, the shared embedding once
config.json         kind, languages, sizes, vocabulary size, how it decodes
subwords.model      the subword model; for parsing symbols.json beside it
card.json           where it comes from: run, corpus, checkpoints averaged, commit
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from pipeline.config.schema import DecodingConfig, ModelConfig
from pipeline.encoded import PAD_ID
from pipeline.files import read_json, write_json
from pipeline.model.transformer import Transformer

FORMAT = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"
FACTS = ("run", "experiment", "scale", "seed", "n_average", "checkpoint_steps")
SUBWORD_FILES = ("subwords.model", "symbols.json", "subwords.json")


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
        """Raises ValueError where the folder is missing, incomplete or of another format."""
        path = Path(path)
        missing = [
            name for name in (CONFIG, WEIGHTS, SUBWORD_FILES[0]) if not (path / name).exists()
        ]
        if missing:
            raise ValueError(f"not a model folder, {', '.join(missing)} missing: {path}")
        config = read_json(path / CONFIG)
        if config.get("format") != FORMAT:
            raise ValueError(f"{path / CONFIG}: format must be {FORMAT}: {config.get('format')}")
        try:
            return cls(
                path=path,
                kind=config["kind"],
                languages=tuple(config["languages"]),
                model=ModelConfig.model_validate(config["model"]),
                decoding=DecodingConfig.model_validate(config["decoding"]),
                vocab_size=config["vocab_size"],
                tags=config.get("tags"),
                card=read_json(path / CARD) if (path / CARD).exists() else {},
            )
        except (KeyError, ValidationError) as error:
            raise ValueError(f"{path / CONFIG}: {error}") from None

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
        except RuntimeError as error:
            raise ValueError(f"{self.path / WEIGHTS} does not fit {CONFIG}: {error}") from None
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
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial"))
    try:
        whole = {name: tensor.detach().contiguous() for name, tensor in weights.items()}
        save_file(whole, temporary / WEIGHTS)
        for name in SUBWORD_FILES:
            if (subwords / name).exists():
                shutil.copyfile(subwords / name, temporary / name)
        write_json(
            temporary / CONFIG,
            {
                "format": FORMAT,
                "kind": kind,
                "languages": list(languages),
                "tags": tags,
                "vocab_size": vocab_size,
                "model": model.model_dump(mode="json"),
                "decoding": decoding.model_dump(mode="json"),
            },
        )
        write_json(temporary / CARD, dict(card))
        temporary.chmod(0o755)
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
