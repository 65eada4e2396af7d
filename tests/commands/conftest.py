import pytest
import torch

from pipeline.config.corpus import Subwords
from pipeline.config.schema import DecodingConfig, ModelConfig
from pipeline.corpora.linearise import symbol_inventory
from pipeline.corpora.trees import parse_tree
from pipeline.encoded import PAD_ID
from pipeline.files import write_json
from pipeline.model.folder import save_model
from pipeline.model.transformer import Transformer
from pipeline.subwords.learn import learn

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))",
    "(S (NP (NN x)) (VP (VBZ is) (ADJP (JJ big))))",
]


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


def _untrained(folder, favourite: str | None = None, tags: str = "keep"):
    """A model folder of random weights; they may prefer one symbol to all others by far."""
    text = ["the dog barks .", "x is big", "a big dog is the dog"]
    subwords = Subwords(model_type="bpe", vocab_size=400, max_sentences=100, seed=1)
    pieces = learn(text, n_pieces=290, subwords=subwords, corpus="toy")
    (folder / "subwords").mkdir()
    (folder / "subwords/subwords.model").write_bytes(pieces)
    symbols = symbol_inventory(map(parse_tree, TREES), tags=tags)
    write_json(folder / "subwords/symbols.json", symbols)
    config = ModelConfig(
        n_layers=1, d_model=16, d_ff=32, n_heads=2, d_k=8, d_v=8, dropout=0.0,
        attention_dropout=0.0, positions="sinusoidal", max_positions=64, causal=True,
    )  # fmt: skip
    torch.manual_seed(0)
    model = Transformer(config, vocab_size=290 + len(symbols), pad_id=PAD_ID)
    if favourite:  # the last bias brings every state towards its embedding
        with torch.no_grad():
            model.embedding.weight[290 + symbols.index(favourite)] += 2.0
            model.decoder[-1].feed_forward_residual.norm.bias += 1.0
    save_model(
        folder / "model",
        weights=dict(model.state_dict()),
        kind="parsing",
        languages=("words", "trees"),
        model=config,
        decoding=DecodingConfig(
            n_average=1, beam_size=3, length_penalty=0.3, max_extra_tokens=20, constrained=True
        ),
        vocab_size=290 + len(symbols),
        subwords=folder / "subwords",
        card={},
        tags=tags,
    )
    return folder / "model"


@pytest.fixture(scope="session")
def untrained_parser():
    """Makes a parser that nobody trained: (folder, favourite symbol, tags) -> model folder."""
    return _untrained


@pytest.fixture(scope="session")
def parser(tmp_path_factory):
    return _untrained(tmp_path_factory.mktemp("parser"))
