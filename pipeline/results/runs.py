"""Which runs a table shows: manifests matched by what they say, never by where they lie."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.files import read_json
from pipeline.progress import log

Manifest = Mapping[str, Any]
STATISTICS = "statistics.npz"


@dataclass
class Run:
    """One training of an experiment with one seed, as far as its manifests go."""

    experiment: str
    seed: int
    train: Manifest | None = None
    scores: Manifest | None = None
    perplexity: Manifest | None = None
    statistics: Path | None = None  # sentence counts beside the scores, for paired tests

    def metric(self, name: str) -> Manifest | None:
        """The entry of scores.json for `tokenized_bleu`, `sacrebleu`, `bracket_f1` ..."""
        return self.scores["scores"].get(name) if self.scores else None


@dataclass(frozen=True)
class Summary:
    """Mean over seeds, and their sample deviation if there is more than one."""

    mean: float
    deviation: float | None
    low: float | None = None
    high: float | None = None


@dataclass
class Runs:
    """All runs of a scale by experiment, each experiment's in the order of its seeds."""

    scale: str
    by_experiment: dict[str, list[Run]] = field(default_factory=dict)

    def of(self, experiment: str | None) -> list[Run]:
        return self.by_experiment.get(experiment, []) if experiment else []

    def all(self) -> list[Run]:
        return [run for runs in self.by_experiment.values() for run in runs]


def read_manifests(paths: Iterable[str | Path]) -> dict[str, Manifest]:
    """Manifests by path. A path that leads nowhere is logged and left out: its row stays blank."""
    found = {}
    for path in paths:
        if Path(path).is_file():
            found[str(path)] = read_json(path)
        else:
            log(f"no such file, so its row stays blank: {path}")
    return found


def gather_runs(
    *,
    trains: Mapping[str, Manifest],
    scores: Mapping[str, Manifest],
    perplexities: Mapping[str, Manifest],
    scale: str,
    split: str,
    n_average: int | None = None,
) -> Runs:
    """Group manifests into runs by experiment and seed.

    Scores and perplexities of another split, or averaged over another number of checkpoints than
    `n_average` (None takes any), are passed over. Raises ValueError for a manifest of another
    scale, one without experiment or seed, and two that claim the same place.
    """
    runs: dict[tuple[str, int], Run] = {}
    places: dict[tuple[str, str, int], str] = {}
    kinds = (("train", trains), ("scores", scores), ("perplexity", perplexities))
    for kind, manifests in kinds:
        for path, manifest in manifests.items():
            if kind != "train" and not _wanted(path, manifest, split=split, n_average=n_average):
                continue
            experiment, seed = _identity(path, manifest, scale=scale)
            place = (kind, experiment, seed)
            if place in places:
                raise ValueError(
                    f"two {kind} files of experiment {experiment}, seed {seed}: "
                    f"{places[place]} and {path}; give one of them"
                )
            places[place] = path
            run = runs.setdefault((experiment, seed), Run(experiment=experiment, seed=seed))
            setattr(run, kind, manifest)
            if kind == "scores" and (beside := Path(path).parent / STATISTICS).is_file():
                run.statistics = beside
    grouped = Runs(scale=scale)
    for key in sorted(runs):
        grouped.by_experiment.setdefault(key[0], []).append(runs[key])
    return grouped


def summarise(values: Iterable[float | None]) -> Summary | None:
    """Mean and sample deviation of the values that exist; None if there are none."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    deviation = statistics.stdev(present) if len(present) > 1 else None
    return Summary(mean=statistics.fmean(present), deviation=deviation)


def summarise_metric(runs: Iterable[Run], name: str) -> Summary | None:
    """A score over seeds; its interval is the mean of the seeds' bootstrap intervals."""
    entries = [entry for run in runs if (entry := run.metric(name)) is not None]
    score = summarise(entry["score"] for entry in entries)
    intervals = [entry["interval"] for entry in entries if entry.get("interval")]
    if score is None or not intervals:
        return score
    low, high = (statistics.fmean(bounds) for bounds in zip(*intervals, strict=True))
    return Summary(mean=score.mean, deviation=score.deviation, low=low, high=high)


def _identity(path: str, manifest: Manifest, *, scale: str) -> tuple[str, int]:
    for key in ("experiment", "seed", "scale"):
        if manifest.get(key) is None:
            raise ValueError(f"{path}: has no {key!r}; was it written by this pipeline?")
    if manifest["scale"] != scale:
        raise ValueError(f"{path}: is of scale {manifest['scale']!r}, the table's scale is {scale}")
    return manifest["experiment"], manifest["seed"]


def _wanted(path: str, manifest: Manifest, *, split: str, n_average: int | None) -> bool:
    if "split" not in manifest:
        raise ValueError(f"{path}: has no 'split'; was it written by this pipeline?")
    averaged = n_average is None or manifest.get("n_average") == n_average
    return manifest["split"] == split and averaged
