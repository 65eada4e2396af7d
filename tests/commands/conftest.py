import pytest
import torch

from pipeline.config.corpus import Subwords
from pipeline.config.schema import DecodingConfig, ModelConfig
from pipeline.encoded import PAD_ID
from pipeline.model.folder import save_model
from pipeline.model.transformer import Transformer
from pipeline.subwords.learn import learn


@pytest.fixture(scope="session")
def toy_model_folder(tmp_path_factory):
    """A translation model that nobody trained."""
    folder = tmp_path_factory.mktemp("toy")
    text = ["the red fox saw a big dog", "a dog ran to the red house", "big house and small fox"]
    subwords = Subwords(model_type="bpe", vocab_size=300, max_sentences=100, seed=1)
    pieces = learn(text * 3, n_pieces=300, subwords=subwords, corpus="toy")
    (folder / "subwords.model").write_bytes(pieces)
    config = ModelConfig(
        n_layers=1, d_model=16, d_ff=32, n_heads=2, d_k=8, d_v=8, dropout=0.0,
        attention_dropout=0.0, positions="sinusoidal", max_positions=64, causal=True,
    )  # fmt: skip
    torch.manual_seed(0)
    model = Transformer(config, vocab_size=300, pad_id=PAD_ID)
    save_model(
        folder / "model",
        weights=model.state_dict(),
        kind="translation",
        languages=("en", "de"),
        model=config,
        decoding=DecodingConfig(
            n_average=1, beam_size=3, length_penalty=0.6, max_extra_tokens=4, constrained=False
        ),
        vocab_size=300,
        subwords=folder,
        card={"run": "toy-seed1"},
    )
    return folder / "model"
