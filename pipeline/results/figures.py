"""All figures of a scale: which can be drawn from what is there, drawn, saved, and listed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.files import read_json, read_lines, write_json
from pipeline.progress import log
from pipeline.results.costs import Rates
from pipeline.results.figure_style import Drawn, save, style
from pipeline.results.figures_model import draw_attention, draw_layer_times, draw_positions
from pipeline.results.figures_scores import Translations, draw_ablation, draw_bleu_by_length
from pipeline.results.figures_training import (
    draw_curves,
    draw_learning_rate,
    draw_speed,
    panels_of,
)
from pipeline.results.metrics import Curves, read_curves
from pipeline.results.published import PublishedLayers, PublishedTable
from pipeline.results.runs import Manifest, gather_runs
from pipeline.results.tables import build_table

INDEX = "figures.json"


@dataclass(frozen=True)
class Evaluation:
    """One decoded test set: scores.json and the folder it lies in, with hypotheses beside it."""

    folder: Path
    scores: Manifest
    corpus: Path  # folder of the corpus, with text/<split>.<side>

    def text(self, label: str) -> Translations:
        """Source, hypotheses, references; sides by the languages that scores.json names."""
        source, target = self.scores["languages"].split("-")
        texts, split = self.corpus / "text", self.scores["split"]
        return Translations(
            label=label,
            sources=read_lines(texts / f"{split}.{source}"),
            hypotheses=read_lines(self.folder / "hypotheses.txt"),
            references=read_lines(texts / f"{split}.{target}"),
        )


@dataclass(frozen=True)
class FigureInputs:
    scale: str
    trains: Mapping[str, Manifest]
    scores: Mapping[str, Manifest]
    perplexities: Mapping[str, Manifest]
    published: Mapping[str, PublishedTable]  # by table2, table3, table4
    layers: PublishedLayers
    rates: Rates
    corpora: Path  # results/<scale>/corpora
    times: Mapping[str, Any] | None = None
    attention: Sequence[Mapping[str, Any]] = field(default=())


def draw_all(inputs: FigureInputs, folder: Path) -> list[dict[str, Any]]:
    """Draw and save every figure that the inputs allow; write and return figures.json's list."""
    index = []
    with style():
        for drawn in _figures(inputs):
            files = [path.name for path in save(drawn, folder)]
            log(f"wrote: {folder / drawn.name}.svg, .png")
            entry = {"name": drawn.name, "title": drawn.title, "caption": drawn.caption}
            index.append({**entry, "files": files})
    write_json(folder / INDEX, {"step": "figures", "scale": inputs.scale, "figures": index})
    return index


def _figures(inputs: FigureInputs) -> Iterator[Drawn]:
    """Results first, then training, then what the model does."""
    yield from _of_scores(inputs)
    curves = [read_curves(train) for train in inputs.trains.values()]
    if curves:
        yield from _of_training(curves, list(inputs.published.values()))
    for attention in inputs.attention:
        yield from draw_attention(attention)
    if curves:
        yield draw_positions(curves[0].train["model"]["d_model"])
    if inputs.times is not None:
        yield draw_layer_times(inputs.times, inputs.layers)


def _of_scores(inputs: FigureInputs) -> Iterator[Drawn]:
    table3 = inputs.published["table3"]
    runs = gather_runs(
        trains=inputs.trains,
        scores=inputs.scores,
        perplexities=inputs.perplexities,
        scale=inputs.scale,
        split=table3.split,
        n_average=table3.n_average,
    )
    if any(run.scores for run in runs.all()):
        frame = build_table(table3, runs, rates=inputs.rates).frame
        yield draw_ablation(frame, scale=inputs.scale)
    if systems := _systems(inputs):
        yield draw_bleu_by_length(systems)


def _of_training(curves: Sequence[Curves], tables: Sequence[PublishedTable]) -> Iterator[Drawn]:
    panels = panels_of(curves, tables)
    yield draw_curves(
        panels,
        key="loss",
        name="training_loss",
        title="Training loss",
        heading="loss, nats a token",
        caption="Training loss of every run (running mean), label smoothing included.",
    )
    yield draw_curves(
        panels,
        key="dev_perplexity",
        name="dev_perplexity",
        title="Dev perplexity",
        heading="perplexity a subword",
        caption="Perplexity a subword of the dev set during training, without smoothing.",
    )
    yield draw_learning_rate(curves)
    yield draw_speed(curves)


def _systems(inputs: FigureInputs) -> dict[str, list[Translations]]:
    """Decoded test sets of Table 2's experiments by test set; the first seed of each."""
    corpora = {train["run"]: train["corpus"] for train in inputs.trains.values()}
    labels = {row.experiment: row.label for row in inputs.published["table2"].rows()}
    systems: dict[str, list[Translations]] = {}
    seen = set()
    for evaluation in evaluations(inputs.scores, corpora=corpora, folder=inputs.corpora):
        scores = evaluation.scores
        if scores["split"] != "test" or scores["experiment"] not in labels.keys() - seen:
            continue
        seen.add(scores["experiment"])
        heading = f"{scores['languages']}, {scores['test_set']}"
        systems.setdefault(heading, []).append(evaluation.text(labels[scores["experiment"]]))
    return systems


def evaluations(
    scores: Mapping[str, Manifest], *, corpora: Mapping[str, str], folder: Path
) -> Iterable[Evaluation]:
    """Evaluations whose hypotheses lie beside their scores; `corpora` names a run's corpus."""
    for path, manifest in scores.items():
        corpus = corpora.get(manifest.get("run", ""))
        if corpus and (Path(path).parent / "hypotheses.txt").is_file():
            yield Evaluation(Path(path).parent, manifest, folder / corpus)


def load_attention(
    paths: Iterable[str | Path], *, choices: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """attention.json files with the choices made by hand for their names.

    Raises ValueError for two of one name, and for a choice whose name no file has.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for path in paths:
        attention = read_json(path)
        name = attention["name"]
        if name in found:
            raise ValueError(f"{path}: another attention file has the same name: {name}")
        found[name] = {**attention, **choices.get(name, {})}
    if unknown := choices.keys() - found.keys():
        names = ", ".join(found) or "none"
        raise ValueError(f"no attention map of this name (there are: {names}): {min(unknown)}")
    return list(found.values())
