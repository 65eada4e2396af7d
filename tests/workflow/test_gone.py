"""What later steps read and is gone, or a checkpoint folder that was removed, is made again."""

import json
import shutil

import pytest
import yaml

from pipeline.completeness import LISTED

R = "results/tiny"
CORPUS, RUN = f"{R}/corpora/tiny", f"{R}/runs/ende_base-seed1"
TARGETS = ("ende_base", "figures", f"{CORPUS}/card")
GONE = {
    "generate": f"{CORPUS}/raw/train.en",
    "prepare": f"{CORPUS}/text/dev.de",
    "learn_subwords": f"{CORPUS}/subwords/subwords.model",
    "encode": f"{CORPUS}/encoded/train/tgt_offsets.npy",
    "bucket": f"{CORPUS}/buckets/order.npy",
    "card": f"{CORPUS}/card/lengths.svg",
    "average": f"{RUN}/average2/model/model.safetensors",
    "figures": f"{R}/figures/training_loss.png",
}
MANIFESTS = {"bucket": "bucket.json", "figures": "figures.json", "average": "config.json"}


@pytest.fixture(scope="module")
def made(make_workspace, tmp_path_factory):
    """A workspace with `ende_base` as its one experiment, in which all is made."""
    workspace = make_workspace(tmp_path_factory.mktemp("gone"))
    for path in (workspace.folder / "config" / "experiments").glob("*.yaml"):
        if path.stem != "ende_base":
            path.unlink()
    (workspace.folder / "config" / "searches" / "parsing.yaml").unlink()
    path = workspace.folder / "config" / "scales" / "tiny.yaml"
    scale = yaml.safe_load(path.read_text())
    del scale["settings"]["experiments"]
    path.write_text(yaml.safe_dump(scale))
    workspace.make(*TARGETS)
    return workspace


def test_nothing_is_missing_after_a_run(made):
    """Each kind of folder occurs, and its list is not empty."""
    found = {name: list((made.folder / R).rglob(name)) for name in LISTED}
    assert all(found.values())
    assert not made.planned(*TARGETS)


@pytest.mark.parametrize("rule", GONE)
def test_a_file_that_is_gone_is_made_again(made, rule):
    folder = (made.folder / GONE[rule]).parent
    paths = [made.folder / GONE[rule]]
    paths += [folder / MANIFESTS[rule]] if rule in MANIFESTS else []
    for path in paths:
        aside = path.rename(path.with_name("aside"))
        planned = made.planned(*TARGETS)
        aside.rename(path)
        assert planned[rule] >= 1
        assert bool(planned["train"]) == (rule not in ("card", "average", "figures"))
    assert not made.planned(*TARGETS)


def test_only_what_is_asked_for_is_made_again(made):
    path = made.folder / GONE["figures"]
    aside = path.rename(path.with_name("aside"))
    assert not made.planned("ende_base")
    aside.rename(path)


def test_what_is_made_again_is_what_was_there(made):
    gone = {rule: made.folder / GONE[rule] for rule in ("encode", "average", "figures")}
    before = {rule: path.read_bytes() for rule, path in gone.items()}
    for path in gone.values():
        path.unlink()
    made.make(*TARGETS)
    assert {rule: path.read_bytes() for rule, path in gone.items()} == before
    assert not made.planned(*TARGETS)


@pytest.mark.parametrize("whole", [True, False])
def test_removing_checkpoints_trains_again_to_the_same_weights(made, whole):
    manifest = made.folder / RUN / "train.json"
    before = json.loads(manifest.read_text())
    gone = made.folder / before["folder"]
    if not whole:
        gone = made.folder / before["checkpoints"][0]["path"]
    digests = [checkpoint["sha256"] for checkpoint in before["checkpoints"]]
    shutil.rmtree(gone) if whole else gone.unlink()
    assert made.planned("train_ende_base")["train"] == 1
    made.make(*TARGETS)
    after = json.loads(manifest.read_text())
    assert [checkpoint["sha256"] for checkpoint in after["checkpoints"]] == digests
    assert not made.planned(*TARGETS)
