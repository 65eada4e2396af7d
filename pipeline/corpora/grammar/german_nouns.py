"""German noun phrases: articles, adjective endings, weak nouns, contractions, by case."""

from pipeline.corpora.grammar.derive import Node
from pipeline.corpora.grammar.nouns import Noun
from pipeline.corpora.grammar.words import Adjective, Determiner, Pronoun

CASES = ("nom", "acc", "dat", "gen")
GENDERS = {"m": 0, "f": 1, "n": 2, "pl": 3}

# endings by case: masculine, feminine, neuter, plural
DEFINITE = {
    "nom": ("er", "ie", "as", "ie"),
    "acc": ("en", "ie", "as", "ie"),
    "dat": ("em", "er", "em", "en"),
    "gen": ("es", "er", "es", "er"),
}
STRONG = {
    "nom": ("er", "e", "es", "e"),
    "acc": ("en", "e", "es", "e"),
    "dat": ("em", "er", "em", "en"),
    "gen": ("en", "er", "en", "er"),
}
DEMONSTRATIVE = {**STRONG, "gen": ("es", "er", "es", "er")}
INDEFINITE = {
    "nom": ("", "e", "", "e"),
    "acc": ("en", "e", "", "e"),
    "dat": ("em", "er", "em", "en"),
    "gen": ("es", "er", "es", "er"),
}
WEAK = {
    "nom": ("e", "e", "e", "en"),
    "acc": ("en", "e", "e", "en"),
    "dat": ("en", "en", "en", "en"),
    "gen": ("en", "en", "en", "en"),
}
MIXED = {**WEAK, "nom": ("er", "e", "es", "en"), "acc": ("en", "e", "es", "en")}
RELATIVE = {
    "nom": ("der", "die", "das", "die"),
    "acc": ("den", "die", "das", "die"),
    "dat": ("dem", "der", "dem", "denen"),
    "gen": ("dessen", "deren", "dessen", "deren"),
}
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "das"): "ans",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}


NO = "kein"


def core(node: Node, case: str, *, no: bool = False) -> list[str]:
    """Determiner, adjectives, noun; with `no` the indefinite determiner gives way to "kein"."""
    determiner: Determiner = node["determiner"]
    noun: Noun = node["noun"]
    plural = determiner.number == "pl"
    column = GENDERS["pl" if plural else noun.de_gender]
    article, endings = _article(determiner, case, column)
    if no:
        article, endings = NO + INDEFINITE[case][column], MIXED
    adjectives: list[Adjective] = [a for role in ("first", "last") if (a := node.get(role))]
    inflected = [adjective.de_stem + endings[case][column] for adjective in adjectives]
    return [*([article] if article else []), *inflected, noun_form(noun, case, plural=plural)]


def is_indefinite(node: Node) -> bool:
    return node.rule == "core" and node["determiner"].lemma in ("a", "bare")


def _article(
    determiner: Determiner, case: str, column: int
) -> tuple[str, dict[str, tuple[str, str, str, str]]]:
    """The inflected determiner and the endings of an adjective after it."""
    if determiner.de_pattern == "indefinite":
        return determiner.de + INDEFINITE[case][column], MIXED
    if determiner.de_pattern == "definite":
        endings = DEFINITE if determiner.de == "d" else DEMONSTRATIVE
        return determiner.de + endings[case][column], WEAK
    if determiner.de_pattern == "strong" and determiner.de:
        return determiner.de + STRONG[case][column], STRONG
    return determiner.de, STRONG


def noun_form(noun: Noun, case: str, *, plural: bool) -> str:
    if plural:
        needs_n = case == "dat" and noun.de_plural[-1] not in "ns"
        return noun.de_plural + ("n" if needs_n else "")
    return {"nom": noun.de, "gen": noun.de_genitive}.get(case, noun.de_oblique)


def definite(noun: Noun, case: str) -> list[str]:
    """The noun with the definite article, singular."""
    article = "d" + DEFINITE[case][GENDERS[noun.de_gender]]
    return [article, noun_form(noun, case, plural=False)]


def pronoun(entry: Pronoun, case: str) -> str:
    return entry.de[CASES.index(case)]


def prepositional(preposition: str, np: list[str]) -> list[str]:
    """Preposition and noun phrase, contracted where German must: "in dem" is "im"."""
    contracted = CONTRACTIONS.get((preposition, np[0]))
    return [contracted, *np[1:]] if contracted else [preposition, *np]


def relative_pronoun(noun: Noun, case: str, *, plural: bool) -> str:
    return RELATIVE[case][GENDERS["pl" if plural else noun.de_gender]]
