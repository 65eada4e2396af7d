"""Exported models against the packages that read them: the same translations and scores."""

import numpy as np
import pytest
import torch

from pipeline.config.schema import ModelConfig
from pipeline.encoded import EOS_ID
from pipeline.files import read_json
from pipeline.inference.beam import beam_search
from pipeline.inference.export import export_ctranslate2, export_marian
from pipeline.inference.network import Network
from pipeline.model.folder import ModelFolder, save_model
from pipeline.model.transformer import Transformer

EXTRA = 12


@pytest.fixture(scope="module")
def sources():
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 8, 40)
    return [torch.tensor([*generator.integers(260, 280, n), EOS_ID]) for n in lengths]


def search(model, sources, beam_size):
    found = beam_search(
        Network(model), sources, beam_size=beam_size, length_penalty=0.0, max_extra_tokens=EXTRA
    )
    return [hypotheses[0] for hypotheses in found]


def narrow_heads(reverser):
    """A model whose heads are narrower than d_model / n_heads, as in rows B of Table 3."""
    config = ModelConfig(**{**reverser.config.model_dump(), "d_k": 5, "d_v": 9})
    torch.manual_seed(3)
    model = Transformer(config, vocab_size=300, pad_id=0).eval().requires_grad_(False)
    for name, weight in reverser.state_dict().items():
        if model.state_dict()[name].shape == weight.shape:
            model.state_dict()[name].copy_(weight)
    return model


def folder_with(model, toy_folder, path, **changes) -> ModelFolder:
    facts = {
        "kind": "translation", "languages": ("en", "de"), "decoding": toy_folder.decoding,
        "vocab_size": 300, "subwords": toy_folder.path, "card": {}, "model": model.config,
    }  # fmt: skip
    save_model(path, weights=model.state_dict(), **{**facts, **changes})
    return ModelFolder.open(path)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_equals_hugging_face_generate(toy_folder, reverser, sources, tmp_path, beam_size):
    transformers = pytest.importorskip("transformers")
    export_marian(toy_folder, tmp_path)
    model = transformers.MarianMTModel.from_pretrained(tmp_path).eval()
    compared = 0
    for source, ours in zip(sources, search(reverser, sources, beam_size), strict=True):
        if len(ours.tokens) + 1 == len(source) + EXTRA:
            continue  # there the two end by different rules
        compared += 1
        theirs = model.generate(
            input_ids=source[None],
            num_beams=beam_size,
            length_penalty=0.0,
            max_length=len(source) + EXTRA + 1,
            return_dict_in_generate=True,
            output_scores=True,
        )
        assert theirs.sequences[0, 1:].tolist() == [*ours.tokens, EOS_ID]
        if beam_size > 1:
            assert theirs.sequences_scores.item() == pytest.approx(ours.log_prob, abs=1e-4)
    assert compared > 30


def test_marian_tokenizer_and_text(toy_folder, tmp_path):
    transformers = pytest.importorskip("transformers")
    export_marian(toy_folder, tmp_path)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path)
    assert tokenizer("the red fox")["input_ids"] == [280, 279, 277, EOS_ID]
    assert tokenizer.decode([277, 280, EOS_ID], skip_special_tokens=True) == "fox the"


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_equals_ctranslate2(toy_folder, reverser, sources, tmp_path, beam_size, narrow):
    ctranslate2 = pytest.importorskip("ctranslate2")
    model = narrow_heads(reverser) if narrow else reverser
    folder = folder_with(model, toy_folder, tmp_path / "model")
    export_ctranslate2(folder, tmp_path / "ct2")
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), intra_threads=1)
    pieces = read_json(tmp_path / "ct2" / "shared_vocabulary.json")
    compared = 0
    for source, ours in zip(sources, search(model, sources, beam_size), strict=True):
        if len(ours.tokens) + 1 == len(source) + EXTRA:
            continue
        compared += 1
        theirs = translator.translate_batch(
            [[pieces[i] for i in source[:-1]]],
            beam_size=beam_size,
            length_penalty=0.0,
            min_decoding_length=0,
            max_decoding_length=len(source) + EXTRA,
            return_scores=True,
        )[0]
        assert theirs.hypotheses[0] == [pieces[i] for i in ours.tokens]
        assert theirs.scores[0] == pytest.approx(ours.log_prob, abs=1e-3)
    assert compared > (5 if narrow else 30)


def test_what_a_format_lacks_is_refused(make_model, toy_folder, tmp_path):
    learned = folder_with(
        make_model(0, vocab_size=300, positions="learned"), toy_folder, tmp_path / "learned"
    )
    with pytest.raises(ValueError, match="positions"):
        export_marian(learned, tmp_path / "a")
    wide = folder_with(make_model(0, vocab_size=300, d_k=12), toy_folder, tmp_path / "wide")
    with pytest.raises(ValueError, match="d_k 12"):
        export_marian(wide, tmp_path / "b")
    parser = folder_with(
        make_model(0, vocab_size=300), toy_folder, tmp_path / "parser", kind="parsing",
        languages=("words", "trees"),
    )  # fmt: skip
    with pytest.raises(ValueError, match="translation"):
        export_marian(parser, tmp_path / "c")
