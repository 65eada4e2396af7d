"""Labelled bracket F1 as EVALB computes it with COLLINS.prm, and the same with no line left out.

EVALB leaves out two kinds of sentence. An *error* has other words than the gold tree, or
brackets that do not balance; a *skip* has no words at all. `bracket_f1` follows EVALB.
`bracket_f1_all_lines` counts every such sentence as wholly wrong: its gold brackets are missed
and the brackets it does hold are false. Unlike the original there is no limit on the number of
brackets, words or bytes of a sentence, nor on the number of errors.

EVALB tells punctuation, which does not count, by its tag. A parser that writes no tags (every word
is tagged XX) is given those of the gold tree, word by word; its tagging accuracy is then unknown.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress

# COLLINS.prm, the settings of all published figures for the Wall Street Journal
DELETED_LABELS = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
DELETED_FOR_LENGTH = frozenset({"-NONE-"})
EQUAL_LABELS = {"PRT": "ADVP"}
CUTOFF_LENGTH = 40

UNTAGGED = "XX"  # the tag of every word in the output of a parser without tags

VALID, ERROR, SKIP = 0, 1, 2

_SPACE = r" \t\n\r\f\v"
_PIECE = re.compile(
    rf"\((?P<label>[^{_SPACE}()]*)(?:[{_SPACE}]+(?P<word>[^{_SPACE}()]*)\))?"
    rf"|(?P<close>\))|(?P<stray>[^{_SPACE}()]+)"
)
_LABEL_END = re.compile("[-=]")


@dataclass(frozen=True, slots=True)
class Parse:
    """A bracketed line as it stands: nothing deleted yet."""

    words: list[str]
    tags: list[str]
    brackets: list[tuple[int, int, str]]  # first word, word after the last (-1: none), label
    problem: str | None  # why the line is no tree

    @property
    def untagged(self) -> bool:
        return bool(self.tags) and set(self.tags) == {UNTAGGED}


@dataclass(frozen=True, slots=True)
class Counted:
    """What counts of a parse: deleted words gone, empty and deleted brackets gone."""

    words: list[str]
    tags: list[str]
    brackets: list[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One row of EVALB's listing; `gold`, `test` and `words` also where EVALB prints zeros."""

    length: int  # gold words that count towards the cut-off: all but traces
    status: int
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int
    untagged: bool  # the tags are those of the gold tree
    problem: str | None


def read_parse(line: str) -> Parse:
    """Read one bracketed line, of any depth, without recursion; a broken line gives a `problem`."""
    words: list[str] = []
    tags: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    labels: list[str] = []
    open_brackets: list[int] = []
    problem = None
    for piece in _PIECE.finditer(line):
        label, word, close, stray = piece.group("label", "word", "close", "stray")
        if word is not None:
            words.append(word)
            tags.append(label)
        elif label is not None:
            open_brackets.append(len(labels))
            labels.append(label)
            starts.append(len(words))
            ends.append(-1)
        elif close and open_brackets:
            ends[open_brackets.pop()] = len(words)
        elif close:
            problem = problem or f"a closing bracket too many at character {piece.start() + 1}"
        else:
            problem = problem or f"a word that is not in a (tag word) pair: {stray[:40]}"
    if open_brackets:
        problem = problem or f"brackets never closed: {len(open_brackets)}"
    return Parse(words, tags, list(zip(starts, ends, labels, strict=True)), problem)


def what_counts(parse: Parse, tags: Sequence[str]) -> Counted:
    """Delete by `tags`, one a word of the parse, and by label, cut at its first - or =."""
    kept = [tag not in DELETED_LABELS for tag in tags]
    position = [0, *accumulate(kept), -1]  # at the end: of a bracket never closed
    brackets = []
    for first, last, label in parse.brackets:
        start, end = position[first], position[last]
        label = _LABEL_END.split(label, maxsplit=1)[0]
        if start != end and label not in DELETED_LABELS:
            brackets.append((start, end, EQUAL_LABELS.get(label, label)))
    return Counted(list(compress(parse.words, kept)), list(compress(tags, kept)), brackets)


def score_sentence(gold_parse: Parse, test_parse: Parse) -> Sentence:
    """Compare one hypothesis with its gold tree."""
    gold_tags = [tag for tag in gold_parse.tags if tag not in DELETED_FOR_LENGTH]
    untagged = test_parse.untagged and len(test_parse.tags) == len(gold_tags)
    gold = what_counts(gold_parse, gold_parse.tags)
    test = what_counts(test_parse, gold_tags if untagged else test_parse.tags)
    status, problem = _status(gold, test, test_parse.problem)
    matched = crossing = correct_tags = 0
    if status == VALID:
        matched = (Counter(gold.brackets) & Counter(test.brackets)).total()
        crossing = count_crossing(gold, test)
        correct_tags = sum(
            EQUAL_LABELS.get(g, g) == EQUAL_LABELS.get(t, t)
            for g, t in zip(gold.tags, test.tags, strict=True)
        )
    return Sentence(
        length=len(gold_tags),
        status=status,
        matched=matched,
        gold=len(gold.brackets),
        test=len(test.brackets),
        crossing=crossing,
        words=len(gold.words),
        correct_tags=correct_tags,
        untagged=untagged,
        problem=problem,
    )


def _status(gold: Counted, test: Counted, problem: str | None) -> tuple[int, str | None]:
    if not test.words:
        return SKIP, problem or "no words"
    if len(gold.words) != len(test.words):
        return ERROR, f"words, gold and hypothesis: {len(gold.words)} and {len(test.words)}"
    for number, (expected, found) in enumerate(zip(gold.words, test.words, strict=True), start=1):
        if expected != found:
            return ERROR, f"word {number} differs, gold and hypothesis: {expected} and {found}"
    return (ERROR, problem) if problem else (VALID, None)


def count_crossing(gold: Counted, test: Counted) -> int:
    """Number of hypothesis brackets that overlap some gold bracket without nesting."""
    n_words = len(gold.words)
    first_start = [n_words] * (n_words + 1)  # by end: the leftmost start of gold brackets
    last_end = [0] * (n_words + 1)  # by start: the rightmost end
    for start, end, _ in gold.brackets:
        first_start[end] = min(first_start[end], start)
        last_end[start] = max(last_end[start], end)
    spans = Counter((start, end) for start, end, _ in test.brackets)
    return sum(
        count
        for (start, end), count in spans.items()
        if end - start > 1
        and (min(first_start[start + 1 : end]) < start or max(last_end[start + 1 : end]) > end)
    )


def score_brackets(
    hypotheses: Iterable[str], references: Iterable[str], *, name: str = "references"
) -> list[Sentence]:
    """Compare two equally long sequences of bracketed lines, line by line.

    Raises ValueError for a gold line that is no tree: a score against it would mean nothing.
    """
    sentences = []
    for number, (hypothesis, reference) in enumerate(
        zip(hypotheses, references, strict=True), start=1
    ):
        gold = read_parse(reference)
        problem = gold.problem or ("" if reference.strip() else "a blank line")
        if problem:
            raise ValueError(
                f"{name}, line {number} is not a bracketed tree ({problem}); "
                f"give one tree with tags a line, such as (S (NP (PRP I)) (VP (VBP see)))"
            )
        sentences.append(score_sentence(gold, read_parse(hypothesis)))
    return sentences


def summarize(
    sentences: Sequence[Sentence], *, all_lines: bool = False, max_length: int | None = None
) -> dict[str, float | int | None]:
    """EVALB's summary over sentences of at most `max_length` words; shares are in percent.

    With `all_lines` errors and skips count as wholly wrong; crossing is averaged over the valid
    sentences either way, for an unusable tree crosses nothing. The tagging accuracy is None where
    a sentence was `untagged`.
    """
    chosen = [s for s in sentences if max_length is None or s.length <= max_length]
    valid = [s for s in chosen if s.status == VALID]
    counted = chosen if all_lines else valid
    matched = sum(s.matched for s in counted)
    gold = sum(s.gold for s in counted)
    test = sum(s.test for s in counted)
    complete = sum(s.matched == s.gold == s.test for s in valid)
    tags = sum(s.correct_tags for s in counted)
    words = sum(s.words for s in counted)
    untagged = sum(s.untagged for s in chosen)
    return {
        "score": f1(matched, gold, test),
        "recall": _percent(matched, gold),
        "precision": _percent(matched, test),
        "complete_match": _percent(complete, len(counted)),
        "average_crossing": sum(s.crossing for s in valid) / len(valid) if valid else 0.0,
        "no_crossing": _percent(sum(s.crossing == 0 for s in valid), len(valid)),
        "two_or_less_crossing": _percent(sum(s.crossing <= 2 for s in valid), len(valid)),
        "tagging_accuracy": None if untagged else _percent(tags, words),
        "sentences": len(chosen),
        "errors": sum(s.status == ERROR for s in chosen),
        "skips": sum(s.status == SKIP for s in chosen),
        "untagged": untagged,
        "matched_brackets": matched,
        "gold_brackets": gold,
        "test_brackets": test,
        "crossing_brackets": sum(s.crossing for s in valid),
        "words": words,
        "correct_tags": tags,
    }


def f1(matched: float, gold: float, test: float) -> float:
    """Harmonic mean of recall and precision, in percent; 0 where nothing matches."""
    recall, precision = _percent(matched, gold), _percent(matched, test)
    return 2 * precision * recall / (precision + recall) if matched else 0.0


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
