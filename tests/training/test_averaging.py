import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from pipeline.config.corpus import Sides
from pipeline.config.loading import load_corpus
from pipeline.files import read_json, sha256_of, write_json
from pipeline.model.folder import ModelFolder
from pipeline.model.transformer import Transformer
from pipeline.steps.average import main
from pipeline.training.averaging import average, last_checkpoints


@pytest.fixture
def checkpoints(tmp_path):
    """Files of given weights: checkpoints([{"w": ...}, ...])."""

    def make(weights):
        paths = [tmp_path / f"{number}.safetensors" for number in range(len(weights))]
        for path, tensors in zip(paths, weights, strict=True):
            save_file(tensors, path)
        return paths

    return make


@given(seed=st.integers(0, 1000), n=st.integers(1, 20), exponent=st.integers(-30, 30))
@settings(max_examples=20, deadline=None)
def test_equal_checkpoints_average_to_themselves(tmp_path_factory, seed, n, exponent):
    torch.manual_seed(seed)
    path = tmp_path_factory.mktemp("equal") / "model.safetensors"
    weights = {"a": torch.randn(5, 3) * 2.0**exponent, "b": torch.randn(4)}
    save_file(weights, path)
    mean = average([path] * n)
    assert mean.keys() == weights.keys()
    assert all(torch.equal(mean[name], weights[name]) for name in weights)


def test_average_is_the_mean(checkpoints):
    weights = [{"a": torch.randn(5, 3)} for _ in range(5)]
    mean = average(checkpoints(weights))["a"]
    rows = zip(*(w["a"].flatten().tolist() for w in weights), strict=True)
    exact = [math.fsum(values) / 5 for values in rows]
    torch.testing.assert_close(mean.flatten(), torch.tensor(exact), rtol=0, atol=0)


def test_other_models_are_refused(checkpoints):
    with pytest.raises(ValueError, match="other weights"):
        average(checkpoints([{"a": torch.ones(2)}, {"b": torch.ones(2)}]))
    with pytest.raises(ValueError, match=r"a has the shape \(3,\)"):
        average(checkpoints([{"a": torch.ones(2)}, {"a": torch.ones(3)}]))


def test_files_are_the_last_ones_and_verified(checkpoints):
    paths = checkpoints([{"a": torch.full((2,), float(n))} for n in range(4)])
    entries = [
        {"step": n, "path": str(path), "sha256": sha256_of(path)} for n, path in enumerate(paths)
    ]
    train = {"run": "base-seed1", "folder": "checkpoints/abc", "checkpoints": entries}
    assert [c["step"] for c in last_checkpoints(train, 3)] == [1, 2, 3]
    for number in (0, 5):
        with pytest.raises(ValueError, match=rf"from 1 to the 4 checkpoints .*: {number}"):
            last_checkpoints(train, number)
    paths[2].write_bytes(b"")
    assert last_checkpoints(train, 1)
    with pytest.raises(ValueError, match=r"2\.safetensors"):
        last_checkpoints(train, 2)


def test_step_makes_a_model_folder_with_the_tie_intact(
    checkpoints, tmp_path, project_folder, model, training
):
    torch.manual_seed(0)
    models = [Transformer(model(), vocab_size=60, pad_id=0) for _ in range(2)]
    paths = checkpoints([m.state_dict() for m in models])
    (tmp_path / "subwords").mkdir()
    (tmp_path / "subwords" / "subwords.model").write_bytes(b"pieces")
    write_json(
        tmp_path / "train.json",
        {
            **dict.fromkeys(("run", "experiment", "scale", "corpus", "fingerprint"), "x"),
            "seed": 1,
            "max_steps": 2,
            "vocab_size": 60,
            "commit": "c",
            "folder": "f",
            "model": model().model_dump(mode="json"),
            "training": training().model_dump(mode="json"),
            "checkpoints": [
                {"step": n, "path": str(path), "sha256": sha256_of(path)}
                for n, path in enumerate(paths, start=1)
            ],
        },
    )
    corpus = load_corpus(project_folder / "config" / "corpora" / "multi30k_ende.yaml")
    options = {
        "train": tmp_path / "train.json",
        "n-average": 2,
        "subwords": tmp_path / "subwords",
        "corpus": corpus.model_dump_json(include=set(Sides.model_fields)),
        "output": tmp_path / "average2" / "model",
    }
    main([text for name, value in options.items() for text in (f"--{name}", str(value))])
    folder = ModelFolder.open(tmp_path / "average2" / "model")
    assert folder.languages == ("en", "de")
    assert folder.card["checkpoint_steps"] == [1, 2]
    assert read_json(folder.path / "card.json")["n_average"] == 2
    loaded = folder.load()
    wanted = (models[0].embedding.weight + models[1].embedding.weight) / 2
    torch.testing.assert_close(loaded.embedding.weight, wanted.detach())
    assert sum(p.numel() for p in loaded.parameters()) == sum(
        p.numel() for p in models[0].parameters()
    )
