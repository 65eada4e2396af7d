"""The synchronous probabilistic grammar: one table of rules that all three languages realise.

A line is `weight name role=Symbol ...`; a rule's probability is its weight over the sum of its
symbol's weights. Capitalised symbols have rules here, lower-case ones are lexical classes. A rule
named "=" stands for the symbol it names. `{light}` gives each block twice: as it stands and with
noun phrases that hold no relative clause (":light"), for places where a clause at the end of the
phrase would leave open what the next words belong to. `{kind}` blocks are given for each kind.

These weights are the knobs of how hard the corpus is.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.corpora.grammar.nouns import NOUNS
from pipeline.corpora.grammar.verbs import VERBS
from pipeline.corpora.grammar.words import (
    ADJECTIVES,
    ADVERBS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
)

SENTENCES = """
Sentence
  78 statement main=Main
  4 compound first=Clause:light link=Link second=Clause
  3 condition_first conjunction=adverb:conjunction condition=Clause:real main=Clause
  3 condition_last main=Clause:light conjunction=adverb:conjunction condition=Clause:real
  5 yes_no clause=Clause:light
  3 who tense=Tense predicate=Predicate
  2 whom tense=Tense mood=Mood subject=NP:agent:light verb=verb:being
  2 what tense=Tense mood=Mood subject=NP:agent:light verb=verb:thing
  3 ask adverb=adverb:question clause=Clause:light
Main
  78 plain clause=Clause
  8 time_first time=adverb:time body=Body
  8 place_first place=Place clause=Clause
  6 time_last body=Body:light time=adverb:time
Link
  60 and
  40 but
Clause
  1 tensed tense=Tense body=Body
Clause:light
  1 tensed tense=Tense body=Body:light
Clause:real
  1 tensed tense=Tense:real body=Body
Tense
  46 present
  32 past
  9 future
  5 can
  4 must
  4 want
Tense:real
  56 present
  34 past
  5 can
  5 must
Mood
  80 positive
  12 negative
  8 frequency adverb=adverb:frequency
Positive
  1 positive
"""

CLAUSES = """
Body{light}
  80 acting subject=NP:agent{light} predicate=Predicate{light}
  6 acting subject=NP:person{light} predicate=State:person
  2 acting subject=NP:animal{light} predicate=State:animal
  6 acting subject=NP:thing{light} predicate=State:thing
  6 acting subject=NP:thing{light} predicate=Passive{light}
Predicate
  20 act mood=Mood verb=verb:alone
  12 act mood=Mood verb=verb:alone adjunct=Adjunct
  18 act mood=Mood verb=verb:being object=NP:agent
  4 act mood=Mood verb=verb:being object=NP:agent:light adjunct=Adjunct
  19 act mood=Mood verb=verb:thing object=NP:thing
  4 act mood=Mood verb=verb:thing object=NP:thing:light adjunct=Adjunct
  6 act mood=Mood verb=verb:gift object=NP:thing:light recipient=NP:person
  8 act mood=Mood verb=verb:oblique object=NP:agent
  4 act mood=Mood verb=verb:motion adjunct=Into
  3 act mood=Positive verb=verb:saying clause=Clause
  2 pair first=Predicate:light second=Predicate:light
Predicate:light
Predicate:light
  20 act mood=Mood verb=verb:alone
  12 act mood=Mood verb=verb:alone adjunct=Adjunct:light
  16 act mood=Mood verb=verb:being object=NP:agent:light
  16 act mood=Mood verb=verb:thing object=NP:thing:light
  8 act mood=Mood verb=verb:gift object=NP:thing:light recipient=NP:person:light
  8 act mood=Mood verb=verb:oblique object=NP:agent:light
  5 act mood=Mood verb=verb:motion adjunct=Into:light
Passive{light}
  1 passive mood=Mood verb=verb:thing agent=NP:person{light}
Adjunct{light}
  25 manner adverb=adverb:manner
  35 preposition preposition=preposition:where np=NP:place{light}
  14 preposition preposition=preposition:amid np=NP:thing{light}
  14 preposition preposition=preposition:during np=NP:event
  12 preposition preposition=preposition:for np=NP:person{light}
Into{light}
  1 preposition preposition=preposition:into np=NP:place{light}
Place
  65 preposition preposition=preposition:where np=NP:place:light
  35 preposition preposition=preposition:during np=NP:event
"""

NOUN_PHRASES = """
NP:agent{light}
  82 = NP:person{light}
  18 = NP:animal{light}
NP:person:light
  27 pronoun pronoun=pronoun
  12 name noun=noun:name
  50 = Core:person
  3 with head=Core:person thing=Core:thing
  2 from head=Core:person city=noun:city
  3 of head=Owned:person owner=Owner
  3 possessive owner=Owner noun=noun:person
  3 both first=Core:person second=Core:person
NP:animal:light
  80 = Core:animal
  8 of head=Owned:animal owner=Owner
  8 possessive owner=Owner noun=noun:animal
  4 both first=Core:animal second=Core:animal
NP:thing:light
  80 = Core:thing
  7 of head=Owned:thing owner=Owner
  8 possessive owner=Owner noun=noun:thing
  5 both first=Core:thing second=Core:thing
NP:place:light
  90 = Core:place
  10 of head=Owned:place owner=Owner
NP:event
  1 core determiner=determiner:simple noun=noun:event
Owner
  70 core determiner=determiner:simple noun=noun:person
  30 name noun=noun:name
Head:person
  85 = Core:person
  15 with head=Core:person thing=Core:thing
Head:animal
  1 = Core:animal
Head:thing
  1 = Core:thing
Head:place
  1 = Core:place
"""

KINDS = ("person", "animal", "thing", "place")
FOR_EACH_KIND = """
NP:{kind}
  93 = NP:{kind}:light
  7 relative head=Head:{kind} clause=Relative:{kind}
Core:{kind}
  70 core determiner=determiner noun=noun:{kind}
  14 core determiner=determiner first=adjective:first:{kind} noun=noun:{kind}
  14 core determiner=determiner last=adjective:last:{kind} noun=noun:{kind}
  2 core determiner=determiner first=adjective:first:{kind} last=adjective:last:{kind} noun=noun:{kind}
Owned:{kind}
  1 core determiner=determiner:simple noun=noun:{kind}
State:{kind}
  75 state mood=Mood adjective=adjective:last:{kind}
  25 state mood=Mood adjective=adjective:first:{kind}
"""  # noqa: E501

RELATIVE_CLAUSES = """
Relative:person
  48 subject tense=Tense predicate=Predicate
  8 subject tense=Tense predicate=State:person
  26 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:being
  8 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:oblique
  5 whose tense=Tense noun=noun:thing predicate=State:thing
  5 whose tense=Tense noun=noun:animal predicate=Predicate
Relative:animal
  54 subject tense=Tense predicate=Predicate
  10 subject tense=Tense predicate=State:animal
  28 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:being
  8 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:oblique
Relative:thing
  55 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:thing
  10 object tense=Tense mood=Mood subject=NP:agent:light verb=verb:oblique
  20 subject tense=Tense predicate=State:thing
  15 subject tense=Tense predicate=Passive
Relative:place
  65 inside tense=Tense body=Body
  35 subject tense=Tense predicate=State:place
"""

# An entry's weight is 1 / (RANK_SHIFT + its rank in its class): common words first, as in real text
RANK_SHIFT = 1.0

LEXICON: Mapping[str, tuple[NamedTuple, ...]] = {
    **{f"noun:{kind}": rows for kind, rows in NOUNS.items()},
    **{f"verb:{kind}": rows for kind, rows in VERBS.items()},
    **{f"adjective:{kind}": rows for kind, rows in ADJECTIVES.items()},
    **{f"adverb:{kind}": rows for kind, rows in ADVERBS.items()},
    **{f"preposition:{kind}": rows for kind, rows in PREPOSITIONS.items()},
    **DETERMINERS,
    "pronoun": PRONOUNS,
}


class Rule(NamedTuple):
    symbol: str
    name: str
    weight: float
    roles: tuple[tuple[str, str], ...]  # (role, symbol)


def _read(table: str) -> dict[str, tuple[Rule, ...]]:
    rules: dict[str, tuple[Rule, ...]] = {}
    symbol = ""
    for line in table.strip().split("\n"):
        words = line.split()
        if not line.startswith(" "):
            symbol = words[0]
            rules[symbol] = ()
            continue
        if words[1] == "=":
            roles = (("=", words[2]),)
        else:
            roles = tuple(tuple(word.split("=", 1)) for word in words[2:])
        rules[symbol] += (Rule(symbol, words[1], float(words[0]), roles),)
    return rules


def _blocks(table: str) -> str:
    """Give each block that mentions `{light}` twice."""
    kept: list[str] = []
    for block in table.strip().replace("\n ", "\n\t").split("\n"):
        if block.startswith("\t"):
            kept[-1] += "\n " + block[1:]
        else:
            kept.append(block)
    lines = []
    for block in kept:
        lines.append(block.replace("{light}", ""))
        if "{light}" in block:
            lines.append(block.replace("{light}", ":light"))
    return "\n".join(lines)


RULES: Mapping[str, tuple[Rule, ...]] = {
    **_read(SENTENCES),
    **_read(_blocks(CLAUSES)),
    **_read(_blocks(NOUN_PHRASES)),
    **{
        symbol: rules
        for kind in KINDS
        for symbol, rules in _read(FOR_EACH_KIND.replace("{kind}", kind)).items()
    },
    **_read(RELATIVE_CLAUSES),
}
