import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pipeline.__main__ import main
from pipeline.config.loading import load_project
from pipeline.model.transformer import Transformer
from pipeline.results import planning
from pipeline.results.costs import counted_flops
from pipeline.results.pace import DECODING_SHARE

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def planned(capsys, *arguments):
    assert main(["plan", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_flops_of_the_base_model_agree_with_a_count_by_hand(capsys, tmp_path):
    """100,000 updates of 25,000 tokens a side; d_model 512, d_ff 2048, 6 layers, 37,000 pieces."""
    found = planned(capsys, "--scale", "paper", "--results", str(tmp_path))["experiments"]
    base = next(plan for plan in found if plan["experiment"] == "ende_base")
    tokens = 100_000 * 25_000
    projection, feed_forward = 512 * 512, 2 * 512 * 2048
    of_src = 6 * (4 * projection + feed_forward) + 6 * 2 * projection  # encoder; memory's K and V
    of_tgt = 6 * (4 * projection + feed_forward) + 6 * 2 * projection  # decoder; Q and O on memory
    of_logits = 512 * 37_000
    length = 30  # of both sides; scores and mixtures are 2 x 512 a pair of positions
    of_attention = 6 * 2 * 512 * length * (1 + 0.5 + 1)
    by_hand = 6 * tokens * (of_src + of_tgt + of_logits + of_attention)
    assert base["training_flops"] == pytest.approx(by_hand, rel=0.05)
    assert base["tokens_a_side"] == tokens
    assert base["steps"] == 100_000


@pytest.mark.parametrize("scale", ["demo", "paper"])
def test_parameters_are_those_of_the_model(capsys, tmp_path, scale):
    found = planned(capsys, "--scale", scale, "--gpus", "1", "--results", str(tmp_path))
    project = load_project("config", {"scale": scale})
    assert {plan["experiment"] for plan in found["experiments"]} == set(project.experiments)
    for plan in found["experiments"]:
        name = plan["experiment"]
        vocab_size = project.corpus_of(name).subwords.vocab_size
        with torch.device("meta"):
            model = Transformer(project.experiments[name].model, vocab_size=vocab_size, pad_id=0)
        assert plan["parameters"] == sum(p.numel() for p in model.parameters()), name


def test_checkpoint_bytes_are_those_of_files(tmp_path):
    """Weights and two moments of a whole model, written as checkpoints write them."""
    project = load_project("config", {"scale": "demo"})
    experiment = project.experiments["ende_base"]
    model = Transformer(experiment.model, vocab_size=2000, pad_id=0)
    weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    flat = torch.cat([tensor.flatten() for tensor in weights.values()])
    save_file(weights, tmp_path / "model.safetensors")
    save_file({"exp_avg": flat, "exp_avg_sq": flat.clone()}, tmp_path / "optimizer.safetensors")
    real = sum(path.stat().st_size for path in tmp_path.iterdir())
    counted = planning.count_parameters(experiment.model, vocab_size=2000)
    assert counted * planning.CHECKPOINT_BYTES == pytest.approx(real, rel=0.05)


def test_a_corpus_that_is_encoded_is_measured(tmp_path):
    project = load_project("config", {"scale": "demo"})
    config = project.corpora["grammar_ende"]
    assert not planning.plan_corpus(config, tmp_path).measured
    folder = tmp_path / "encoded" / "train"
    folder.mkdir(parents=True)
    np.save(folder / "src_offsets.npy", np.array([0, 10, 30]))
    np.save(folder / "tgt_offsets.npy", np.array([0, 20, 50]))
    corpus = planning.plan_corpus(config, tmp_path)
    assert corpus.measured
    assert (corpus.lines["train"], corpus.mean_src, corpus.mean_tgt) == (2, 15.0, 25.0)


def test_an_update_fills_its_larger_side():
    lengths = planning.lengths_of(1000, 7, mean_src=20.0, mean_tgt=50.0)
    assert math.isclose(lengths.tgt_tokens, 7000)
    assert math.isclose(lengths.src_tokens, 2800)


def test_seeds_count_as_runs(tmp_path):
    project = load_project("config", {"scale": "demo", "seeds": [1, 2, 3]})
    once = planning.plan_project(load_project("config", {"scale": "demo"}), results=tmp_path)[0]
    thrice = planning.plan_project(project, results=tmp_path)[0]
    for one, three in zip(once, thrice, strict=True):
        assert (one.runs, three.runs) == (1, 3)
        assert math.isclose(three.training_flops, 3 * one.training_flops)
        assert three.checkpoint_bytes == 3 * one.checkpoint_bytes


def test_a_shared_download_counts_once():
    project = load_project("config", {"scale": "paper"})
    corpora = list(project.corpora.values())
    alone = sum(planning.download_bytes([corpus]) for corpus in corpora)
    together = planning.download_bytes(corpora)
    assert 0 < together < alone


def planned_base(capsys, tmp_path, *arguments, experiment="ende_base"):
    found = planned(capsys, "--results", str(tmp_path), *arguments)["experiments"]
    return next(plan for plan in found if plan["experiment"] == experiment)


def test_hours_follow_from_the_rate(capsys, tmp_path):
    """By hand: 40 % of a peak, less by d_model against 0.8 times the peak; 6 ms a layer on top."""
    base = planned_base(capsys, tmp_path, "--scale", "paper", "--device", "h100", "--gpus", "4")
    rate = 67e12 * 0.4 * 512 / (512 + 0.8 * 67)
    seconds = base["training_flops"] / (4 * rate) + 100_000 * 6 * 0.006
    decoding = base["decoding_flops"] / (0.1 * rate)
    assert base["wall_hours"] == pytest.approx((seconds + decoding) / 3600)
    assert base["device_hours"] == pytest.approx((4 * seconds + decoding) / 3600)


@pytest.mark.parametrize(("experiment", "hours"), [("ende_base", 12.0), ("ende_big", 84.0)])
def test_the_papers_own_hours_are_met(capsys, tmp_path, experiment, hours):
    """Section 5.2: 12 hours and 3.5 days on 8 P100."""
    found = planned_base(
        capsys, tmp_path, "--scale", "paper", "--device", "P100", experiment=experiment
    )
    assert found["wall_hours"] == pytest.approx(hours, rel=0.2)


def test_a_small_model_is_not_promised_the_rate_of_a_large_one(capsys, tmp_path):
    """On a large GPU the demo's base trains no faster than its kernels start."""
    small = planned_base(capsys, tmp_path, "--scale", "demo", "--device", "h200", "--gpus", "1")
    assert small["wall_hours"] * 3600 > small["steps"] * 3 * 0.006
    wide = planned_base(
        capsys, tmp_path, "--scale", "demo", "--device", "h200", experiment="ende_big"
    )
    assert small["flops_per_second"] < 0.7 * wide["flops_per_second"] < 0.4 * 989e12


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        (("--device", "h100", "--utilisation", "0.5"), 33.5e12),
        (("--tflops", "20"), 20e12),
        (("--tflops", "20", "--utilisation", "0.25"), 5e12),
    ],
)
def test_a_rate_can_be_said(capsys, tmp_path, options, rate):
    found = planned_base(capsys, tmp_path, "--scale", "paper", *options)
    assert found["flops_per_second"] == pytest.approx(rate)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("{", "damaged, not JSON"),
        ("[1, 2]", "not the train.json of a finished run"),
        ('{"scores": {}}', "not the train.json of a finished run"),
        ('{"counted_flops": 1e12, "elapsed_seconds": 0, "ranks": 1}', "ZeroDivisionError"),
        ('{"counted_flops": "many", "elapsed_seconds": 1, "ranks": 1}', "TypeError"),
    ],
)
def test_a_bad_run_to_be_like_is_named(capsys, tmp_path, content, message):
    path = tmp_path / "train.json"
    if content is not None:
        path.write_text(content)
    assert main(["plan", "--like", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("plan: --like: ")
    assert message in error
    assert error.rstrip().endswith(str(path))


def test_an_unknown_device_lists_those_there_are(capsys):
    assert main(["plan", "--device", "abacus"]) == 1
    message = capsys.readouterr().err
    assert "abacus" in message
    assert "H100" in message


def test_the_printed_plan_has_every_experiment_and_stage(capsys, tmp_path):
    assert main(["plan", "--scale", "paper", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for word in ("table3_e_learned", "enfr_big", "wmt14_enfr", "download", "average", "assumed"):
        assert word in printed


def test_the_rate_of_a_run_can_be_taken(capsys, tmp_path):
    """A run that took 100 s on 2 ranks for its counted operations; a plan at that rate."""
    project = load_project("config", {"scale": "demo"})
    experiment = project.experiments["ende_base"]
    sums = {"src_tokens": 9e5, "tgt_tokens": 1e6, "sum_src_squared": 1e7, "sum_tgt_squared": 1e7}
    train = {
        **sums,
        "sum_src_tgt": 1e7,
        "vocab_size": 2000,
        "model": experiment.model.model_dump(mode="json"),
        "elapsed_seconds": 100.0,
        "ranks": 2,
    }
    path = tmp_path / "train.json"
    path.write_text(json.dumps(train))
    base = planned_base(capsys, tmp_path, "--scale", "demo", "--like", str(path), "--gpus", "1")
    counted = counted_flops(train)
    seconds = base["training_flops"] / (counted / 100.0 / 2)
    assert base["device_hours"] > seconds / 3600  # decoding comes on top
    decoding = base["decoding_flops"] / (DECODING_SHARE * counted / 100.0 / 2)
    assert base["device_hours"] == pytest.approx((seconds + decoding) / 3600)


@pytest.mark.parametrize("option", ["--gpus", "--tflops", "--utilisation"])
def test_numbers_that_make_no_sense_are_refused(capsys, option):
    assert main(["plan", option, "0"]) == 1
    assert option in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "bound"),
    [
        ("--tflops", "nan", "at least 1e-06: nan"),
        ("--tflops", "inf", "at most 1000000: inf"),
        ("--tflops", "1e9", "at most 1000000: 1000000000.0"),
        ("--utilisation", "0", "at least 1e-06: 0.0"),
        ("--utilisation", "2", "at most 1: 2.0"),
        ("--gpus", "1000000", "at most 100000: 1000000"),
    ],
)
def test_a_rate_that_is_none_is_refused(capsys, option, value, bound):
    assert main(["plan", option, value]) == 1
    assert f"plan: {option} must be {bound}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--device", "v100", "--tflops", "50"],
            "give one of --device, --tflops and --like: --device v100 --tflops 50.0",
        ),
        (
            ["--tflops", "50", "--like", "train.json"],
            "give one of --device, --tflops and --like: --tflops 50.0 --like train.json",
        ),
        (["--like", "train.json", "--utilisation", "0.5"], "leave it out: --utilisation 0.5"),
    ],
)
def test_no_option_is_passed_over(capsys, arguments, said):
    """Of two rates one would be followed in silence."""
    assert main(["plan", *arguments]) == 1
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
