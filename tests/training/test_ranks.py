"""An update is an update: the same on any number of ranks, micro-batches and ZeRO stages."""

import json
import os
from pathlib import Path

import pytest
import reference
import torch
from safetensors.torch import load_file

from pipeline.batching.buckets import open_buckets
from pipeline.batching.plan import plan_epoch
from pipeline.encoded import EncodedSplit
from pipeline.model.transformer import Transformer
from pipeline.training.checkpoints import read_checkpoint
from pipeline.training.ranks import launch

pytestmark = pytest.mark.slow  # trainings of several ranks

WHOLE, PIECES = 1000, 90  # max_tokens: one micro-batch a rank, or several
SETTINGS = {
    1: [(0, WHOLE), (0, PIECES), (1, PIECES), (2, WHOLE), (2, PIECES)],
    2: [(0, WHOLE), (0, PIECES), (1, WHOLE), (1, PIECES), (2, WHOLE), (2, PIECES)],
    4: [(0, PIECES), (1, PIECES), (2, PIECES)],
}
CLIPPED = [(1, 0, WHOLE), (2, 1, PIECES), (2, 2, PIECES)]


NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}


def name_of(ranks, zero_stage, max_tokens, clip_norm=None) -> str:
    return f"{ranks}-{zero_stage}-{max_tokens}-{clip_norm}"


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory, model, training):
    """Folder of checkpoints after one step without dropout, at every setting."""
    output = tmp_path_factory.mktemp("ranks")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    )
    os.environ["OMP_NUM_THREADS"] = "1"
    for ranks, settings in SETTINGS.items():
        chosen = [(ranks, *setting, None) for setting in settings]
        chosen += [(*setting, 0.5) for setting in CLIPPED if setting[0] == ranks]
        request = {
            "corpus": str(corpus),
            "output": str(output),
            "model": model(**NO_DROPOUT).model_dump(mode="json"),
            "training": training(max_steps=1, checkpoint_interval_steps=1).model_dump(mode="json"),
            "settings": [
                {
                    "name": name_of(*setting),
                    "zero_stage": setting[1],
                    "max_tokens": setting[2],
                    "clip_norm": setting[3],
                }
                for setting in chosen
            ],
        }
        assert launch(["equality_worker", json.dumps(request)], ranks=ranks) == 0
    return output


@pytest.fixture(scope="module")
def state(model, vocab_size):
    """Reads a folder: weights, and gradients by Adam's first moment, (1 - beta1) times them."""
    shapes = {
        name: parameter.shape
        for name, parameter in Transformer(
            model(), vocab_size=vocab_size, pad_id=0
        ).named_parameters()
    }

    def read(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        checkpoint = read_checkpoint(folder, 1)
        weights = load_file(checkpoint.weights)
        sizes = [shape.numel() for shape in shapes.values()]
        flat = checkpoint.read_moments()("exp_avg", 0, sum(sizes)) / 0.1
        parts = flat.split(sizes)
        gradients = {n: p.view(shapes[n]) for n, p in zip(shapes, parts, strict=True)}
        return weights, gradients

    return read


def assert_same_update(found, expected) -> None:
    (weights, gradients), (wanted_weights, wanted_gradients) = found, expected
    assert weights.keys() == wanted_weights.keys()
    for name, gradient in gradients.items():
        wanted = wanted_gradients[name]
        error = (gradient - wanted).norm() / wanted.norm()
        assert error < 1e-5, f"{name}: {error}"
        firm = wanted.abs() > 1e-4 * wanted.abs().max()  # where it is not analytically zero
        torch.testing.assert_close(
            weights[name][firm], wanted_weights[name][firm], rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize(
    "setting", [(r, *s) for r, settings in SETTINGS.items() for s in settings][1:]
)
def test_update_is_the_same_on_any_ranks_and_micro_batches(trained, state, setting):
    whole = state(trained / name_of(1, 0, WHOLE))
    assert_same_update(state(trained / name_of(*setting)), whole)


@pytest.mark.parametrize("setting", CLIPPED[1:])
def test_clipping_is_the_same_on_any_ranks(trained, state, setting):
    whole = state(trained / name_of(*CLIPPED[0], 0.5))
    assert_same_update(state(trained / name_of(*setting, 0.5)), whole)
    _, clipped = state(trained / name_of(*setting, 0.5))
    norm = torch.cat([g.flatten() for g in clipped.values()]).norm()
    assert float(norm) == pytest.approx(0.5, rel=1e-3)


def test_engine_in_fp32_equals_the_reference_in_float64(
    trained, state, corpus, model, training, vocab_size
):
    """The gradient of step 1 against plain PyTorch (tests/model/reference.py)."""
    torch.manual_seed(7)
    config = model(**NO_DROPOUT)
    start = Transformer(config, vocab_size=vocab_size, pad_id=0)
    weights = {n: p.detach().double().requires_grad_() for n, p in start.named_parameters()}
    split = EncodedSplit.open(corpus / "encoded" / "train")
    buckets = open_buckets(corpus / "buckets", split)
    plan = plan_epoch(buckets, tokens_per_step=training().tokens_per_step, seed=7, epoch=0)
    pairs = [(split.src(i).tolist(), split.tgt(i).tolist()) for i in plan.update(0)]
    loss, _ = reference.loss(pairs, weights, config, training().label_smoothing)
    (loss / sum(len(tgt) for _, tgt in pairs)).backward()
    _, gradients = state(trained / name_of(1, 0, WHOLE))
    for name, gradient in gradients.items():
        wanted = weights[name].grad
        assert (gradient - wanted).norm() / wanted.norm() < 1e-5, name
