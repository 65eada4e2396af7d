"""What an edit runs again, and what it must not: docs/decisions.md, "What reruns"."""

import json
import os

TRAIN = "results/tiny/runs/ende_base-seed1/train.json"


def test_a_second_run_has_nothing_to_do(tiny):
    assert not tiny.planned()


def test_a_comment_and_another_order_of_keys_change_nothing(tiny):
    path = tiny.folder / "config" / "experiments" / "ende_base.yaml"
    path.write_text("# a remark\n" + path.read_text())
    tiny.edit("ende_base")  # rewritten with its keys sorted
    assert not tiny.planned()


def test_the_machine_changes_nothing(tiny):
    machine = ("--set-resources", "train:ranks=2", "train:max_tokens=100", "train:zero_stage=1")
    assert not tiny.planned(*machine)
    assert not tiny.planned("--set-threads", "train=2")


def test_beam_size_reruns_decoding_and_what_follows(tiny):
    before = (tiny.folder / "config" / "experiments" / "ende_base.yaml").read_text()
    tiny.edit("ende_base", decoding={"beam_size": 2})
    planned = tiny.planned()
    assert planned.keys() == {"all", "decode", "score"}
    (tiny.folder / "config" / "experiments" / "ende_base.yaml").write_text(before)
    assert not tiny.planned()


def test_dropout_of_one_row_reruns_that_row(tiny):
    tiny.make("table3_d_dropout2")
    assert not tiny.planned("ende_base", "table3_d_dropout2")
    tiny.edit("table3_d_dropout2", model={"dropout": 0.3})
    planned = tiny.planned("ende_base", "table3_d_dropout2")
    assert planned["train"] == 1
    assert not tiny.planned("ende_base")


def test_a_module_upstream_of_training_trains_nothing_anew(tiny):
    manifest = tiny.folder / TRAIN
    before = json.loads(manifest.read_text())
    weights = tiny.folder / before["checkpoints"][-1]["path"]
    written = weights.stat().st_mtime_ns
    module = tiny.folder / "pipeline" / "corpora" / "prepare.py"
    module.write_text(module.read_text() + "\n# reformatted\n")
    planned = tiny.planned()
    assert planned["prepare"] == 1
    output = tiny.make()
    assert json.loads(manifest.read_text())["fingerprint"] == before["fingerprint"]
    assert weights.stat().st_mtime_ns == written, output
    assert not tiny.planned()


def test_an_identical_corpus_written_again_trains_nothing_anew(tiny):
    manifest = json.loads((tiny.folder / TRAIN).read_text())
    weights = tiny.folder / manifest["checkpoints"][-1]["path"]
    written = weights.stat().st_mtime_ns
    tiny.make("--forcerun", "generate")
    assert weights.stat().st_mtime_ns == written
    assert json.loads((tiny.folder / TRAIN).read_text())["fingerprint"] == manifest["fingerprint"]


def test_a_module_with_a_newer_time_alone_reruns_nothing(tiny):
    os.utime(tiny.folder / "pipeline" / "corpora" / "prepare.py")
    assert not tiny.planned()
