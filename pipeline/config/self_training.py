"""A corpus that a parser makes: a treebank, and raw text as a parser trained on it reads it.

What such a corpus file doesn't say (tags, names of the test sets, subwords) is the treebank's, so
that figures on both compare. Circles (a parser trained on what it parsed itself) are errors.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from pipeline.config.bounds import MOST_SHARDS
from pipeline.config.schema import BeamSize, Closed, Experiment, Lines, Name, Seed, Task, Words
from pipeline.config.yaml_files import ConfigError, place, read_yaml

KIND = "self_training"
INHERITED = ("tags", "test_sets", "subwords")


class RawText(Closed):
    """Sentences to parse: one side of the training split of a corpus, as it was prepared."""

    corpus: Name = Field(description="file of config/corpora; of a treebank the words are taken")
    side: str = Field(description="language of a translation corpus, or words")
    words: Literal["penn", "given"] = Field(
        description="penn splits raw text into words; given: they are split at spaces already"
    )
    max_sentences: Lines = Field(description="drawn by the seed if there are more")
    max_words: Words | None = Field(default=None, description="longer sentences are left out")
    seed: Seed


class SelfTrainingSource(Closed):
    """Trees of a treebank, and the surest of a parser's trees of raw text besides."""

    kind: Literal["self_training"]
    treebank: Name = Field(description="corpus whose train, dev and test trees these are too")
    parser: Name = Field(description="experiment; its first seed's averaged model parses")
    raw: RawText
    share: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        description="trees kept of each class of lengths, the surest"
    )
    beam_size: BeamSize | None = Field(
        default=None, description="of the search over raw text; null takes the parser's"
    )
    treebank_copies: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="times that the treebank's trees stand in the training text"
    )
    shards: Annotated[int, Field(ge=1, le=MOST_SHARDS)] = Field(
        default=1, description="jobs that parse, each its part of the sentences"
    )


def with_treebank(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The data of a corpus file, with what a self-trained corpus takes from its treebank.

    Raises ConfigError where it states such a key itself.
    """
    source = data.get("source")
    if not isinstance(source, Mapping) or source.get("kind") != KIND:
        return dict(data)
    name = source.get("treebank")
    if not isinstance(name, str) or not name.isidentifier():
        return dict(data)  # the schema says what is wrong with it
    stated = [key for key in INHERITED if key in data]
    if stated:
        raise ConfigError(
            "\n".join(
                f"{place(path, (key,))}: is that of {name}, its treebank; leave it out"
                for key in stated
            )
        )
    treebank = path.with_name(f"{name}.yaml")
    if not treebank.exists():
        raise ConfigError(f"{place(path, ('source', 'treebank'))}: no such file: {treebank}")
    theirs = read_yaml(treebank)
    if theirs.get("kind") != "parsing":
        raise ConfigError(
            f"{place(path, ('source', 'treebank'))}: must be a treebank, not a corpus for "
            f"{theirs.get('kind')}: {name}"
        )
    if isinstance(theirs.get("source"), Mapping) and theirs["source"].get("kind") == KIND:
        raise ConfigError(
            f"{place(path, ('source', 'treebank'))}: {treebank} is made by a parser itself; name "
            f"its treebank, {theirs['source'].get('treebank')}"
        )
    return {**data, **{key: theirs[key] for key in INHERITED if key in theirs}}


def needed(source: Any) -> dict[tuple[str, ...], str]:
    """Corpora that a corpus is made of, each under the keys that name it."""
    if source.kind != KIND:
        return {}
    return {
        ("source", "treebank"): source.treebank,
        ("source", "raw", "corpus"): source.raw.corpus,
    }


def check(
    folder: Path,
    corpora: Mapping[str, Any],
    tasks: Mapping[Task, str],
    experiments: Mapping[str, Experiment],
) -> list[str]:
    """What is wrong with the self-trained corpora of a scale; each problem names its files.

    tasks: corpus of each task; experiments: those of the scale.
    """
    problems = []
    for name, corpus in corpora.items():
        if corpus.source.kind != KIND:
            continue
        source, path = corpus.source, folder / "corpora" / f"{name}.yaml"
        raw = corpora[source.raw.corpus]
        sides = ("words",) if raw.kind == "parsing" else raw.languages
        if source.raw.side not in sides:
            problems.append(
                f"{place(path, ('source', 'raw', 'side'))}: {source.raw.corpus} has the sides "
                f"{', '.join(sides)}: {source.raw.side!r}"
            )
        stated = place(path, ("source", "parser"))
        if source.parser not in experiments:
            problems.append(f"{stated}: no experiment of this scale: {source.parser!r}")
            continue
        circle = _circle(name, corpora, tasks, experiments)
        if circle:
            problems.append(f"{stated}: goes round in a circle: {circle}")
            continue
        own = corpora[tasks[experiments[source.parser].task]]
        if own.name != source.treebank and getattr(own.source, "treebank", "") != source.treebank:
            problems.append(
                f"{stated}: {source.parser} is trained on {own.name}, whose vocabulary is not "
                f"that of {source.treebank}, the treebank here"
            )
    return problems


def _circle(
    start: str,
    corpora: Mapping[str, Any],
    tasks: Mapping[Task, str],
    experiments: Mapping[str, Experiment],
) -> str:
    """How a corpus comes to be made of itself, in words; "" if it does not."""
    told, seen, waiting = "", {start}, [(start, "")]
    while waiting:
        name, told = waiting.pop()
        source = corpora[name].source
        if source.kind != KIND or source.parser not in experiments:
            continue
        trained_on = tasks[experiments[source.parser].task]
        here = (
            f"config/corpora/{name}.yaml is parsed by config/experiments/{source.parser}.yaml, "
            f"which is trained on config/corpora/{trained_on}.yaml"
        )
        for other, how in (
            (trained_on, here),
            (source.raw.corpus, f"config/corpora/{name}.yaml parses {source.raw.corpus}"),
        ):
            chain = f"{told}; {how}" if told else how
            if other == start:
                return chain
            if other not in seen:
                seen.add(other)
                waiting.append((other, chain))
    return ""
