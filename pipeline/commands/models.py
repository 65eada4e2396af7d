"""Which model folder a name on the command line means."""

import argparse
from pathlib import Path


def add_model_arguments(parser: argparse.ArgumentParser, *, example: str) -> None:
    """The options of `chosen_model`. example: an experiment's name."""
    parser.add_argument(
        "model", help=f"a model folder, or the name of a run or experiment such as {example}"
    )
    parser.add_argument(
        "--scale", help="demo, lab, paper ... (needed where several have a run of that name)"
    )
    parser.add_argument(
        "--results", metavar="FOLDER", type=Path, default="results", help="where scales lie"
    )


def chosen_model(args: argparse.Namespace) -> Path:
    return find_model(args.model, results=args.results, scale=args.scale)


def find_model(name: str, *, results: Path, scale: str | None = None) -> Path:
    """A model folder by its path, or by a run's name: of several averages the one of the most.

    An experiment's name stands for its first seed. scale: where the run lies, in `results`; None
    looks at all. Raises ValueError where there is none, or where several scales have a run of that
    name.
    """
    if scale is None and Path(name).is_dir():
        return Path(name)
    if (results / "runs").is_dir():
        raise ValueError(
            f"--results must be the folder of all scales: {results}; "
            f"give --results {results.absolute().parent} --scale {results.absolute().name}"
        )
    known = sorted(path.parent.name for path in results.glob("*/runs"))
    if scale is not None and scale not in known:
        raise ValueError(
            f"--scale must be one that has runs below {results} "
            f"({', '.join(known) or 'none yet; train one with snakemake'}): {scale}"
        )
    models = [_models(results / each) for each in ([scale] if scale else known)]
    found = [model for each in models if (model := _meant(name, each))]
    if not found:
        listing = ", ".join(sorted({_run(model) for each in models for model in each}))
        raise ValueError(
            f"no model folder and no run below {results / scale if scale else results}: {name} "
            f"(runs: {listing or 'none yet; train one with snakemake'})"
        )
    if len(found) > 1:
        options = " or ".join(f"--scale {model.parents[3].name}" for model in found)
        raise ValueError(
            f"several scales have a run {name}: give {options}, "
            f"or the model folder: {', '.join(map(str, found))}"
        )
    return found[0]


def _models(scale: Path) -> list[Path]:
    paths = scale.glob("runs/*/average*/model")
    return [path for path in paths if path.parent.name.removeprefix("average").isdecimal()]


def _meant(name: str, models: list[Path]) -> Path | None:
    """Of one scale's models that of the run, else of the experiment's first seed."""
    runs = {_run(model) for model in models}
    seeds = [run.removeprefix(f"{name}-seed") for run in runs if run.startswith(f"{name}-seed")]
    if name not in runs and (numbers := [int(seed) for seed in seeds if seed.isdecimal()]):
        name = f"{name}-seed{min(numbers)}"
    averages = {int(m.parent.name.removeprefix("average")): m for m in models if _run(m) == name}
    return averages[max(averages)] if averages else None


def _run(model: Path) -> str:
    return model.parents[1].name
