"""French noun phrases: articles, gender and number, adjectives before or after their noun."""

from pipeline.corpora.grammar.derive import Node
from pipeline.corpora.grammar.english import agreement_of
from pipeline.corpora.grammar.nouns import Noun
from pipeline.corpora.grammar.words import Adjective, Determiner

Concord = tuple[int, str, str]  # person, number, gender

VOWELS = frozenset("aàâeéèêëiîïoôuùûhyœ")  # every h in the lexicon is mute

# masculine, feminine, plural; a masculine form before a vowel where it differs
DETERMINERS = {
    "le": ("le", "la", "les"),
    "un": ("un", "une", "des"),
    "des": ("un", "une", "des"),
    "ce": ("ce", "cette", "ces"),
    "chaque": ("chaque", "chaque", ""),
    "mon": ("mon", "ma", "mes"),
    "son": ("son", "sa", "ses"),
    "notre": ("notre", "notre", "nos"),
    "leur": ("leur", "leur", "leurs"),
    "deux": ("", "", "deux"),
    "trois": ("", "", "trois"),
    "quatre": ("", "", "quatre"),
    "beaucoup": ("", "", "beaucoup de"),
    "quelques": ("", "", "quelques"),
}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}


def core(node: Node) -> list[str]:
    """Determiner, adjectives that come first, noun, the others."""
    determiner: Determiner = node["determiner"]
    noun: Noun = node["noun"]
    concord = concord_of(node)
    word = noun.fr_plural if determiner.number == "pl" else noun.fr
    words = [word]
    if first := node.get("first"):
        words.insert(0, inflected(first, concord, following=word))
    if last := node.get("last"):
        words.append(inflected(last, concord))
    article = DETERMINERS[determiner.fr][
        2 if determiner.number == "pl" else "mf".index(noun.fr_gender)
    ]
    if words[0][0] in VOWELS:
        article = BEFORE_VOWEL.get(article, article)
    if article == "des" and first:
        article = "de"
    return [*article.split(), *words]


def is_indefinite(node: Node) -> bool:
    return node.rule == "core" and node["determiner"].lemma in ("a", "bare")


def definite(noun: Noun) -> list[str]:
    """The noun with the definite article, singular."""
    return [DETERMINERS["le"]["mf".index(noun.fr_gender)], noun.fr]


def inflected(adjective: Adjective, concord: Concord, *, following: str = "") -> str:
    _, number, gender = concord
    if number == "sg" and gender == "m" and following and following[0] in VOWELS:
        return adjective.fr_before_vowel
    form = adjective.fr_feminine if gender == "f" else adjective.fr
    return plural(form) if number == "pl" else form


def plural(form: str) -> str:
    if form.endswith("eau"):
        return form + "x"
    return form if form[-1] in "sx" else form + "s"


def agree(participle: str, concord: Concord) -> str:
    _, number, gender = concord
    return (plural if number == "pl" else str)(participle + ("e" if gender == "f" else ""))


def concord_of(node: Node) -> Concord:
    """Person, number and gender; a coordination is feminine only if both sides are."""
    person, number = agreement_of(node)
    return person, number, _gender(node)


def _gender(node: Node) -> str:
    match node.rule:
        case "pronoun":
            return node["pronoun"].gender
        case "both":
            both = {_gender(node["first"]), _gender(node["second"])}
            return "f" if both == {"f"} else "m"
        case "relative" | "with" | "from" | "of":
            return _gender(node["head"])
    return node["noun"].fr_gender


def which(concord: Concord, preposition: str) -> list[str]:
    """The forms of "lequel" after a preposition, contracted with "à"."""
    _, number, gender = concord
    pronoun = "quel" + ("le" if gender == "f" else "") + ("s" if number == "pl" else "")
    if preposition != "à":
        article = {"sg": DETERMINERS["le"]["mf".index(gender)], "pl": "les"}[number]
        return [preposition, article + pronoun]
    if number == "pl":
        return ["aux" + pronoun]
    return ["au" + pronoun] if gender == "m" else ["à", "la" + pronoun]
