"""The table of rules: a proper probabilistic grammar, all of it in use."""

import random
from collections import Counter

import pytest

from pipeline.corpora.grammar.corpus import generate
from pipeline.corpora.grammar.derive import Node, choices, derive, entries
from pipeline.corpora.grammar.rules import LEXICON, RULES


@pytest.fixture(scope="module")
def train() -> list[Node]:
    return [s.node for s in generate(sizes={"train": 8000}, seed=3)["train"]]


@pytest.mark.parametrize("symbol", sorted(RULES))
@pytest.mark.parametrize("boost", [1.0, 5.0])
def test_probabilities_of_a_symbol_sum_to_one(symbol, boost):
    rules, bounds = choices(symbol, boost)
    assert len(rules) == len(bounds)
    assert bounds == sorted(bounds)
    assert bounds[0] > 0
    assert bounds[-1] == pytest.approx(1.0)
    assert all(rule.weight > 0 for rule in rules)


def test_every_symbol_named_is_defined_and_reached():
    named = {part for rules in RULES.values() for rule in rules for _, part in rule.roles}
    assert named <= set(RULES) | set(LEXICON)
    reached, todo = set(), ["Sentence"]
    while todo:
        symbol = todo.pop()
        if symbol not in reached:
            reached.add(symbol)
            todo += [part for rule in RULES.get(symbol, ()) for _, part in rule.roles]
    assert reached == set(RULES) | set(LEXICON)


def test_every_rule_is_used(train):
    used = Counter(
        (node.symbol, node.rule, tuple(node.parts)) for root in train for node in _all(root)
    )
    for symbol, rules in RULES.items():
        for rule in rules:
            if rule.name != "=":
                assert used[symbol, rule.name, tuple(role for role, _ in rule.roles)], rule


def test_every_lexeme_occurs_in_training_text(train):
    seen = Counter(entry for root in train for entry in entries(root))
    lexemes = {entry for rows in LEXICON.values() for entry in rows}
    assert lexemes <= set(seen)
    assert min(seen[lexeme] for lexeme in lexemes) >= 4


def test_rules_are_drawn_as_often_as_their_probability_says():
    rng = random.Random(0)
    tenses = Counter(derive(rng, symbol="Tense").rule for _ in range(20_000))
    total = sum(rule.weight for rule in RULES["Tense"])
    for rule in RULES["Tense"]:
        share = rule.weight / total
        sigma = (share * (1 - share) / 20_000) ** 0.5
        assert abs(tenses[rule.name] / 20_000 - share) < 5 * sigma


def _all(node: Node):
    yield node
    for part in node.parts.values():
        if isinstance(part, Node):
            yield from _all(part)
