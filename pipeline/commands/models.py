"""Which model folder a name on the command line means."""

from pathlib import Path


def find_model(name: str, *, results: Path) -> Path:
    """A model folder by its path, or by a run's name: of several averages the one of the most.

    An experiment's name stands for its first seed. Raises ValueError where there is none, or where
    several scales have a run of that name.
    """
    if Path(name).is_dir():
        return Path(name)
    found = sorted(results.glob(f"*/runs/{name}/average*/model")) if "/" not in name else []
    if not found and "/" not in name:
        seeds = results.glob(f"*/runs/{name}-seed*/average*/model")
        by_seed = {path: int(path.parents[1].name.rpartition("-seed")[2]) for path in seeds}
        found = sorted(path for path in by_seed if by_seed[path] == min(by_seed.values()))
    scales = sorted({str(path.parents[3]) for path in found})
    if len(scales) > 1:
        raise ValueError(f"run {name} exists in {', '.join(scales)}; give the model folder's path")
    if not found:
        known = sorted({path.parents[1].name for path in results.glob("*/runs/*/average*/model")})
        listing = ", ".join(known) if known else "none yet; train one with snakemake"
        raise ValueError(f"no model folder and no run below {results}: {name} (runs: {listing})")
    return max(found, key=lambda path: int(path.parent.name.removeprefix("average")))
