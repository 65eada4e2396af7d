"""What stops a training, and what it says."""

import json
import os
import platform
import shutil
from pathlib import Path

import pytest
import torch

from pipeline.files import read_json, write_lines
from pipeline.training import checkpoints, loop, metrics, ranks
from pipeline.training.run import LOCK, Job, data_digest, locked
from pipeline.training.schedule import learning_rate


def test_learning_rate_of_the_paper():
    """Section 5.3, eq. (3): peak 7.0e-4 at step 4000, 1.4e-4 at step 100,000 for base."""
    rate = {s: learning_rate(s, d_model=512, warmup_steps=4000) for s in (1, 4000, 100_000)}
    assert rate[1] == pytest.approx(512**-0.5 * 4000**-1.5, rel=1e-12)
    assert rate[1] == pytest.approx(1.747e-7, rel=1e-3)
    assert rate[4000] == pytest.approx(6.988e-4, rel=1e-3)
    assert rate[100_000] == pytest.approx(1.398e-4, rel=1e-3)
    halved = learning_rate(4000, d_model=512, warmup_steps=4000, scale=0.5)
    assert halved == pytest.approx(rate[4000] / 2)


@pytest.fixture
def job(corpus, tmp_path, model, training):
    def make(*, model_changes=None, training_changes=None, **changes) -> Job:
        defaults = {
            "encoded": corpus / "encoded",
            "buckets": corpus / "buckets",
            "checkpoints": tmp_path,
            "model": model(**(model_changes or {})),
            "training": training(**(training_changes or {})),
            "seed": 7,
            "max_tokens": 1000,
            "keep": 2,
        }
        return Job(**(defaults | changes))

    return make


def run(job: Job, rank: ranks.Rank, folder: Path, **options):
    folder.mkdir(exist_ok=True)
    return loop.train(job, job.sections(), folder, rank, **options)


def test_facts_and_metrics(job, rank, tmp_path):
    facts = run(job(), rank, tmp_path / "a")
    assert [c["step"] for c in facts["checkpoints"]] == [15, 20]
    assert checkpoints.steps_in(tmp_path / "a") == [15, 20]
    assert facts["src_tokens"] == facts["tgt_tokens"]  # of this corpus, by its making
    assert facts["sum_src_tgt"] == facts["sum_src_squared"] == facts["sum_tgt_squared"]
    assert 0 < facts["padding_share"] < 0.5
    lines = (tmp_path / "a" / "metrics.jsonl").read_text().split("\n")[:-1]
    assert len(lines) == 20
    assert facts["dev_perplexity"] < 60
    for step in (15, 20):
        checkpoint = checkpoints.read_checkpoint(tmp_path / "a", step)
        assert checkpoint.state["counts"]["tgt_tokens"] <= facts["tgt_tokens"]


@pytest.mark.parametrize("damage", ["truncated", "emptied", "missing", "no state", "other bytes"])
def test_a_damaged_checkpoint_is_passed_over(job, rank, tmp_path, capsys, damage):
    whole = run(job(), rank, tmp_path / "whole")
    run(job(), rank, tmp_path / "hurt")
    newest = tmp_path / "hurt" / "step-00000020"
    file = newest / ("state.json" if damage == "no state" else "model.safetensors")
    content = file.read_bytes()
    if damage in ("missing", "no state"):
        file.unlink()
    elif damage == "other bytes":
        file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    else:
        file.write_bytes(content[:-100] if damage == "truncated" else b"")
    again = run(job(), rank, tmp_path / "hurt")
    log = capsys.readouterr().err
    assert "falling back to the checkpoint before step 20" in log
    assert str(file) in log
    assert "resuming after step 15" in log
    assert again["checkpoints"] == whole["checkpoints"]


def test_what_a_killed_write_leaves_is_not_trusted(job, rank, tmp_path):
    whole = run(job(), rank, tmp_path / "whole")
    run(job(), rank, tmp_path / "hurt")
    folder = tmp_path / "hurt"
    (folder / "step-00000020").rename(folder / ".step-00000020.partial")
    again = run(job(), rank, folder)
    assert again["checkpoints"] == whole["checkpoints"]
    assert not list(folder.glob(".step*"))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"training_changes": {"warmup_steps": 11}}, "training.warmup_steps: 10"),
        ({"training_changes": {"adam_betas": (0.9, 0.99)}}, "training.adam_betas"),
        ({"model_changes": {"dropout": 0.2}}, "model.dropout: 0.1"),
        ({"seed": 8}, "seed: 7"),
    ],
)
def test_changed_settings_are_refused_by_name(job, rank, tmp_path, changes, key):
    run(job(), rank, tmp_path / "a")
    with pytest.raises(ValueError, match=key):
        run(job(**changes), rank, tmp_path / "a")
    assert job().sections() != job(**changes).sections()


def test_the_machine_is_no_part_of_the_fingerprint(job):
    other = {"max_tokens": 500, "ranks": 4, "zero_stage": 2, "keep": 9, "safety_minutes": 1.0}
    assert job().sections() == job(**other).sections()


def test_data_content_counts_not_its_age(corpus, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(corpus / "encoded", copy)
    assert data_digest(copy) == data_digest(corpus / "encoded")
    path = copy / "train" / "src_tokens.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert data_digest(copy) != data_digest(corpus / "encoded")


def test_a_gradient_that_is_not_finite_stops_with_step_and_pairs(job, rank, tmp_path, monkeypatch):
    real = loop.Trainer.update

    def poisoned(self, update):
        if self.step == 12:
            with torch.no_grad():
                self.model.embedding.weight[5] = torch.nan
        return real(self, update)

    monkeypatch.setattr(loop.Trainer, "update", poisoned)
    with pytest.raises(FloatingPointError) as caught:
        run(job(), rank, tmp_path / "a")
    message = str(caught.value)
    assert "step 13 is not finite" in message
    assert "last good checkpoint" in message
    assert "step-00000010" in message
    assert "pairs of the training split in that update: [" in message
    assert checkpoints.steps_in(tmp_path / "a") == [5, 10]


def test_out_of_memory_names_max_tokens(job, rank, tmp_path, monkeypatch):
    def full(self, update):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1")

    monkeypatch.setattr(loop.Trainer, "update", full)
    with pytest.raises(MemoryError, match=r"lower max_tokens.*: 1000"):
        run(job(), rank, tmp_path / "a")


def test_long_pairs_are_skipped_by_a_rule_or_refused(job, rank, tmp_path, capsys):
    facts = run(job(training_changes={"tokens_per_step": 40}), rank, tmp_path / "a")
    assert facts["skipped_pairs"] > 0
    assert f"more than 40 tokens a side: {facts['skipped_pairs']}" in capsys.readouterr().err
    with pytest.raises(ValueError, match="max_tokens must hold the longest pair, 61 tokens: 50"):
        run(job(max_tokens=50), rank, tmp_path / "b")
    learned = {"positions": "learned", "max_positions": 20}
    with pytest.raises(ValueError, match="max_positions must hold the longest dev sentence"):
        run(job(model_changes=learned), rank, tmp_path / "c")
    with pytest.raises(ValueError, match="every pair is longer"):
        run(job(training_changes={"tokens_per_step": 1}), rank, tmp_path / "d")


def test_a_folder_is_trained_in_by_one_job_which_the_other_names(tmp_path):
    (tmp_path / LOCK).write_text("process 99999999 on a machine that is gone\n")
    said = f"another job is training in this folder, process {os.getpid()} on {platform.node()};"
    for _ in range(2):
        with locked(tmp_path), pytest.raises(ValueError, match=said), locked(tmp_path):
            pass


def test_the_rate_in_the_log_is_that_since_its_last_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(metrics, "LOG_SECONDS", 1e9)
    with metrics.Metrics(tmp_path, step=0) as written:
        for step in range(1, 7):
            dev = {"dev_perplexity": 5.0} if step % 3 == 0 else {}
            written.write(step, last=6, tgt_tokens=step, took_seconds=0.5, loss=1.0, **dev)
    rates = [line.split()[-3] for line in capsys.readouterr().err.splitlines()]
    assert rates == ["4", "10"]


@pytest.mark.parametrize(
    ("perplexities", "told"),
    [
        ([9.0, 5.0, 4.0], None),
        ([9.0, 4.0, 7.9], None),
        ([9.0], None),
        ([], None),
        ([9.0, 4.0, 8.1], "9.00 at step 0, at best 4.00 at step 1, 8.10 at the last, 2; "),
        ([9.0, 9.1], "9.00 at step 0, at best 9.00 at step 0, 9.10 at the last, 1; "),
    ],
)
def test_a_dev_perplexity_that_got_worse_is_told(tmp_path, perplexities, told):
    rows = [{"step": step, "dev_perplexity": value} for step, value in enumerate(perplexities)]
    write_lines(tmp_path / metrics.FILE, map(json.dumps, [*rows, {"step": 99}]))
    found = metrics.divergence(tmp_path)
    assert told in found if told else found is None


def test_a_training_that_diverged_ends_with_one_warning(job, rank, tmp_path, capsys):
    run(job(), rank, tmp_path / "a")
    assert "warning" not in capsys.readouterr().err
    wild = {"learning_rate_scale": 10.0, "dev_interval_steps": 1}
    run(job(training_changes=wild), rank, tmp_path / "b")
    assert capsys.readouterr().err.count("warning: dev perplexity got worse: ") == 1


def test_a_dev_perplexity_beyond_all_numbers_stops(job, rank, tmp_path):
    wild = {"learning_rate_scale": 1000.0, "dev_interval_steps": 1}
    with pytest.raises(FloatingPointError, match=r"dev perplexity of step \d+ is inf.*; lower tr"):
        run(job(training_changes=wild), rank, tmp_path / "a")
    assert '"dev_perplexity": Infinity' in (tmp_path / "a" / "metrics.jsonl").read_text()


def test_stopping_saves_between_regular_checkpoints(job, rank, tmp_path):
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 7

    with pytest.raises(loop.Interrupted, match="saved after step: 7"):
        run(job(), rank, tmp_path / "a", stop=stop)
    assert checkpoints.steps_in(tmp_path / "a") == [5, 7]
    whole = run(job(), rank, tmp_path / "whole")
    again = run(job(), rank, tmp_path / "a")
    assert again["checkpoints"] == whole["checkpoints"]
    for key in ("src_tokens", "tgt_tokens", "cells", "sum_src_squared"):
        assert again[key] == whole[key]


def test_bf16_keeps_weights_and_moments_in_float32(job, rank, tmp_path):
    run(job(training_changes={"precision": "bf16"}), rank, tmp_path / "a")
    checkpoint = checkpoints.read_checkpoint(tmp_path / "a", 20)
    assert checkpoint.read_moments()("exp_avg", 0, 10).dtype == torch.float32
    state = read_json(tmp_path / "a" / "step-00000020" / "state.json")
    assert state["step"] == 20
