"""What a scale costs before it is run: steps, tokens, FLOPs, hours and bytes, by experiment."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.config.loading import Project, load_project
from pipeline.evaluation.cost import Device, load_devices
from pipeline.files import read_json
from pipeline.results.costs import counted_flops
from pipeline.results.planning import Corpus, Plan, download_bytes, plan_project

PEAK_SHARE = 0.35  # of a data sheet's peak that training of this size is assumed to reach
DECODING_SHARE = 0.1  # of the training's rate that beam search reaches
MIB, GIB = 1 << 20, 1 << 30
HOUR = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", default="paper", help="demo, lab, paper ... (default paper)")
    parser.add_argument("--gpus", type=int, default=8, help="devices that train (default 8)")
    parser.add_argument("--device", default="h100", help="name in config/devices.yaml")
    parser.add_argument("--tflops", type=float, help="rate you measured, for one device")
    parser.add_argument(
        "--like", type=Path, metavar="TRAIN_JSON", help="take the rate that this run reached"
    )
    parser.add_argument(
        "--utilisation",
        type=float,
        help=f"share of the device's rate that is reached; default {PEAK_SHARE} of a data sheet's "
        "peak, 1 of a measured or the paper's sustained rate",
    )
    parser.add_argument("--config", default="config", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=Path("results"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the plan to stdout. Raises ValueError for a device or a number that makes no sense."""
    if args.gpus < 1:
        raise ValueError(f"--gpus must be 1 or more: {args.gpus}")
    for option, value in (("--tflops", args.tflops), ("--utilisation", args.utilisation)):
        if value is not None and value <= 0:
            raise ValueError(f"{option} must be above 0: {value}")
    project = load_project(args.config, {"scale": args.scale})
    devices = load_devices(Path(args.config) / "devices.yaml")
    plans, corpora = plan_project(project, results=args.results)
    rates = {plan.experiment: _rate(project, plan.experiment, devices, args) for plan in plans}
    if args.json:
        data = {
            "experiments": [
                {**asdict(plan), "device_hours": _hours(plan, rates)} for plan in plans
            ],
            "corpora": [asdict(corpus) for corpus in corpora],
        }
        print(json.dumps(data, indent=2))
        return 0
    print("\n".join(_report(project, plans, corpora, rates, args)))
    return 0


def _rate(
    project: Project, experiment: str, devices: Mapping[str, Device], args: argparse.Namespace
) -> tuple[str, float]:
    """What the rate is, in words, and FLOPs a second that one device reaches."""
    if args.like:
        reached = _reached(args.like)
        return f"{reached / 1e12:.3g} TFLOPS a device, reached by {args.like}", reached
    if args.tflops:
        share = 1.0 if args.utilisation is None else args.utilisation
        return f"{args.tflops:g} TFLOPS as given, {share:.0%} of it", args.tflops * 1e12 * share
    bf16 = project.experiments[experiment].training.precision == "bf16"
    names = {name.casefold(): name for name in devices}
    wanted = args.device.casefold()
    name = names.get(f"{wanted}-bf16") if bf16 else None
    name = name or names.get(wanted)
    if name is None:
        raise ValueError(
            f"--device: no rate for {args.device!r}; add it to {args.config}/devices.yaml, give "
            f"--tflops, or name one of: {', '.join(devices)}"
        )
    device = devices[name]
    default = PEAK_SHARE if device.basis.startswith("data sheet") else 1.0
    share = default if args.utilisation is None else args.utilisation
    words = f"{name}, {device.tflops:g} TFLOPS ({device.basis}), {share:.0%} of it"
    return words, device.tflops * 1e12 * share


def _reached(path: Path) -> float:
    """Counted FLOPs a second of one device in a finished run."""
    train = read_json(path)
    flops, seconds = counted_flops(train), train.get("elapsed_seconds")
    if not flops or not seconds:
        raise ValueError(f"--like: no counted FLOPs or no seconds in it: {path}")
    return flops / seconds / train.get("ranks", 1)


def _hours(plan: Plan, rates: Mapping[str, tuple[str, float]]) -> float:
    """Device hours of training and decoding."""
    rate = rates[plan.experiment][1]
    decoding = plan.decoding_flops / (DECODING_SHARE * rate)
    return (plan.training_flops / rate + decoding) / HOUR


def _report(
    project: Project,
    plans: Sequence[Plan],
    corpora: Sequence[Corpus],
    rates: Mapping[str, tuple[str, float]],
    args: argparse.Namespace,
) -> list[str]:
    lines = [f"scale {project.scale.name} ({project.scale.title}), {args.gpus} devices"]
    lines += sorted({f"rate: {words}" for words, _ in rates.values()})
    rows = [_heads()] + [_row(plan, rates, args.gpus) for plan in plans]
    rows.append(_total(plans, rates, args.gpus))
    return [
        *lines,
        "",
        *_aligned(rows),
        "",
        *_aligned(_corpus_rows(corpora)),
        "",
        *_aligned(_stage_rows(project, plans, corpora, rates)),
        "",
        *_assumptions(corpora),
    ]


def _heads() -> tuple[str, ...]:
    return (
        "experiment",
        "runs",
        "steps",
        "tokens a side",
        "parameters",
        "FLOPs",
        "device time",
        "wall time",
        "disk",
    )


def _row(plan: Plan, rates: Mapping[str, tuple[str, float]], gpus: int) -> tuple[str, ...]:
    hours = _hours(plan, rates)
    return (
        plan.experiment,
        str(plan.runs),
        f"{plan.steps:,}",
        f"{plan.tokens_a_side:.2e}",
        f"{plan.parameters / 1e6:.1f} M",
        f"{plan.training_flops + plan.decoding_flops:.2e}",
        _shown(hours),
        _shown(hours / gpus),
        _size(plan.checkpoint_bytes + plan.model_bytes),
    )


def _total(
    plans: Sequence[Plan], rates: Mapping[str, tuple[str, float]], gpus: int
) -> tuple[str, ...]:
    hours = sum(_hours(plan, rates) for plan in plans)
    flops = sum(plan.training_flops + plan.decoding_flops for plan in plans)
    size = sum(plan.checkpoint_bytes + plan.model_bytes for plan in plans)
    runs = sum(plan.runs for plan in plans)
    return (
        "all",
        str(runs),
        "",
        "",
        "",
        f"{flops:.2e}",
        _shown(hours),
        _shown(hours / gpus),
        _size(size),
    )


def _corpus_rows(corpora: Sequence[Corpus]) -> list[tuple[str, ...]]:
    rows = [("corpus", "train lines", "download", "text", "encoded")]
    for corpus in corpora:
        unknown = corpus.unknown_downloads
        more = f" + {unknown} of unknown size" if unknown else ""
        train = corpus.lines.get("train")
        rows.append(
            (
                corpus.name,
                f"{train:,}" if train else "unknown",
                _size(corpus.download_bytes) + more,
                _size(corpus.text_bytes),
                _size(corpus.encoded_bytes),
            )
        )
    return rows


def _stage_rows(
    project: Project,
    plans: Sequence[Plan],
    corpora: Sequence[Corpus],
    rates: Mapping[str, tuple[str, float]],
) -> list[tuple[str, ...]]:
    training = sum(plan.training_flops / rates[plan.experiment][1] for plan in plans) / HOUR
    decoding = sum(plan.decoding_flops / rates[plan.experiment][1] for plan in plans)
    decoding /= DECODING_SHARE * HOUR
    needed = {corpus.name for corpus in corpora}
    fetched = download_bytes([c for c in project.corpora.values() if c.name in needed])
    sizes = {
        "download": fetched,
        "prepare": sum(corpus.text_bytes for corpus in corpora),
        "encode, bucket": sum(corpus.encoded_bytes for corpus in corpora),
        "train": sum(plan.checkpoint_bytes for plan in plans),
        "average": sum(plan.model_bytes for plan in plans),
        "decode": 0,
    }
    flops = {
        "train": sum(plan.training_flops for plan in plans),
        "decode": sum(plan.decoding_flops for plan in plans),
    }
    hours = {"train": training, "decode": decoding}
    rows = [("stage", "FLOPs", "device time", "disk")]
    for stage, size in sizes.items():
        operations = f"{flops[stage]:.2e}" if stage in flops else ""
        rows.append((stage, operations, _shown(hours.get(stage)), _size(size) if size else ""))
    total = f"{sum(flops.values()):.2e}"
    rows.append(("all", total, _shown(sum(hours.values())), _size(sum(sizes.values()))))
    return rows


def _assumptions(corpora: Sequence[Corpus]) -> list[str]:
    assumed = [corpus for corpus in corpora if not corpus.measured]
    lengths = ", ".join(f"{c.name} {c.mean_src:.0f}/{c.mean_tgt:.0f}" for c in assumed)
    lines = [f"assumed subwords a sentence (source/target): {lengths}"] if assumed else []
    unknown = [f"{name} ({corpus.name})" for corpus in corpora for name in corpus.unknown_texts]
    if unknown:
        lines.append(f"not counted, size unknown before it is read: {', '.join(unknown)}")
    return [
        *lines,
        f"decoding is assumed to reach {DECODING_SHARE:.0%} of the training's rate; checkpoints "
        "are those that remain at the end",
        "small models reach far less of a large device than assumed: for those, --like a run of "
        "their scale",
    ]


def _shown(hours: float | None) -> str:
    """Three digits and a unit that keeps them readable."""
    if hours is None:
        return ""
    if hours >= 1:
        return f"{hours:,.0f} h" if hours >= 100 else f"{hours:.1f} h"
    minutes = 60 * hours
    return f"{minutes:.1f} min" if minutes >= 1 else f"{60 * minutes:.1f} s"


def _size(size: int) -> str:
    if size >= GIB / 10:
        return f"{size / GIB:,.1f} GiB"
    return f"{size / MIB:,.1f} MiB" if size else "0"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
