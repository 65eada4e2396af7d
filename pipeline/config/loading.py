"""From YAML files to one checked project: `extends:`, then the scale, then the closed schema."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.config.corpus import CorpusConfig
from pipeline.config.problems import alike, at, problems
from pipeline.config.resolving import Resolved, ancestry, resolve
from pipeline.config.scale import Config, Scale
from pipeline.config.schema import Closed, Experiment
from pipeline.config.search import Search, SearchFile, resolve_search
from pipeline.config.sections import SECTIONS, ExperimentFile
from pipeline.config.self_training import check, needed, with_treebank
from pipeline.config.yaml_files import ConfigError, Location, place, read_yaml

TARGETS = ("table1", "table2", "table3", "table4", "figures", "report")
STAGES = ("train_", "decode_", "search_")  # and a name: targets of the workflow
SIDES = {"en-de": ("en", "de"), "en-fr": ("en", "fr")}  # the parser's are words and trees
NOT_SCALES = ("bench", "downloads")  # other folders of results/
COMMAND_LINE = Path("command line")
CHOICES = ("scale", "results")  # keys of config.yaml that name files
STEPS = Path(__file__).parents[1] / "steps"
M = TypeVar("M", bound=Closed)

__all__ = ["ConfigError", "Project", "config_folder", "load_corpus", "load_project", "read_yaml"]


@dataclass(frozen=True)
class Project:
    """Everything that one run of the workflow is told.

    left_out: experiments that the scale does not run, and why. searches: those over settings of
    experiments that it runs. tables_of: those that show an experiment, whether it runs or not.
    """

    config: Config
    scale: Scale
    experiments: dict[str, Experiment]
    corpora: dict[str, CorpusConfig]
    left_out: dict[str, str]
    searches: dict[str, Search] = field(default_factory=dict)
    tables_of: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def corpus_of(self, experiment: str) -> CorpusConfig:
        return self.corpora[self.scale.tasks[self.experiments[experiment].task]]

    def seeds_of(self, experiment: str) -> tuple[int, ...]:
        return self.experiments[experiment].seeds or self.config.seeds


def config_folder() -> Path:
    """The working directory's `config`, or else the one that lies beside the package."""
    here, beside = Path("config"), Path(__file__).parents[2] / "config"
    return beside if not here.exists() and beside.exists() else here


def load_project(
    folder: str | Path = "config", settings: Mapping[str, Any] | None = None
) -> Project:
    """Read and check all that a scale needs.

    folder: holds config.yaml, scales/, corpora/ and experiments/.
    settings: values that replace those of config.yaml (the command line's).
    Raises ConfigError that lists every problem once, at the file and line where it stands.
    """
    folder, settings = Path(folder), settings or {}
    path = folder / "config.yaml"
    data = {**read_yaml(path), **settings}
    by_key = {key: place(COMMAND_LINE if key in settings else path, (key,)) for key in CHOICES}
    unknown = _unknown_names(folder, data, by_key)
    try:
        config = _validate(Config, data, path, settings=settings)
    except ConfigError as error:
        raise ConfigError("\n".join([str(error), *unknown])) from None
    scale_path = folder / "scales" / f"{config.scale}.yaml"
    if not scale_path.exists():
        raise ConfigError("\n".join(unknown))
    if config.scale in NOT_SCALES:
        raise ConfigError(
            f"{scale_path}: results/{config.scale} holds other files; choose another name"
        )
    scale = _validate(Scale, {**read_yaml(scale_path), "name": config.scale}, scale_path)
    found: list[str] = []
    corpora = _corpora(folder, scale, scale_path, found)
    all_ = _experiments(folder, scale, scale_path, found)
    experiments = {name: e for name, e in all_.items() if e.task in scale.tasks}
    if not found:
        found += check(folder, corpora, scale.tasks, experiments)
    searches = {} if found else _searches(folder, experiments, found)
    drawn = scale.attention.experiment if scale.attention else None
    if drawn and drawn not in experiments and not found:
        stated = place(scale_path, ("attention", "experiment"))
        found.append(f"{stated}: not run at this scale: {drawn!r}{alike(drawn, [*experiments])}")
    known = sorted({*TARGETS, *experiments})
    found += [
        _unknown_result(result, known, by_key["results"])
        for result in config.results
        if result not in known and not found
    ]
    if found:
        raise ConfigError("\n".join(found))
    left_out = {
        name: f"scale {scale.name} names no corpus for task {experiment.task}"
        for name, experiment in all_.items()
        if name not in experiments
    }
    tables: dict[str, tuple[str, ...]] = {
        name: experiment.tables for name, experiment in all_.items()
    }
    return Project(config, scale, experiments, corpora, left_out, searches, tables)


def _unknown_names(folder: Path, data: Mapping[str, Any], stated: Mapping[str, str]) -> list[str]:
    """What config.yaml and the command line name that there is no file for, whatever else is wrong
    with them; entries of a wrong type are the schema's to name."""
    lines = []
    scale, results = data.get("scale"), data.get("results")
    if isinstance(scale, str) and re.fullmatch("[a-z0-9_]+", scale):
        try:
            _named(folder / "scales", scale, stated=stated["scale"])
        except ConfigError as error:
            lines.append(str(error))
    known = sorted({*TARGETS, *(path.stem for path in (folder / "experiments").glob("*.yaml"))})
    for result in results if isinstance(results, list | tuple) else ():
        if isinstance(result, str) and result not in known:
            lines.append(_unknown_result(result, known, stated["results"]))
    return lines


def _unknown_result(result: str, known: Sequence[str], stated: str) -> str:
    return f"{stated}: unknown: {result!r}{alike(result, known)} (allowed: {', '.join(known)})"


def load_corpus(path: str | Path) -> CorpusConfig:
    """One file of config/corpora. Raises ConfigError."""
    path = Path(path)
    return _validate(
        CorpusConfig, with_treebank({**read_yaml(path), "name": path.stem}, path), path
    )


def reserved_names() -> set[str]:
    """Names of rules and targets; a rule has the name of its step."""
    return {"all", "downloads", *TARGETS, *(path.stem for path in STEPS.glob("[a-z]*.py"))}


def _corpora(
    folder: Path, scale: Scale, scale_path: Path, found: list[str]
) -> dict[str, CorpusConfig]:
    corpora: dict[str, CorpusConfig] = {}
    for task, name in scale.tasks.items():
        stated = place(scale_path, ("tasks", task))
        try:
            path = _named(folder / "corpora", name, stated=stated)
            corpora[name] = corpora.get(name) or load_corpus(path)
            wanted = SIDES.get(task, ("words", "trees"))
            if corpora[name].languages != wanted:
                found.append(
                    f"{stated}: needs a corpus of {' and '.join(wanted)}, "
                    f"{name} is of {' and '.join(corpora[name].languages)}"
                )
            _add_needed(folder, corpora, corpora[name])
        except ConfigError as error:
            found += [line for line in str(error).split("\n") if line not in found]
    return corpora


def _add_needed(folder: Path, corpora: dict[str, CorpusConfig], corpus: CorpusConfig) -> None:
    """Add the corpora that a self-trained one is made of."""
    for key, name in needed(corpus.source).items():
        if name not in corpora:
            stated = place(folder / "corpora" / f"{corpus.name}.yaml", key)
            corpora[name] = load_corpus(_named(folder / "corpora", name, stated=stated))
            _add_needed(folder, corpora, corpora[name])


def _experiments(
    folder: Path, scale: Scale, scale_path: Path, found: list[str]
) -> dict[str, Experiment]:
    """Experiments by name, the extended before those that extend them."""
    files: dict[str, ExperimentFile] = {}
    parents: dict[str, str] = {}
    paths = {path.stem: path for path in sorted((folder / "experiments").glob("*.yaml"))}
    found += [
        f"{path}: is not read; rename it to {path.stem}.yaml"
        for path in sorted((folder / "experiments").glob("*.yml"))
    ]
    for name, path in paths.items():
        if name in reserved_names() or name.startswith(STAGES):
            found.append(
                f"{path}: {name} names a rule or a target of the workflow; rename the file"
            )
        try:
            data = read_yaml(path)
            if isinstance(parent := data.get("extends"), str):
                parents[name] = parent
            files[name] = _validate(ExperimentFile, data, path)
        except ConfigError as error:
            found.append(str(error))
    found += [
        f"{place(scale_path, ('settings', 'experiments', name))}: no such experiment"
        f"{alike(name, [*paths])}"
        for name in scale.settings.experiments
        if name not in paths
    ]
    chains = {}
    for name in paths:
        try:
            chains[name] = ancestry(name, parents, paths)
        except ConfigError as error:
            found += [line for line in [str(error)] if line not in found]
    if found:
        return {}
    experiments = {}
    first: dict[tuple[str, str], str] = {}  # an experiment's problem: the line that stands for it
    shared: Counter[str] = Counter()  # experiments that have the problem of a line
    for name in sorted(chains, key=lambda name: (len(chains[name]), name)):
        resolved = resolve(chains[name], files, paths, scale, scale_path)
        lines = {problem: problem for problem in resolved.problems}
        if not lines:
            try:
                experiments[name] = Experiment.model_validate({**resolved.data, "name": name})
            except ValidationError as error:
                lines = _lines(resolved, paths[name], scale, error)
        for problem, line in lines.items():
            above = [first[a, problem] for a in chains[name] if (a, problem) in first]
            first[name, problem] = above[0] if above else line
            shared[first[name, problem]] += 1
    found += [line + _also(count - 1) for line, count in shared.items()]
    return experiments


def _searches(
    folder: Path, experiments: dict[str, Experiment], found: list[str]
) -> dict[str, Search]:
    """Searches over experiments of the scale; of the others nothing is made here."""
    searches = {}
    known = {path.stem for path in (folder / "experiments").glob("*.yaml")}
    for path in sorted((folder / "searches").glob("*.yaml")):
        try:
            file = _validate(SearchFile, {**read_yaml(path), "name": path.stem}, path)
            if file.experiment not in known:
                stated = place(path, ("experiment",))
                hint = alike(file.experiment, sorted(known))
                raise ConfigError(f"{stated}: no such experiment: {file.experiment!r}{hint}")
            if file.experiment in experiments:
                searches[path.stem] = resolve_search(file, experiments[file.experiment], path)
        except ConfigError as error:
            found += str(error).split("\n")
    return searches


def _lines(resolved: Resolved, path: Path, scale: Scale, error: ValidationError) -> dict[str, str]:
    """For each problem the line that is printed, with the place where the value is stated."""
    lines = {}
    for location, text in problems(Experiment, resolved.data, error):
        key = location[:2] if location[0] in SECTIONS else location[:1]
        if origin := resolved.origins.get(key):
            where, stated = origin
            line = f"{place(where, (*stated, *location[len(key) :]))}: {text}"
            others = _places_of_others(resolved, key, text)
            lines[line] = f"{line} (at scale {scale.name}{others})"
        else:
            problem = at(location, text)
            lines[problem] = f"{path}: {problem} (at scale {scale.name})"
    return lines


def _places_of_others(resolved: Resolved, key: Location, text: str) -> str:
    """Where the other keys stand that a message names, if in another file than `key`."""
    home, _ = resolved.origins[key]
    return "".join(
        f"; {other[-1]}: {place(path, stated).partition(': ')[0]}"
        for other, (path, stated) in resolved.origins.items()
        if len(other) == 2
        and other != key
        and path != home
        and re.search(rf"\b{other[-1]}\b", text)
    )


def _also(others: int) -> str:
    """How many more experiments have a problem."""
    if not others:
        return ""
    return f"; {others} more experiments inherit this" if others > 1 else "; 1 more inherits this"


def _validate(
    model: type[M], data: dict[str, Any], path: Path, *, settings: Mapping[str, Any] | None = None
) -> M:
    """settings: those of the data that came from the command line, not from `path`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = []
        for location, text in problems(model, data, error):
            file = COMMAND_LINE if location and location[0] in (settings or {}) else path
            lines.append(f"{place(file, location)}: {text}")
        raise ConfigError("\n".join(lines)) from None


def _named(folder: Path, name: str, *, stated: str) -> Path:
    """A file by its name. stated: where the name stands."""
    path = folder / f"{name}.yaml"
    if not path.exists():
        there = sorted(other.stem for other in folder.glob("*.yaml"))
        raise ConfigError(
            f"{stated}: no such file: {path}{alike(name, there)} (there are: {', '.join(there)})"
        )
    return path
