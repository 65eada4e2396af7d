"""Silver trees: which sentences a parser reads, and which of its trees are good enough to keep.

The paper's semi-supervised parser trains on trees that other parsers agreed on or were sure of.
For those without such trees, a parser trained on the treebank alone parses raw text, and what is
kept is decided here. All functions are pure: lists in, positions out.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.corpora.linearise import linearise
from pipeline.corpora.penn_words import escape_brackets, penn_words
from pipeline.corpora.punctuation import MENDED
from pipeline.corpora.trees import Tree, leaves, split_words
from pipeline.files import read_lines, write_lines

WordsOf = Callable[[str], list[str]]
COLUMNS = ("line", "log_prob", "n_tokens", "repairs")


def words_of(kind: str) -> WordsOf:
    """How a line of raw text becomes words: "penn" splits it, "given" has them between spaces."""
    if kind == "penn":
        return penn_words
    return lambda line: [escape_brackets(word) for word in split_words(line)]


def choose_sentences(
    lines: Iterable[str],
    *,
    words_of: WordsOf,
    max_sentences: int,
    max_words: int | None,
    seed: int,
    shard: int = 0,
    shards: int = 1,
) -> list[tuple[int, str]]:
    """(line number from 1, words joined by spaces) of the sentences that shard `shard` parses.

    Blank lines, sentences of more than max_words words and repetitions are left out. Of the rest
    max_sentences are drawn by the seed, each equally likely, and dealt out to the shards in turn.
    """
    found: list[tuple[int, str]] = []
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        words = words_of(line)
        if not words or (max_words is not None and len(words) > max_words):
            continue
        sentence = " ".join(words)
        if sentence not in seen:
            seen.add(sentence)
            found.append((number, sentence))
    if len(found) > max_sentences:
        generator = np.random.default_rng(seed)
        drawn = np.sort(generator.choice(len(found), max_sentences, replace=False))
        found = [found[index] for index in drawn]
    return found[shard::shards]


@dataclass(frozen=True)
class Parsed:
    """What a parser said of one sentence: a line of the columns beside its trees."""

    line: int
    log_prob: float
    n_tokens: int
    repairs: Counter[str]

    @property
    def repaired(self) -> bool:
        """Whether its brackets had to be repaired; of a mended tag they are as sure as before."""
        return bool(self.repairs.keys() - {MENDED})


def write_columns(path: str | Path, rows: Iterable[Parsed]) -> None:
    """A header and one line a tree: its line in the raw text, log-probability, symbols, repairs."""

    def text() -> Iterable[str]:
        yield "\t".join(COLUMNS)
        for row in rows:
            repairs = ",".join(f"{name}={n}" for name, n in sorted(row.repairs.items()))
            yield f"{row.line}\t{row.log_prob!r}\t{row.n_tokens}\t{repairs}"

    write_lines(path, text())


def read_columns(path: str | Path) -> list[Parsed]:
    """Raises ValueError naming the file where it is not one that `write_columns` wrote."""
    header, *lines = read_lines(path)
    if tuple(header.split("\t")) != COLUMNS:
        raise ValueError(f"{path}: the first line must name the columns {', '.join(COLUMNS)}")
    rows = []
    for line in lines:
        number, log_prob, n_tokens, repairs = line.split("\t")
        counts = dict(repair.split("=") for repair in repairs.split(",") if repair)
        found = Counter({name: int(n) for name, n in counts.items()})
        rows.append(Parsed(int(number), float(log_prob), int(n_tokens), found))
    return rows


def select_confident(
    sentences: Sequence[str],
    parsed: Sequence[Parsed],
    *,
    share: float,
    known: Iterable[str] = (),
) -> list[int]:
    """Positions of the trees to keep, ascending. sentences: the words of each, joined by spaces.

    The rule: (1) a tree whose brackets needed a repair goes, one over a `known` sentence (those of
    the treebank, dev and test included), and every copy of one sentence but the first; (2) the rest
    stand in classes by number of words: 1-2, 3-4, 5-8, 9-16, and so on, twice as wide each; (3)
    of each class the best `share`, rounded up, by log-probability for each symbol (eos counted)
    is kept. Without (2) short sentences, which are the easy ones, would crowd out the others, and
    the next parser would learn nothing about long ones.
    Equal confidence: the earlier tree first. Raises ValueError unless 0 < share <= 1.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share of trees to keep must be above 0 and at most 1: {share}")
    classes: dict[int, list[int]] = defaultdict(list)
    seen = set(known)
    for index, (sentence, row) in enumerate(zip(sentences, parsed, strict=True)):
        if sentence in seen or row.repaired:
            continue
        seen.add(sentence)
        classes[length_class(sentence.count(" ") + 1)].append(index)
    kept: list[int] = []
    for indices in classes.values():
        indices.sort(key=lambda i: (-parsed[i].log_prob / parsed[i].n_tokens, i))
        kept += indices[: math.ceil(share * len(indices))]
    return sorted(kept)


def length_class(n_words: int) -> int:
    """0 for 1-2 words, 1 for 3-4, 2 for 5-8, 3 for 9-16, and so on."""
    return max(0, (n_words - 1).bit_length() - 1)


def by_length(sentences: Iterable[str]) -> dict[str, int]:
    """How many sentences there are of each class, by the most words of the class."""
    counts = Counter(length_class(sentence.count(" ") + 1) for sentence in sentences)
    return {str(2 ** (key + 1)): counts[key] for key in sorted(counts)}


def agreeing(first: Sequence[Tree], second: Sequence[Tree]) -> list[int]:
    """Positions where two parsers gave the same brackets, whatever their tags.

    The stronger test of confidence, at twice the cost: two models of different seeds seldom make
    the same error. Both must have parsed the same sentences. Raises ValueError if not.
    """
    if len(first) != len(second):
        raise ValueError(f"parsers gave different numbers of trees: {len(first)} and {len(second)}")
    kept = []
    for index, (one, other) in enumerate(zip(first, second, strict=True)):
        if leaves(one) != leaves(other):
            raise ValueError(f"tree {index + 1}: the parsers read different words")
        if linearise(one, tags="drop") == linearise(other, tags="drop"):
            kept.append(index)
    return kept
