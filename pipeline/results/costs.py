"""Training cost of a run as Table 2 states it: by time, as the paper did, and counted."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.config.schema import ModelConfig
from pipeline.evaluation.cost import (
    Device,
    Lengths,
    counted_training_flops,
    training_flops_by_time,
)

BF16 = "-bf16"
SUMS = ("src_tokens", "tgt_tokens", "sum_src_squared", "sum_tgt_squared", "sum_src_tgt")


@dataclass(frozen=True)
class Rates:
    """Sustained rates by device name (config/devices.yaml)."""

    devices: Mapping[str, Device]

    def find(self, train: Mapping[str, Any]) -> tuple[str, Device] | None:
        """The entry whose name is words of the run's device, for the run's precision; or None.

        "NVIDIA H100 80GB HBM3" trained in bf16 is H100-bf16. The longest name wins; an L40 is
        no L4.
        """
        device = str(train.get("device", "")).casefold()
        bf16 = precision_of(train) == "bf16"
        names = [
            name
            for name in self.devices
            if name.endswith(BF16) == bf16 and _words(name.removesuffix(BF16), device)
        ]
        if not names:
            return None
        name = max(names, key=len)
        return name, self.devices[name]

    def flops_by_time(self, train: Mapping[str, Any]) -> float | None:
        """Section 6.1: time x devices x sustained rate; None for a device without a rate."""
        found = self.find(train)
        if found is None or train.get("elapsed_seconds") is None:
            return None
        return training_flops_by_time(
            train["elapsed_seconds"], devices=train.get("ranks", 1), tflops=found[1].tflops
        )

    def note(self, trains: Iterable[Mapping[str, Any]]) -> str:
        """Which rates stand behind the estimates, and which devices have none."""
        stated, unknown = set(), set()
        for train in trains:
            if found := self.find(train):
                stated.add(f"{found[0]} {found[1].tflops:g} TFLOPS ({found[1].basis})")
            else:
                unknown.add(str(train.get("device", "unnamed device")))
        parts = ["FLOPs by time: training time × devices × sustained rate, the paper's estimate"]
        parts += [f"; rates: {', '.join(sorted(stated))}"] if stated else []
        parts += [f"; no rate in config/devices.yaml for: {', '.join(sorted(unknown))}"] * bool(
            unknown
        )
        return "".join(parts) + "."


def precision_of(train: Mapping[str, Any]) -> str | None:
    """That of a run's products: what `auto` became; None where train.json says neither."""
    return train.get("precision") or train.get("training", {}).get("precision")


def _words(name: str, device: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", device) is not None


def counted_flops(train: Mapping[str, Any]) -> float | None:
    """Operations of the matrix products over the tokens trained on; None if sums are missing."""
    if any(train.get(key) is None for key in (*SUMS, "model", "vocab_size")):
        return train.get("counted_flops")
    lengths = Lengths(*(float(train[key]) for key in SUMS))
    model = ModelConfig.model_validate(train["model"])
    return counted_training_flops(model, vocab_size=train["vocab_size"], lengths=lengths)
