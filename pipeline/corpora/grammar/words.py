"""Adjectives, adverbs, prepositions, conjunctions, determiners and pronouns.

These tables hold what is written; how it is inflected and ordered is in the three languages' files.
"""

from typing import NamedTuple


class Adjective(NamedTuple):
    lemma: str
    de: str  # as a predicate
    de_stem: str  # before an ending
    fr: str
    fr_feminine: str
    fr_before_vowel: str  # masculine singular before a vowel
    fr_first: bool  # stands before its noun


class Adverb(NamedTuple):
    lemma: str
    de: str
    fr: str
    tense: str = ""  # for adverbs of time: the tense they call for


class Preposition(NamedTuple):
    lemma: str
    de: str
    de_case: str
    fr: str


class Determiner(NamedTuple):
    lemma: str
    number: str  # sg, pl
    en: str
    de: str  # the stem that takes endings, or the whole word
    de_pattern: str  # definite, indefinite, strong, fixed: which endings it and its adjective take
    fr: str  # key of the French table of forms
    weight: float


class Pronoun(NamedTuple):
    lemma: str
    person: int
    number: str
    gender: str
    en: tuple[str, str]  # subject, object
    de: tuple[str, str, str]  # nominative, accusative, dative
    fr: tuple[str, str, str, str]  # subject, direct object, indirect object, after a preposition


FIRST_ADJECTIVES = """
small | klein | petit petite
big | groß | grand grande
old | alt | vieux vieille vieil
young | jung | jeune jeune
beautiful | schön | beau belle bel
new | neu | nouveau nouvelle nouvel
good | gut | bon bonne
bad | schlecht | mauvais mauvaise
pretty | hübsch | joli jolie
fat | dick | gros grosse
"""

LAST_ADJECTIVES = """
red | rot | rouge rouge
green | grün | vert verte
black | schwarz | noir noire
white | weiß | blanc blanche
blue | blau | bleu bleue
yellow | gelb | jaune jaune
grey | grau | gris grise
heavy | schwer | lourd lourde
expensive | teuer teur | cher chère
strange | seltsam | étrange étrange
famous | berühmt | célèbre célèbre
rich | reich | riche riche
poor | arm | pauvre pauvre
happy | glücklich | heureux heureuse
sad | traurig | triste triste
angry | wütend | furieux furieuse
tired | müde müd | fatigué fatiguée
intelligent | klug | intelligent intelligente
polite | höflich | poli polie
brave | mutig | courageux courageuse
dangerous | gefährlich | dangereux dangereuse
elegant | elegant | élégant élégante
clean | sauber | propre propre
dirty | schmutzig | sale sale
empty | leer | vide vide
cold | kalt | froid froide
modern | modern | moderne moderne
dark | dunkel dunkl | sombre sombre
useful | nützlich | utile utile
important | wichtig | important importante
interesting | interessant | intéressant intéressante
lazy | faul | paresseux paresseuse
curious | neugierig | curieux curieuse
strong | stark | fort forte
weak | schwach | faible faible
friendly | freundlich | aimable aimable
wild | wild | sauvage sauvage
"""
COLOURS = {"red", "green", "black", "white", "blue", "yellow", "grey"}
OF_PEOPLE = {"rich", "poor", "polite", "elegant", "famous", "important", "interesting"}
OF_BEINGS = {"happy", "sad", "angry", "tired", "intelligent", "brave", "lazy", "curious", "strong"}
OF_BEINGS |= {"weak", "friendly", "wild", "young", "fat", "polite", "rich", "poor"}
OF_THINGS = {"heavy", "expensive", "useful", "new", "empty", "modern", "clean", "dark", "cold"}
UNFIT = {
    "person": OF_THINGS | COLOURS | {"wild"},
    "animal": OF_THINGS | OF_PEOPLE,
    "thing": OF_BEINGS,
    "place": OF_BEINGS | {"heavy", "useful"},
}

MANNER = """
quickly | schnell | rapidement
slowly | langsam | lentement
quietly | leise | doucement
carefully | vorsichtig | prudemment
gladly | gern | volontiers
secretly | heimlich | secrètement
patiently | geduldig | patiemment
calmly | ruhig | calmement
"""

FREQUENCY = """
often | oft | souvent
always | immer | toujours
sometimes | manchmal | parfois
rarely | selten | rarement
never | nie | jamais
"""

TIME = """
today | heute | aujourd'hui | present
now | jetzt | maintenant | present
yesterday | gestern | hier | past
tomorrow | morgen | demain | future
"""

QUESTION = """
where | wo | où
when | wann | quand
why | warum | pourquoi
how | wie | comment
"""

WHERE = """
in | in dat | dans
behind | hinter dat | derrière
near | bei dat | près+de
"""
AMID = """
under | unter dat | sous
on | auf dat | sur
"""
DURING = """
during | während gen | pendant
after | nach dat | après
before | vor dat | avant
despite | trotz gen | malgré
"""
FOR_WHOM = """
for | für acc | pour
without | ohne acc | sans
"""
INTO = """
into | in acc | dans
through | durch acc | à+travers
"""

CONJUNCTIONS = """
because | weil | parce que
while | während | pendant que
when | wenn | quand
if | wenn | si
"""

DETERMINERS = """
the_sg    sg the   d     definite   le        9
the_pl    pl the   d     definite   le        5
a         sg a     ein   indefinite un        6
bare      pl -     -     strong     des       3
this      sg this  dies  definite   ce        1.5
these     pl these dies  definite   ce        1
every     sg every jed   definite   chaque    1
my        sg my    mein  indefinite mon       0.7
my_pl     pl my    mein  indefinite mon       0.5
his       sg his   sein  indefinite son       0.7
his_pl    pl his   sein  indefinite son       0.5
her       sg her   ihr   indefinite son       0.7
her_pl    pl her   ihr   indefinite son       0.5
our       sg our   unser indefinite notre     0.7
our_pl    pl our   unser indefinite notre     0.5
their     sg their ihr   indefinite leur      0.7
their_pl  pl their ihr   indefinite leur      0.5
two       pl two   zwei  fixed      deux      0.6
three     pl three drei  fixed      trois     0.6
four      pl four  vier  fixed      quatre    0.6
many      pl many  viel  strong     beaucoup  0.8
some      pl some  einig strong     quelques  0.8
"""

SIMPLE = ("the_sg", "the_pl", "a", "this")

PRONOUNS = """
I    1 sg m | I me     | ich mich mir    | je me me moi
he   3 sg m | he him   | er ihn ihm      | il le lui lui
she  3 sg f | she her  | sie sie ihr     | elle la lui elle
we   1 pl m | we us    | wir uns uns     | nous nous nous nous
they 3 pl m | they them | sie sie ihnen  | ils les leur eux
"""


def _columns(rows: str) -> list[list[list[str]]]:
    return [[part.split() for part in row.split("|")] for row in rows.strip().split("\n")]


def _adjectives(rows: str, first: bool) -> tuple[Adjective, ...]:
    return tuple(
        Adjective(en[0], de[0], de[-1], fr[0], fr[1], fr[2] if len(fr) > 2 else fr[0], first)
        for en, de, fr in _columns(rows)
    )


def _adverbs(rows: str) -> tuple[Adverb, ...]:
    return tuple(Adverb(*(" ".join(part) for part in row)) for row in _columns(rows))


def _prepositions(rows: str) -> tuple[Preposition, ...]:
    return tuple(
        Preposition(en[0], de[0], de[1], fr[0].replace("+", " ")) for en, de, fr in _columns(rows)
    )


def _determiners(rows: str) -> tuple[Determiner, ...]:
    found = []
    for ((lemma, number, en, de, pattern, fr, weight),) in _columns(rows):
        found.append(
            Determiner(lemma, number, en.strip("-"), de.strip("-"), pattern, fr, float(weight))
        )
    return tuple(found)


def _pronoun(name: list[str], en: list[str], de: list[str], fr: list[str]) -> Pronoun:
    lemma, person, number, gender = name
    return Pronoun(
        lemma,
        int(person),
        number,
        gender,
        (en[0], en[1]),
        (de[0], de[1], de[2]),
        (fr[0], fr[1], fr[2], fr[3]),
    )


_FIRST = _adjectives(FIRST_ADJECTIVES, True)
_LAST = _adjectives(LAST_ADJECTIVES, False)
ADJECTIVES = {
    f"{place}:{kind}": tuple(adjective for adjective in table if adjective.lemma not in unfit)
    for place, table in (("first", _FIRST), ("last", _LAST))
    for kind, unfit in UNFIT.items()
}
ADVERBS = {
    "manner": _adverbs(MANNER),
    "frequency": _adverbs(FREQUENCY),
    "time": _adverbs(TIME),
    "question": _adverbs(QUESTION),
    "conjunction": _adverbs(CONJUNCTIONS),
}
PREPOSITIONS = {
    "where": _prepositions(WHERE),
    "amid": _prepositions(AMID),
    "during": _prepositions(DURING),
    "for": _prepositions(FOR_WHOM),
    "into": _prepositions(INTO),
}
_DETERMINERS = _determiners(DETERMINERS)
DETERMINERS = {
    "determiner": _DETERMINERS,
    "determiner:simple": tuple(d for d in _DETERMINERS if d.lemma in SIMPLE),
}
PRONOUNS = tuple(_pronoun(*row) for row in _columns(PRONOUNS))
