"""Outputs worth reading: translations from worst to best, parse trees beside the gold."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU

from pipeline.corpora.trees import parse_tree
from pipeline.evaluation.brackets import f1, score_brackets
from pipeline.results.figures_scores import Translations
from pipeline.results.html_parts import text
from pipeline.results.tree_drawing import tree_svg

EXAMPLES = 6
RANKED = 500  # sentences scored, spread evenly over the test set
MAX_TREE_WORDS = 16


@dataclass(frozen=True)
class Example:
    line: int  # from 1
    score: float  # sentence sacrebleu
    source: str
    hypothesis: str
    reference: str


def choose_examples(translations: Translations, *, count: int = EXAMPLES) -> list[Example]:
    """`count` sentences at even ranks of sentence sacrebleu, from the worst to the best."""
    total = len(translations.references)
    step = max(1, total // RANKED)
    metric = BLEU(effective_order=True)
    scored = [
        Example(
            line=i + 1,
            score=metric.sentence_score(
                translations.hypotheses[i], [translations.references[i]]
            ).score,
            source=translations.sources[i],
            hypothesis=translations.hypotheses[i],
            reference=translations.references[i],
        )
        for i in range(0, total, step)
    ]
    scored.sort(key=lambda example: (example.score, example.line))
    last = len(scored) - 1
    ranks = sorted({round(last * i / max(1, count - 1)) for i in range(count)})
    return [scored[rank] for rank in ranks]


def translations_html(translations: Translations, *, signature: str) -> str:
    """Examples of one system as a list of source, ours and reference."""
    parts = []
    for example in choose_examples(translations):
        lines = (
            ("source", example.source),
            ("ours", example.hypothesis),
            ("reference", example.reference),
        )
        pairs = "".join(f"<dt>{name}</dt><dd>{text(line)}</dd>" for name, line in lines)
        parts.append(
            f'<div class="example"><p>line {example.line}, sentence sacrebleu '
            f"{example.score:.1f}</p><dl>{pairs}</dl></div>"
        )
    note = f'<p class="note">Sentence scores by {text(signature)}, effective order.</p>'
    return "".join(parts) + note


def trees_html(hypotheses: Sequence[str], references: Sequence[str], *, count: int = 4) -> str:
    """Drawn parses: the worst, and others at even ranks of F1, of sentences that fit a page."""
    sentences = score_brackets(hypotheses, references)
    scored = sorted(
        (f1(sentence.matched, sentence.gold, sentence.test), index)
        for index, sentence in enumerate(sentences)
        if sentence.problem is None and 3 < sentence.length <= MAX_TREE_WORDS
    )
    if not scored:
        return "<p>No sentence short enough to draw.</p>"
    ranks = sorted({round((len(scored) - 1) * i / max(1, count - 1)) for i in range(count)})
    parts = []
    for rank in ranks:
        score, index = scored[rank]
        drawings = [("ours", hypotheses[index])]
        if hypotheses[index] != references[index]:
            drawings.append(("gold", references[index]))
        pairs = "".join(
            f'<figure><p class="note">{name}</p>'
            f'<div class="wide">{tree_svg(parse_tree(line))}</div></figure>'
            for name, line in drawings
        )
        heading = f"line {index + 1}, bracket F1 {score:.1f}"
        parts.append(f'<div class="example"><p>{heading}</p><div class="trees">{pairs}</div></div>')
    return "".join(parts)
