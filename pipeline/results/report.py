"""One HTML file that holds every result of a scale and opens from disk, without a network."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.files import read_json, read_lines
from pipeline.results.costs import Rates
from pipeline.results.examples import translations_html, trees_html
from pipeline.results.figures import Evaluation, evaluations
from pipeline.results.formats import TABLE_STYLE
from pipeline.results.html_parts import details, image, render_markdown, text
from pipeline.results.notes import at_commit, short, short_commits
from pipeline.results.report_style import STYLE
from pipeline.results.run_cards import run_card, scores_by_run
from pipeline.results.runs import Manifest

BODY = re.compile(r"<body>(.*)</body>", re.DOTALL)


@dataclass(frozen=True)
class ReportInputs:
    scale: str
    trains: Mapping[str, Manifest]
    scores: Mapping[str, Manifest]
    tables: Sequence[Path]  # tableN.html
    figures: Path | None  # figures.json
    cards: Sequence[Path]  # card.md of each corpus
    corpora: Path  # results/<scale>/corpora
    deviations: Path | None
    rates: Rates
    commit: str  # of the code that writes the report


@dataclass(frozen=True)
class Part:
    identifier: str
    title: str
    body: str


def build_report(inputs: ReportInputs) -> str:
    """The whole page. A part that has nothing to show is left out, and so is its link."""
    found = list(evaluations(inputs.scores, corpora=_corpora(inputs), folder=inputs.corpora))
    parts = [
        Part("tables", "Tables", _tables(inputs)),
        Part("figures", "Figures", _figures(inputs)),
        Part("translations", "Translations", _translations(found)),
        Part("trees", "Parse trees", _trees(found)),
        Part("corpora", "Corpora", _cards(inputs)),
        Part("runs", "Runs", _runs(inputs)),
        Part("deviations", "Deviations", _deviations(inputs)),
    ]
    parts = [part for part in parts if part.body]
    title = f"Reattend: {inputs.scale}"
    links = "".join(f'<a href="#{part.identifier}">{part.title}</a>' for part in parts)
    sections = "".join(
        f'<section id="{part.identifier}"><h2>{part.title}</h2>{part.body}</section>\n'
        for part in parts
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{TABLE_STYLE}{STYLE}</style></head>\n"
        f"<body><header><h1>{text(title)}</h1>{_summary(inputs)}</header>\n"
        f'<nav aria-label="parts">{links}</nav>\n<main>{sections}</main></body></html>\n'
    )


def _summary(inputs: ReportInputs) -> str:
    made = short_commits([*inputs.trains.values(), *inputs.scores.values()])
    report, count = short(inputs.commit), len(inputs.trains)
    commits = f"results made at {at_commit(made)}" if made else ""
    if made and made != [report]:
        commits += f"; this report at {at_commit([report])}"
    return (
        "<p>Results of <em>Attention Is All You Need</em>, the paper’s figures beside ours, at "
        f"scale <strong>{text(inputs.scale)}</strong>: {count} training run{'s' * (count != 1)}"
        + (f"; {text(commits)}" if commits else "")
        + ".</p>"
    )


def _corpora(inputs: ReportInputs) -> dict[str, str]:
    return {train["run"]: train["corpus"] for train in inputs.trains.values()}


def _tables(inputs: ReportInputs) -> str:
    bodies = []
    for path in inputs.tables:
        found = BODY.search(path.read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f"{path}: no <body> in it; was it written by a table step?")
        bodies.append(f'<article id="{text(path.stem)}">{found[1]}</article>')
    return "".join(bodies)


def _figures(inputs: ReportInputs) -> str:
    if inputs.figures is None:
        return ""
    folder, parts = inputs.figures.parent, []
    for entry in read_json(inputs.figures)["figures"]:
        drawing = next(folder / name for name in entry["files"] if name.endswith(".svg"))
        parts.append(
            f'<figure id="figure-{text(entry["name"])}"><h3>{text(entry["title"])}</h3>'
            f"{image(drawing, alt=entry['title'])}"
            f"<figcaption>{text(entry['caption'])}</figcaption></figure>"
        )
    return "".join(parts)


def _translations(found: Sequence[Evaluation]) -> str:
    """Examples of each experiment's first seed, on the test set."""
    parts, seen = [], set()
    for evaluation in found:
        scores = evaluation.scores
        entry = scores["scores"].get("sacrebleu")
        if entry is None or scores["split"] != "test" or scores["experiment"] in seen:
            continue
        seen.add(scores["experiment"])
        body = translations_html(evaluation.text(scores["run"]), signature=entry["signature"])
        heading = f"{scores['run']}, {scores['test_set']}: sacrebleu {entry['score']:.1f}"
        parts.append(details(heading, body, shown=not parts))
    return "".join(parts)


def _trees(found: Sequence[Evaluation]) -> str:
    parts, seen = [], set()
    for evaluation in found:
        scores = evaluation.scores
        entry = scores["scores"].get("bracket_f1")
        if entry is None or scores["split"] != "test" or scores["experiment"] in seen:
            continue
        seen.add(scores["experiment"])
        gold = read_lines(evaluation.corpus / "text" / f"{scores['split']}.trees")
        body = trees_html(read_lines(evaluation.folder / "hypotheses.txt"), gold)
        heading = f"{scores['run']}, {scores['test_set']}: bracket_f1 {entry['score']:.1f}"
        parts.append(details(heading, body, shown=not parts))
    return "".join(parts)


def _cards(inputs: ReportInputs) -> str:
    parts = []
    for path in inputs.cards:
        source = path.read_bytes().decode("utf-8")
        title, rest = _split_title(source, default=path.parent.name)
        body = render_markdown(rest, folder=path.parent)
        parts.append(details(title, body, identifier=f"corpus-{path.parent.name}"))
    return "".join(parts)


def _runs(inputs: ReportInputs) -> str:
    scores = scores_by_run(inputs.scores)
    ordered = sorted(inputs.trains.values(), key=lambda train: train["run"])
    return "".join(
        run_card(train, scores.get(train["run"], []), rates=inputs.rates) for train in ordered
    )


def _deviations(inputs: ReportInputs) -> str:
    if inputs.deviations is None:
        return ""
    _, rest = _split_title(inputs.deviations.read_bytes().decode("utf-8"), default="")
    return render_markdown(rest, folder=inputs.deviations.parent)


def _split_title(source: str, *, default: str) -> tuple[str, str]:
    """The first heading of a Markdown text as plain text, and the text without it."""
    first, _, rest = source.partition("\n")
    return (html.unescape(first[2:]), rest) if first.startswith("# ") else (default, source)
