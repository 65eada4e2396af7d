"""How fast a training will go: what share of a device's rate it reaches, and what else takes time.

An assumption, stated where it is used; a run of one's own (`--like`) replaces it. Two things keep a
model from a device's peak: narrow matrices wait for memory, the more so the faster the device
multiplies, and each update has kernels to start, however little they compute. The constants give
the paper's own hours on 8 P100, 12 for base and 84 for big, within a fifth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.schema import Experiment
from pipeline.evaluation.cost import Device
from pipeline.files import read_json
from pipeline.results.costs import BF16, counted_flops
from pipeline.results.planning import Plan

PEAK_SHARE = 0.4  # of a peak, or of the paper's rates, that wide layers reach
HALF_WIDTH = 0.8  # times the rate in TFLOPS: the d_model that reaches half of that share
START_SECONDS = 0.006  # of an update, for a layer of the encoder and one of the decoder
DECODING_SHARE = 0.1  # of the training's rate that beam search reaches
TERA, HOUR = 1e12, 3600.0


@dataclass(frozen=True)
class Pace:
    """FLOPs a second that one device reaches, and seconds an update that come on top."""

    words: str  # the rate and where it comes from; equal for all experiments of one plan
    flops_per_second: float
    start_seconds: float = 0.0

    def training_seconds(self, plan: Plan, *, devices: int) -> float:
        """Wall seconds of all runs of an experiment, one after the other, on `devices` at once."""
        computing = plan.training_flops / (devices * self.flops_per_second)
        return computing + plan.runs * plan.steps * self.start_seconds

    def decoding_seconds(self, plan: Plan) -> float:
        """On one device."""
        return plan.decoding_flops / (DECODING_SHARE * self.flops_per_second)

    def wall_hours(self, plan: Plan, *, devices: int) -> float:
        return (self.training_seconds(plan, devices=devices) + self.decoding_seconds(plan)) / HOUR

    def device_hours(self, plan: Plan, *, devices: int) -> float:
        """Devices wait while kernels start, too."""
        training = devices * self.training_seconds(plan, devices=devices)
        return (training + self.decoding_seconds(plan)) / HOUR


def pace_of_device(
    experiment: Experiment, devices: Mapping[str, Device], *, name: str, utilisation: float | None
) -> Pace:
    """By an entry of config/devices.yaml, that for bf16 where the experiment trains in bf16 or by
    itself would (auto) on a device that has one.

    Of a data sheet's peak, and of the paper's rates, a share is assumed that grows with d_model;
    measured rates count whole. `utilisation` replaces the share. Raises ValueError for a device
    that has no entry.
    """
    names = {entry.casefold(): entry for entry in devices}
    wanted = name.casefold()
    bf16 = experiment.training.precision in ("bf16", "auto")
    found = (names.get(f"{wanted}{BF16}") if bf16 else None) or names.get(wanted)
    if found is None:
        raise ValueError(
            f"--device: no rate for {name!r}; add it to config/devices.yaml, give --tflops, or "
            f"name one of: {', '.join(devices)}"
        )
    device = devices[found]
    words = f"{found}, {device.tflops:g} TFLOPS ({device.basis})"
    if utilisation is not None:
        share, words = utilisation, f"{words}, {utilisation:.0%} of it as asked"
    elif not device.basis.startswith("measured"):
        d_model = experiment.model.d_model
        share = PEAK_SHARE * d_model / (d_model + HALF_WIDTH * device.tflops)
        words += f"; assumed: a share of it by width, {_shares(device)}"
    else:
        share = 1.0
    return _with_start(words, device.tflops * TERA * share, experiment)


def pace_of_rate(experiment: Experiment, *, tflops: float, utilisation: float | None) -> Pace:
    """By a rate that the user names; all of it, unless told otherwise."""
    share = 1.0 if utilisation is None else utilisation
    words = f"{tflops:g} TFLOPS as given, {share:.0%} of it"
    return _with_start(words, tflops * TERA * share, experiment)


def pace_of_run(path: Path) -> Pace:
    """What a finished run reached, starting kernels included. Raises ValueError for other files."""
    try:
        train: Any = read_json(path)
        flops, seconds = counted_flops(train), train["elapsed_seconds"]
        reached = flops / seconds / train["ranks"]
    except FileNotFoundError:
        raise ValueError(f"--like: no such file: {path}") from None
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(
            f"--like: not the train.json of a finished run ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}): {path}"
        ) from None
    return Pace(f"{reached / TERA:.3g} TFLOPS a device, reached by {path}", reached)


def _shares(device: Device) -> str:
    widths = (128, 512, 1024)
    shares = (PEAK_SHARE * d / (d + HALF_WIDTH * device.tflops) for d in widths)
    return ", ".join(f"{s:.0%} at d_model {d}" for s, d in zip(shares, widths, strict=True))


def _with_start(words: str, flops_per_second: float, experiment: Experiment) -> Pace:
    start = START_SECONDS * experiment.model.n_layers
    words += f"; {1000 * START_SECONDS:g} ms an update for each layer of the model on top"
    return Pace(words, flops_per_second, start)
