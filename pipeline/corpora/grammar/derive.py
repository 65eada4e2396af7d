"""Derivations: sampling them from the rules, and what two of them may not share."""

import random
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from pipeline.corpora.grammar.nouns import Noun
from pipeline.corpora.grammar.rules import LEXICON, RANK_SHIFT, RULES, Rule
from pipeline.corpora.grammar.verbs import Verb
from pipeline.corpora.grammar.words import Adjective, Adverb, Pronoun

RELATIVE_BOOST = 5.0  # how much likelier relative clauses are while nested ones are looked for


@dataclass(frozen=True, slots=True)
class Node:
    """One rule applied: `parts` maps a role to a node or to a lexical entry."""

    symbol: str
    rule: str
    parts: Mapping[str, Any]

    def __getitem__(self, role: str) -> Any:
        return self.parts[role]

    def get(self, role: str) -> Any:
        return self.parts.get(role)


@cache
def choices(symbol: str, boost: float) -> tuple[tuple[Rule, ...], list[float]]:
    """The rules of a symbol and the running sums of their probabilities.

    `boost` multiplies the weight of rules for relative clauses.
    """
    rules = RULES[symbol]
    weights = [rule.weight * (boost if rule.name == "relative" else 1.0) for rule in rules]
    return rules, [bound / sum(weights) for bound in accumulate(weights)]


@cache
def _entries(symbol: str) -> tuple[tuple[Any, ...], list[float]]:
    """The entries of a lexical class and the running sums of their weights."""
    weights = [
        getattr(entry, "weight", 1 / (RANK_SHIFT + rank))
        for rank, entry in enumerate(LEXICON[symbol])
    ]
    return LEXICON[symbol], list(accumulate(weights))


def derive(rng: random.Random, *, symbol: str = "Sentence", boost: float = 1.0) -> Any:
    """Sample a derivation of `symbol`: a node, or an entry of a lexical class."""
    if symbol in LEXICON:
        return _draw(rng, *_entries(symbol))
    rule = _draw(rng, *choices(symbol, boost))
    if rule.name == "=":
        return derive(rng, symbol=rule.roles[0][1], boost=boost)
    parts = {role: derive(rng, symbol=part, boost=boost) for role, part in rule.roles}
    return Node(symbol, rule.name, parts)


def _draw(rng: random.Random, items: tuple[Any, ...], bounds: list[float]) -> Any:
    return items[min(bisect(bounds, rng.random() * bounds[-1]), len(items) - 1)]


def nesting(node: Node) -> int:
    """How many relative clauses stand inside one another."""
    below = [nesting(part) for part in node.parts.values() if isinstance(part, Node)]
    return max(below, default=0) + (node.rule == "relative")


def entries(node: Node) -> Iterator[Any]:
    """The lexical entries of a derivation, from first to last."""
    for part in node.parts.values():
        if isinstance(part, Node):
            yield from entries(part)
        else:
            yield part


def binds_itself(node: Node) -> bool:
    """Whether a subject "I" or "we" meets "me" or "us" below it: "we see us" is no English."""
    subject = node.get("subject")
    if subject and subject.rule == "pronoun" and subject["pronoun"].person == 1:
        others = [part for role, part in node.parts.items() if role != "subject"]
        below = [entry for part in others if isinstance(part, Node) for entry in entries(part)]
        if any(isinstance(entry, Pronoun) and entry.person == 1 for entry in below):
            return True
    return any(binds_itself(part) for part in node.parts.values() if isinstance(part, Node))


def content(node: Node) -> tuple[str, ...]:
    """The content words, sorted: lemmas of nouns, verbs, adjectives and adverbs."""
    return tuple(
        sorted(e.lemma for e in entries(node) if isinstance(e, (Noun, Verb, Adjective, Adverb)))
    )


def template(node: Node) -> str:
    """The derivation's shape without any words: rule names and roles, tense and mood left out."""
    inner = " ".join(
        f"{role}:{template(part) if isinstance(part, Node) else ''}"
        for role, part in node.parts.items()
        if role not in ("tense", "mood")
    )
    return f"{node.rule}({inner})"
