from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.batching.buckets import write_buckets
from pipeline.config.schema import ModelConfig, TrainingConfig
from pipeline.encoded import EncodedSplit, token_dtype, write_array
from pipeline.files import write_json
from pipeline.training import ranks

VOCABULARY = 60
MODEL = ModelConfig(
    n_layers=2,
    d_model=16,
    d_ff=32,
    n_heads=2,
    d_k=8,
    d_v=8,
    dropout=0.1,
    attention_dropout=0.1,
    positions="sinusoidal",
    max_positions=64,
    causal=True,
)
TRAINING = TrainingConfig(
    max_steps=20,
    warmup_steps=10,
    learning_rate_scale=1.0,
    adam_betas=(0.9, 0.98),
    adam_eps=1e-9,
    label_smoothing=0.1,
    tokens_per_step=400,
    precision="fp32",
    clip_norm=None,
    checkpoint_interval_steps=5,
    dev_interval_steps=10,
)


def write_split(folder: Path, *, pairs: int, seed: int) -> None:
    """Targets are the source read backwards, one higher; lengths are very unequal."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(np.exp(rng.normal(2.0, 0.9, pairs)).astype(np.int64), 1, 60)
    offsets = np.concatenate([[0], np.cumsum(lengths + 1)])
    tokens = rng.integers(4, VOCABULARY - 1, size=offsets[-1])
    tgt = tokens.copy()
    for start, end in pairwise(offsets):
        tokens[end - 1] = 2
        tgt[start : end - 1] = tokens[start : end - 1][::-1] + 1
        tgt[end - 1] = 2
    for side, ids in (("src", tokens), ("tgt", tgt)):
        write_array(folder / f"{side}_tokens.npy", ids.astype(token_dtype(VOCABULARY)))
        write_array(folder / f"{side}_offsets.npy", offsets)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    """A folder with encoded/ and buckets/ of a small corpus."""
    root = tmp_path_factory.mktemp("corpus")
    write_split(root / "encoded" / "train", pairs=600, seed=1)
    write_split(root / "encoded" / "dev", pairs=50, seed=2)
    splits = {"train": {}, "dev": {}}
    write_json(root / "encoded" / "encode.json", {"vocab_size": VOCABULARY, "splits": splits})
    split = EncodedSplit.open(root / "encoded" / "train")
    write_buckets(root / "buckets", lambda: [(split.src_lengths(), split.tgt_lengths())])
    return root


@pytest.fixture(scope="session")
def rank():
    """This process as the only rank; of the session, since DeepSpeed joins a process but once."""
    torch.set_num_threads(1)
    joined = ranks.join("cpu")
    yield joined
    ranks.leave()


@pytest.fixture(scope="session")
def vocab_size() -> int:
    return VOCABULARY


@pytest.fixture(scope="session")
def model():
    return lambda **changes: MODEL.model_copy(update=changes)


@pytest.fixture(scope="session")
def training():
    return lambda **changes: TRAINING.model_copy(update=changes)


@pytest.fixture(scope="session")
def arguments(corpus, model, training):
    """Of the step train, its results in a folder: arguments(tmp_path, max_tokens=500)."""

    def make(root: Path, *, model_changes=None, training_changes=None, **options) -> list[str]:
        defaults = {
            "encoded": corpus / "encoded",
            "buckets": corpus / "buckets",
            "model": model(**(model_changes or {})).model_dump_json(),
            "training": training(**(training_changes or {})).model_dump_json(),
            "seed": 7,
            "run": "base-seed7",
            "experiment": "base",
            "scale": "demo",
            "corpus": "tiny",
            "keep": 3,
            "max_tokens": 1000,
            "device": "cpu",
            "checkpoints": root / "checkpoints",
            "output": root / "train.json",
        }
        texts = []
        for name, value in (defaults | options).items():
            texts += [f"--{name.replace('_', '-')}", str(value)]
        return texts

    return make
