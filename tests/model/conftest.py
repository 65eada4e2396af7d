import numpy as np
import pytest
import torch

from pipeline.config.schema import ModelConfig

SMALL = {
    "n_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "n_heads": 3,
    "d_k": 4,
    "d_v": 6,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "positions": "sinusoidal",
    "max_positions": 64,
    "causal": True,
}


@pytest.fixture
def small():
    """Sizes of a small model, any of them changed: small(d_k=8)."""

    def make(**changes):
        return ModelConfig(**(SMALL | changes))

    return make


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def pairs():
    """Seven (src, tgt) id lists of very different lengths, each ending in eos."""
    rng = np.random.default_rng(5)
    lengths = [(1, 1), (3, 9), (17, 2), (5, 5), (16, 16), (2, 31), (33, 14)]
    return [tuple([*rng.integers(4, 40, size=n - 1).tolist(), 2] for n in both) for both in lengths]


@pytest.fixture
def grids():
    """Pairs as the model's (src_BS, tgt_BT, targets_N)."""

    def make(pairs):
        pad = torch.nn.utils.rnn.pad_sequence
        src, tgt = ([torch.tensor(p[i]) for p in pairs] for i in (0, 1))
        begun = [torch.cat([torch.tensor([1]), t[:-1]]) for t in tgt]
        return pad(src, batch_first=True), pad(begun, batch_first=True), torch.cat(tgt)

    return make
