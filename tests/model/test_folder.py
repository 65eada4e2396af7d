import os
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from pipeline.config.schema import DecodingConfig, ModelConfig
from pipeline.encoded import PAD_ID
from pipeline.files import read_json, write_json
from pipeline.model.folder import ModelFolder, save_model
from pipeline.model.transformer import Transformer

DECODING = DecodingConfig(
    n_average=5, beam_size=4, length_penalty=0.6, max_extra_tokens=50, constrained=False
)


@pytest.fixture(params=["sinusoidal", "learned", "none"])
def model(request):
    config = ModelConfig(
        n_layers=1, d_model=8, d_ff=16, n_heads=2, d_k=4, d_v=4, dropout=0.1,
        attention_dropout=0.0, positions=request.param, max_positions=32, causal=True,
    )  # fmt: skip
    return Transformer(config, vocab_size=20, pad_id=PAD_ID).eval()


@pytest.fixture
def saved(model, tmp_path):
    (tmp_path / "subwords").mkdir()
    (tmp_path / "subwords" / "subwords.model").write_bytes(b"pieces")
    save(tmp_path / "model", model, tmp_path / "subwords")
    return tmp_path / "model"


def save(path, model, subwords):
    save_model(
        path,
        weights=model.state_dict(),
        kind="translation",
        languages=("en", "de"),
        model=model.config,
        decoding=DECODING,
        vocab_size=20,
        subwords=subwords,
        card={"run": "base-seed1"},
    )


def test_a_folder_copied_elsewhere_gives_the_same_model(model, saved, tmp_path):
    elsewhere = shutil.copytree(saved, tmp_path / "copy" / "of it")
    shutil.rmtree(saved)
    shutil.rmtree(tmp_path / "subwords")
    folder = ModelFolder.open(elsewhere)
    assert (folder.kind, folder.languages, folder.decoding) == (
        "translation", ("en", "de"), DECODING,
    )  # fmt: skip
    assert folder.card["run"] == "base-seed1"
    loaded = folder.load()
    assert not loaded.training
    src, tgt = torch.tensor([[4, 5, 2], [6, 2, 0]]), torch.tensor([[1, 7], [1, 8]])
    torch.testing.assert_close(loaded(src, tgt), model(src, tgt))


def test_saving_again_replaces_the_folder_and_leaves_nothing_beside_it(model, saved, tmp_path):
    (saved / "stray").write_text("from before")
    save(saved, model, tmp_path / "subwords")
    assert not (saved / "stray").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "subwords"]


def test_a_failed_save_leaves_the_old_folder(model, saved, tmp_path):
    before = (saved / "config.json").read_bytes()
    with pytest.raises(AttributeError):
        save_model(
            saved, weights=model.state_dict(), kind="translation", languages=("en", "de"),
            model=None, decoding=DECODING, vocab_size=20, subwords=tmp_path / "subwords", card={},
        )  # fmt: skip
    assert (saved / "config.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "subwords"]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "subwords.model"])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(ValueError, match=name):
        ModelFolder.open(saved)


def test_no_folder_at_all(tmp_path):
    with pytest.raises(ValueError, match="not a model folder"):
        ModelFolder.open(tmp_path / "nothing")


def test_damaged_weights_are_named(saved):
    whole = (saved / "model.safetensors").read_bytes()
    (saved / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        ModelFolder.open(saved).load()


def test_weights_of_another_model_are_one_line(saved):
    weights = load_file(saved / "model.safetensors")
    first = next(iter(weights))
    save_file(weights | {first: torch.zeros(3, 3)}, saved / "model.safetensors")
    with pytest.raises(
        ValueError, match=rf"does not fit config.json: .*{re.escape(first)}"
    ) as told:
        ModelFolder.open(saved).load()
    assert len(str(told.value).split("\n")) == 1


@pytest.mark.parametrize(
    ("key", "value"), [("format", 2), ("vocab_size", 21), ("model", {"n_layers": 1})]
)
def test_a_config_that_does_not_fit_is_named(saved, key, value):
    restate(saved, **{key: value})
    with pytest.raises(ValueError, match=r"config\.json"):
        ModelFolder.open(saved).load()


def restate(folder, **changes):
    """Change keys of config.json; None takes one away."""
    stated = {**read_json(folder / "config.json"), **changes}
    write_json(
        folder / "config.json", {key: value for key, value in stated.items() if value is not None}
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": {"n_heads": "eight"}}, "model.n_heads: must be a whole number: 'eight'"),
        ({"decoding": {"beam": 4}}, "decoding.beam: unknown key; did you mean beam_size?"),
        ({"vocab_size": None}, "vocab_size: is missing; state it"),
        ({"kind": "poetry"}, "kind: must be translation or parsing: 'poetry'"),
        ({"languages": ["en"]}, "languages.1: is missing; state it"),
        ({"format": 7, "new": 1}, "format: must be 1: 7"),
    ],
)
def test_a_wrong_key_is_named_in_one_line(saved, changes, said):
    config = read_json(saved / "config.json")
    restate(
        saved,
        **{k: {**config[k], **v} if isinstance(v, dict) else v for k, v in changes.items()},
    )
    with pytest.raises(ValueError, match=re.escape(f"{saved / 'config.json'}: {said}")) as caught:
        ModelFolder.open(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[1]", "", "\xff"])
def test_a_config_that_is_no_mapping_is_named(saved, text):
    (saved / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=re.escape(str(saved / "config.json"))):
        ModelFolder.open(saved)


@pytest.mark.parametrize("name", ["subwords.model", "symbols.json"])
def test_the_subwords_of_another_model_are_refused(model, tmp_path, name):
    """Of the same size, too: the ids would mean other pieces."""
    (tmp_path / "subwords").mkdir()
    for file in ("subwords.model", "symbols.json", "subwords.json"):
        (tmp_path / "subwords" / file).write_text('["(S"]')
    save(tmp_path / "model", model, tmp_path / "subwords")
    ModelFolder.open(tmp_path / "model")
    (tmp_path / "model" / "subwords.json").write_text("what learning says is no part of the model")
    ModelFolder.open(tmp_path / "model")
    (tmp_path / "model" / name).write_text('["(N"]')
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'model' / name}: not the file")):
        ModelFolder.open(tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(ValueError, match=name):
        ModelFolder.open(tmp_path / "model")


def test_a_folder_from_before_digests_is_taken(saved):
    restate(saved, subwords=None)
    (saved / "subwords.model").write_text("some other")
    assert ModelFolder.open(saved).vocab_size == 20


def test_others_may_read_what_was_saved(saved):
    mask = os.umask(0)
    os.umask(mask)
    assert {file.stat().st_mode & 0o777 for file in saved.iterdir()} == {0o666 & ~mask}
