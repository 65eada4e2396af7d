"""The listing that EVALB prints, character by character, for those who compare or feed on it."""

from collections.abc import Sequence
from typing import Any

from pipeline.evaluation.brackets import CUTOFF_LENGTH, VALID, Sentence, summarize

HEAD = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag",
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy",
)
RULE = "=" * 76


def evalb_report(sentences: Sequence[Sentence]) -> list[str]:
    """Lines of EVALB's output: one row a sentence, the totals, and the two summaries.

    Of untagged hypotheses, as if they had been given the gold tags.
    """
    rows = [_row(number, sentence) for number, sentence in enumerate(sentences, start=1)]
    totals = summarize(sentences)
    short = summarize(sentences, max_length=CUTOFF_LENGTH)
    return [
        *HEAD, RULE, *rows, RULE, _totals(totals), "=== Summary ===",
        *_summary("All", totals), *_summary(f"len<={CUTOFF_LENGTH}", short),
    ]  # fmt: skip


def _row(number: int, sentence: Sentence) -> str:
    gold, test, words = sentence.gold, sentence.test, sentence.words
    if sentence.status != VALID:
        gold = test = words = 0
    matched, tags = sentence.matched, sentence.correct_tags
    return (
        f"{number:4d}  {sentence.length:3d}    {sentence.status:d}  "
        f"{_percent(matched, gold):6.2f} {_percent(matched, test):6.2f}   {matched:3d}    "
        f"{gold:3d}  {test:3d}    {sentence.crossing:3d}   {words:4d}  {tags:4d}   "
        f"{_percent(tags, words):6.2f}"
    )


def _totals(summary: dict[str, Any]) -> str:
    brackets = ""
    if summary["gold_brackets"] and summary["test_brackets"]:
        brackets = (
            f"                {summary['recall']:6.2f} {summary['precision']:6.2f} "
            f"{summary['matched_brackets']:6d} {summary['gold_brackets']:5d} "
            f"{summary['test_brackets']:5d}  {summary['crossing_brackets']:5d}"
        )
    return (
        f"{brackets}  {summary['words']:5d} {summary['correct_tags']:5d}   "
        f"{_percent(summary['correct_tags'], summary['words']):6.2f}"
    )


def _summary(name: str, summary: dict[str, Any]) -> list[str]:
    valid = summary["sentences"] - summary["errors"] - summary["skips"]
    tagging = _percent(summary["correct_tags"], summary["words"])
    return [
        "",
        f"-- {name} --",
        f"Number of sentence        = {summary['sentences']:6d}",
        f"Number of Error sentence  = {summary['errors']:6d}",
        f"Number of Skip  sentence  = {summary['skips']:6d}",
        f"Number of Valid sentence  = {valid:6d}",
        f"Bracketing Recall         = {summary['recall']:6.2f}",
        f"Bracketing Precision      = {summary['precision']:6.2f}",
        f"Bracketing FMeasure       = {summary['score']:6.2f}",
        f"Complete match            = {summary['complete_match']:6.2f}",
        f"Average crossing          = {summary['average_crossing']:6.2f}",
        f"No crossing               = {summary['no_crossing']:6.2f}",
        f"2 or less crossing        = {summary['two_or_less_crossing']:6.2f}",
        f"Tagging accuracy          = {tagging:6.2f}",
    ]


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
