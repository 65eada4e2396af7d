"""What a scale costs before it is run: steps, tokens, FLOPs, hours and bytes, by experiment."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.commands.options import within
from pipeline.config.bounds import MOST_DEVICES, MOST_TFLOPS
from pipeline.config.loading import Project, config_folder, load_project
from pipeline.evaluation.cost import Device, load_devices
from pipeline.results.pace import (
    DECODING_SHARE,
    HOUR,
    Pace,
    pace_of_device,
    pace_of_rate,
    pace_of_run,
)
from pipeline.results.planning import Corpus, Plan, download_bytes, plan_project

MIB, GIB = 1 << 20, 1 << 30
LEAST_RATE = 1e-6  # of a device in TFLOPS, or a share of it
DEVICE = "h100"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", help="demo, lab, paper ... (default: config.yaml's)")
    parser.add_argument("--gpus", type=int, default=8, help="devices that train (default 8)")
    parser.add_argument("--device", help=f"name in config/devices.yaml (default {DEVICE})")
    parser.add_argument("--tflops", type=float, help="rate you measured, for one device")
    parser.add_argument(
        "--like", type=Path, metavar="TRAIN_JSON", help="take the rate that this run reached"
    )
    parser.add_argument(
        "--utilisation",
        type=float,
        help="share of the device's rate that is reached; by default one that falls with the "
        "model's width, and 1 of a measured rate",
    )
    parser.add_argument("--config", type=Path, default=config_folder(), help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=Path("results"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the plan to stdout. Raises ValueError for a device or a number that makes no sense."""
    within(1, MOST_DEVICES, gpus=args.gpus)
    within(LEAST_RATE, MOST_TFLOPS, tflops=args.tflops)
    within(LEAST_RATE, 1, utilisation=args.utilisation)
    _refuse_two_rates(args)
    project = load_project(args.config, {"scale": args.scale} if args.scale else {})
    devices = load_devices(args.config / "devices.yaml")
    plans, corpora = plan_project(project, results=args.results)
    reached = pace_of_run(args.like) if args.like else None
    paces = {
        plan.experiment: reached or _pace(project, plan.experiment, devices, args) for plan in plans
    }
    if args.json:
        data = {
            "experiments": [
                {
                    **asdict(plan),
                    "device_hours": paces[plan.experiment].device_hours(plan, devices=args.gpus),
                    "wall_hours": paces[plan.experiment].wall_hours(plan, devices=args.gpus),
                    "flops_per_second": paces[plan.experiment].flops_per_second,
                    "rate": paces[plan.experiment].words,
                }
                for plan in plans
            ],
            "corpora": [asdict(corpus) for corpus in corpora],
        }
        print(json.dumps(data, indent=2))
        return 0
    print("\n".join(_report(project, plans, corpora, paces, args)))
    return 0


def _refuse_two_rates(args: argparse.Namespace) -> None:
    """Of what says how fast a device is only one can be followed."""
    given = [
        f"--{name} {value}"
        for name in ("device", "tflops", "like")
        if (value := getattr(args, name)) is not None
    ]
    if len(given) > 1:
        raise ValueError(f"give one of --device, --tflops and --like: {' '.join(given)}")
    if args.like and args.utilisation is not None:
        raise ValueError(
            f"--like takes the rate that a run reached, of which there is no share; leave it out: "
            f"--utilisation {args.utilisation}"
        )


def _pace(
    project: Project, experiment: str, devices: Mapping[str, Device], args: argparse.Namespace
) -> Pace:
    settings = project.experiments[experiment]
    if args.tflops:
        return pace_of_rate(settings, tflops=args.tflops, utilisation=args.utilisation)
    return pace_of_device(
        settings, devices, name=args.device or DEVICE, utilisation=args.utilisation
    )


def _report(
    project: Project,
    plans: Sequence[Plan],
    corpora: Sequence[Corpus],
    paces: Mapping[str, Pace],
    args: argparse.Namespace,
) -> list[str]:
    lines = [f"scale {project.scale.name} ({project.scale.title}), {args.gpus} devices"]
    lines += sorted({f"rate: {pace.words}" for pace in paces.values()})
    rows = [_heads()] + [_row(plan, paces[plan.experiment], args.gpus) for plan in plans]
    rows.append(_total(plans, paces, args.gpus))
    return [
        *lines,
        "",
        *_aligned(rows),
        "",
        *_aligned(_corpus_rows(corpora)),
        "",
        *_aligned(_stage_rows(project, plans, corpora, paces, args.gpus)),
        "",
        *_assumptions(corpora),
        *_waiting(plans, paces, args.gpus),
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


def _row(plan: Plan, pace: Pace, gpus: int) -> tuple[str, ...]:
    return (
        plan.experiment,
        str(plan.runs),
        f"{plan.steps:,}",
        f"{plan.tokens_a_side:.2e}",
        f"{plan.parameters / 1e6:.1f} M",
        f"{plan.training_flops + plan.decoding_flops:.2e}",
        _shown(pace.device_hours(plan, devices=gpus)),
        _shown(pace.wall_hours(plan, devices=gpus)),
        _size(plan.checkpoint_bytes + plan.model_bytes),
    )


def _total(plans: Sequence[Plan], paces: Mapping[str, Pace], gpus: int) -> tuple[str, ...]:
    device = sum(paces[plan.experiment].device_hours(plan, devices=gpus) for plan in plans)
    wall = sum(paces[plan.experiment].wall_hours(plan, devices=gpus) for plan in plans)
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
        _shown(device),
        _shown(wall),
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
    paces: Mapping[str, Pace],
    gpus: int,
) -> list[tuple[str, ...]]:
    decoding = sum(paces[plan.experiment].decoding_seconds(plan) for plan in plans) / HOUR
    total = sum(paces[plan.experiment].device_hours(plan, devices=gpus) for plan in plans)
    training = total - decoding
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
    operations = f"{sum(flops.values()):.2e}"
    rows.append(("all", operations, _shown(total), _size(sum(sizes.values()))))
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
        f"decoding is assumed to reach {DECODING_SHARE:.0%} of the training's rate, on one device "
        "a run; checkpoints are those that remain at the end",
        "a rate of your own: --tflops, or --like RUN/train.json of a run of this scale",
    ]


def _waiting(plans: Sequence[Plan], paces: Mapping[str, Pace], gpus: int) -> list[str]:
    """Experiments whose updates take longer to start than to compute: more devices don't help."""
    waiting = [
        plan.experiment
        for plan in plans
        if paces[plan.experiment].start_seconds * plan.steps * plan.runs
        > paces[plan.experiment].training_seconds(plan, devices=gpus) / 2
    ]
    if not waiting or gpus == 1:
        return []
    return [
        "starting kernels takes more than half of the training time of experiments, which go "
        f"hardly slower on fewer than {gpus} devices, so train them side by side: "
        f"{', '.join(waiting)}"
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
