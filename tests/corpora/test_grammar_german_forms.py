"""German forms by hand-written tables that the generator does not use: endings, cases, pronouns."""

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from pipeline.corpora.grammar import generate_pairs

# nouns by gender, with the forms of the singular and of the plural
MASCULINE = {"Hund": "Hunde", "König": "Könige", "Arzt": "Ärzte", "Vater": "Väter"}
FEMININE = {"Frau": "Frauen", "Königin": "Königinnen", "Katze": "Katzen", "Uhr": "Uhren"}
NEUTER = {"Kind": "Kinder", "Pferd": "Pferde", "Buch": "Bücher", "Haus": "Häuser"}
WEAK = {"Junge": "Jungen", "Student": "Studenten", "Bauer": "Bauern", "Löwe": "Löwen"}
GENITIVES = {"Hundes", "Königs", "Arztes", "Vaters", "Kindes", "Pferdes", "Buches", "Hauses"}

# (article, ending of an adjective) that may stand before a noun
BEFORE = {
    "masculine": "der e|den en|dem en|ein er|einen en|einem en|dieser e|diesen en|diesem en|"
    "jeder e|jeden en|jedem en|kein er|keinen en|keinem en|mein er|meinen en|meinem en",
    "feminine": "die e|der en|eine e|einer en|diese e|dieser en|jede e|jeder en|keine e|keiner en|"
    "meine e|meiner en",
    "neuter": "das e|dem en|ein es|einem en|dieses e|diesem en|jedes e|jedem en|kein es|keinem en|"
    "mein es|meinem en",
    "plural": "die en|den en|der en|diese en|diesen en|dieser en|meine en|meinen en|keine en|"
    "keinen en|zwei e|zwei en|drei e|drei en|vier e|vier en|viele e|vielen en|einige e|einigen en",
    "genitive": "des en|eines en|dieses en",  # of masculines and neuters
}
ALLOWED = {kind: {tuple(pair.split()) for pair in row.split("|")} for kind, row in BEFORE.items()}
ARTICLES = {article for pairs in ALLOWED.values() for article, _ in pairs}

PLURAL_ARTICLES = {article for article, _ in ALLOWED["plural"]}

DATIVE = {"dem", "der", "den", "einem", "einer", "diesem", "dieser", "diesen", "jedem", "jeder"}
ACCUSATIVE = {
    "den",
    "die",
    "das",
    "einen",
    "eine",
    "ein",
    "diesen",
    "diese",
    "dieses",
    "jeden",
    "jede",
    "jedes",
}
GENITIVE = {"des", "der", "eines", "einer", "dieses", "dieser"}
GOVERNED = {
    **dict.fromkeys(["mit", "bei", "von", "hinter", "unter", "nach", "vor"], DATIVE),
    **dict.fromkeys(["für", "ohne", "durch", "gegen", "über"], ACCUSATIVE),
    "trotz": GENITIVE,
}
RELATIVES = {
    "masculine": {"der", "den", "dem", "dessen"},
    "feminine": {"die", "der", "deren"},
    "neuter": {"das", "dem", "dessen"},
    "plural": {"die", "denen", "deren"},
}
TABLES = [(MASCULINE, "masculine"), (FEMININE, "feminine"), (NEUTER, "neuter")]


@pytest.fixture(scope="module")
def german() -> list[str]:
    sizes = {"train": 6000, "dev": 500, "test": 500}
    made = generate_pairs(target_language="de", sizes=sizes, seed=32)
    return [de for split in made.values() for _, de in split]


def _noun_phrases(sentence: str) -> Iterator[tuple[str, list[str], str]]:
    """(article, adjectives, noun) wherever an article of the tables opens a noun phrase.

    What follows a comma may be a relative pronoun, alone or after a preposition: left out.
    """
    text = re.sub(r", ((in|auf|an|von|über|gegen) )?\w+", ",", sentence)
    for match in re.finditer(r"\b(\w+) ((?:[a-zäöüß]+ ){0,2})([A-ZÄÖÜ]\w+)", text):
        article = match[1][0].lower() + match[1][1:]
        if article in ARTICLES:
            yield article, match[2].split(), match[3]


def _check(article: str, adjectives: list[str], allowed: set[tuple[str, str]], where: str) -> None:
    endings = {ending for word, ending in allowed if word == article}
    assert endings, f"{article}: {where}"
    for adjective in adjectives:
        assert any(re.search(f"[^e]{end}$", adjective) for end in endings), f"{adjective}: {where}"


@pytest.mark.parametrize(("nouns", "kind"), TABLES)
def test_articles_and_endings_fit_gender_and_number(german, nouns, kind):
    checked = 0
    for sentence in german:
        for article, adjectives, noun in _noun_phrases(sentence):
            if noun in nouns:
                allowed = ALLOWED[kind]
            elif noun in nouns.values() or noun.removesuffix("n") in nouns.values():
                allowed = ALLOWED["plural"]
            elif noun in GENITIVES and noun.removesuffix("s").removesuffix("e") in nouns:
                allowed = ALLOWED["genitive"]
            else:
                continue
            _check(article, adjectives, allowed, sentence)
            checked += 1
    assert checked > 150


def test_weak_nouns_keep_their_ending_in_every_case_but_the_nominative(german):
    nominative = {(article, end) for article, end in ALLOWED["masculine"] if end in ("e", "er")}
    oblique = ALLOWED["plural"] | ALLOWED["genitive"] | ALLOWED["masculine"] - nominative
    checked = 0
    for sentence in german:
        for article, adjectives, noun in _noun_phrases(sentence):
            if noun in WEAK or noun in WEAK.values():
                _check(article, adjectives, nominative if noun in WEAK else oblique, sentence)
                checked += 1
    assert checked > 300


def test_prepositions_govern_their_case(german):
    checked = 0
    for sentence in german:
        for word, following in pairwise(re.findall(r"\w+|,", sentence)):
            if word in GOVERNED and following in DATIVE | ACCUSATIVE | GENITIVE:
                assert following in GOVERNED[word], sentence
                checked += 1
    assert checked > 300


def test_contractions_are_made_and_only_there(german):
    text = "\n".join(german)
    for full in ("in dem", "von dem", "bei dem", "in das", "an das"):
        assert not re.search(rf"(?<!, )\b{full} ", text)  # after a comma: a relative pronoun
    for word in ("im", "vom", "beim", "ins"):
        assert f" {word} " in text
    assert ", in dem " in text


def test_verbs_of_the_dative_have_no_accusative(german):
    """Between such a verb and the end of a simple statement only datives can stand."""
    verbs = "hilft|dankt|folgt|gratuliert|gehorcht|antwortet"
    checked = 0
    for sentence in german:
        match = re.match(
            rf"(?:D\w+|Ein\w*) [A-ZÄÖÜ]\w+ (?:{verbs}) (\w+) (\w+ )?([A-ZÄÖÜ]\w+)", sentence
        )
        if match and match[1] in DATIVE | ACCUSATIVE:
            assert match[1] in DATIVE, sentence
            assert match[1] != "den" or match[3].endswith(("n", "s")), sentence
            checked += 1
    assert checked > 2


@pytest.mark.parametrize(("nouns", "kind"), TABLES)
def test_the_relative_pronoun_agrees_with_the_noun_before_it(german, nouns, kind):
    """Whatever its case; a noun after "mit" is not the head."""
    checked = 0
    for sentence in german:
        for before, noun, pronoun in re.findall(r"(.*)\b([A-ZÄÖÜ]\w+), (\w+) ", sentence):
            last = before.split()[-2:]
            if pronoun not in set().union(*RELATIVES.values()) or "mit" in before:
                continue
            if noun in nouns.values():
                assert pronoun in RELATIVES["plural"], sentence
            elif noun in nouns and last:
                assert pronoun in RELATIVES[kind], sentence
            else:
                continue
            checked += 1
    assert checked > 30
