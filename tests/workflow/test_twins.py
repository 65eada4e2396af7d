"""Rows that are the same training, as Table 3's N = 4 and base are at the lab scale."""

import json

RUNS = "results/tiny/runs"


def test_equal_experiments_are_trained_once_even_side_by_side(fresh):
    fresh.edit("table3_c_n4", model={"n_layers": 6})
    targets = ("train_ende_base", "train_table3_c_n4")
    fresh.make(*targets)
    one, other = (
        json.loads((fresh.folder / RUNS / f"{name}-seed1" / "train.json").read_text())
        for name in ("ende_base", "table3_c_n4")
    )
    assert one["fingerprint"] == other["fingerprint"]
    assert (one["experiment"], other["experiment"]) == ("ende_base", "table3_c_n4")
    assert len([*(fresh.folder / "results/tiny/checkpoints").iterdir()]) == 1
    assert not fresh.planned(*targets)
    assert fresh.planned("train_ende_base", "--forcerun", "train")["train"] == 1
