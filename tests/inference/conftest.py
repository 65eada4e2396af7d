"""Small models: with random weights, and one that has learnt to reverse its input."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from pipeline.config.corpus import Subwords
from pipeline.config.schema import DecodingConfig, ModelConfig
from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID
from pipeline.inference.network import Network
from pipeline.model.folder import ModelFolder, save_model
from pipeline.model.transformer import Transformer
from pipeline.subwords.learn import learn

TINY = {
    "n_layers": 2, "d_model": 16, "d_ff": 24, "n_heads": 2, "d_k": 6, "d_v": 10, "dropout": 0.1,
    "attention_dropout": 0.0, "positions": "sinusoidal", "max_positions": 64, "causal": True,
}  # fmt: skip


def ids(*tokens: int) -> Tensor:
    return torch.tensor([*tokens, EOS_ID])


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Transformer]:
    """A model with random weights of some variety, so that its choices are not all alike."""

    def make(seed: int, *, vocab_size: int, spread: float = 3.0, **changes) -> Transformer:
        torch.manual_seed(seed)
        config = ModelConfig(**{**TINY, **changes})
        model = Transformer(config, vocab_size=vocab_size, pad_id=PAD_ID).eval()
        with torch.no_grad():
            model.embedding.weight.mul_(spread / 2)
            for name, parameter in model.named_parameters():
                if name.endswith(("bias", "norm.weight")):
                    parameter.add_(0.2 * torch.randn_like(parameter))
        return model.requires_grad_(False)

    return make


@pytest.fixture(scope="session")
def reverser() -> Transformer:
    """Trained for some hundred steps to write pieces 260 to 279 backwards, right half the time.

    Its vocabulary is that of `toy_folder`: 4 special pieces, 256 of bytes, 40 of text.
    """
    torch.manual_seed(1)
    config = ModelConfig(
        **{**TINY, "d_model": 32, "d_ff": 64, "d_k": 16, "d_v": 16, "dropout": 0.0}
    )
    model = Transformer(config, vocab_size=300, pad_id=PAD_ID).train()
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(300):
        length = int(torch.randint(1, 8, ()))
        words = torch.randint(260, 280, (32, length))
        src = torch.cat([words, torch.full((32, 1), EOS_ID)], dim=1)
        tgt = torch.cat([words.flip(1), torch.full((32, 1), EOS_ID)], dim=1)
        shifted = torch.cat([torch.full((32, 1), BOS_ID), tgt[:, :-1]], dim=1)
        logits = model.logits(model(src, shifted))
        loss = torch.nn.functional.cross_entropy(logits, tgt.flatten(), label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="session")
def forced() -> Callable[[Transformer, Tensor, Sequence[int]], float]:
    """log P of tokens (and eos after them) by the model's own forward pass."""

    def score(model: Transformer, source: Tensor, tokens: Sequence[int]) -> float:
        shifted = torch.tensor([[BOS_ID, *tokens]])
        logits = model.logits(model(source[None], shifted)).double()
        return logits.log_softmax(-1).gather(1, ids(*tokens)[:, None]).sum().item()

    return score


@pytest.fixture(scope="session")
def network(reverser) -> Network:
    return Network(reverser)


@pytest.fixture(scope="session")
def toy_folder(reverser, tmp_path_factory) -> ModelFolder:
    """The reverser as a model folder, with a subword model of its size."""
    folder = tmp_path_factory.mktemp("reverser")
    text = ["the red fox saw a big dog", "a dog ran to the red house", "big house and small fox"]
    subwords = Subwords(model_type="bpe", vocab_size=300, max_sentences=100, seed=1)
    pieces = learn(text * 3, n_pieces=300, subwords=subwords, corpus="toy")
    (folder / "subwords.model").write_bytes(pieces)
    save_model(
        folder / "model",
        weights=reverser.state_dict(),
        kind="translation",
        languages=("en", "de"),
        model=reverser.config,
        decoding=DecodingConfig(
            n_average=1, beam_size=3, length_penalty=0.6, max_extra_tokens=10, constrained=False
        ),
        vocab_size=300,
        subwords=folder,
        card={"run": "reverser-seed1", "n_average": 1, "checkpoint_steps": [300]},
    )
    return ModelFolder.open(folder / "model")
