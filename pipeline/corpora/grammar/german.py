"""German clauses: verb second in main clauses, verb first in questions, verb last elsewhere.

Phrases are lists of words; COMMA is a word too, and `text` drops those that meet another mark.
A past tense is the perfect (the preterite for "sein" and the passive).
"""

from typing import NamedTuple

from pipeline.corpora.grammar.derive import Node
from pipeline.corpora.grammar.english import HE, Agreement, agreement_of, head_noun
from pipeline.corpora.grammar.german_nouns import (
    core,
    definite,
    is_indefinite,
    prepositional,
    pronoun,
    relative_pronoun,
)

COMMA = ","
# ich, er, wir and sie (they)
AUXILIARIES = {
    "haben": ("habe", "hat", "haben"),
    "sein": ("bin", "ist", "sind"),
    "war": ("war", "war", "waren"),
    "werden": ("werde", "wird", "werden"),
    "wurde": ("wurde", "wurde", "wurden"),
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "may": ("darf", "darf", "dürfen"),
    "want": ("will", "will", "wollen"),
}
# objects that a negation stands before instead of after
NEGATED_FIRST = frozenset({"every", "two", "three", "four", "many", "some"})


class VerbPhrase(NamedTuple):
    finite: str
    middle: list[str]
    final: list[str] = []  # participle, infinitive  # noqa: RUF012
    prefix: str = ""  # of a separable verb in a simple tense
    tail: list[str] = []  # a clause after all verbs  # noqa: RUF012


def sentence(node: Node) -> list[str]:
    words = SENTENCES[node.rule](node)
    asks = node.rule in ("yes_no", "ask", "who", "whom", "what")
    return [*words, "?" if asks else "."]


def text(tokens: list[str]) -> str:
    """Join words; a comma goes where another comma or a final mark follows."""
    out: list[str] = []
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token != COMMA:
            out.append(token if token in (".", "?") else " " + token)
        elif following not in (COMMA, ".", "?"):
            out.append(COMMA)
    joined = "".join(out)[1:]
    return joined[0].upper() + joined[1:]


# sentences


def _statement(node: Node) -> list[str]:
    main = node["main"]
    if main.rule == "plain":
        return _main_clause(main["clause"])
    if main.rule == "place_first":
        return _main_clause(main["clause"], front=_adjunct(main["place"]))
    time = main["time"]
    if main.rule == "time_first":
        return _second(main["body"], time.tense, front=[time.de])
    return _second(main["body"], time.tense, time=[time.de])


def _compound(node: Node) -> list[str]:
    link = {"and": "und", "but": "aber"}[node["link"].rule]
    return [*_main_clause(node["first"]), COMMA, link, *_main_clause(node["second"])]


def _condition(node: Node) -> list[str]:
    word, condition = node["conjunction"].de, node["condition"]
    if word == "wenn" and node["conjunction"].lemma == "when" and condition["tense"].rule == "past":
        word = "als"
    return [word, *_last(condition["body"], condition["tense"].rule)]


def _condition_first(node: Node) -> list[str]:
    return _main_clause(node["main"], front=[*_condition(node), COMMA])


def _condition_last(node: Node) -> list[str]:
    return [*_main_clause(node["main"]), COMMA, *_condition(node)]


def _yes_no(node: Node) -> list[str]:
    return _main_clause(node["clause"], front=[])


def _ask(node: Node) -> list[str]:
    return _main_clause(node["clause"], front=[node["adverb"].de])


def _who(node: Node) -> list[str]:
    asked = predicate(node["predicate"], node["tense"].rule, HE)
    return ["wer", *_verb_second(asked)]


def _object_question(node: Node) -> list[str]:
    asked = {"acc": "wen", "dat": "wem"}[node["verb"].de_case] if node.rule == "whom" else "was"
    phrase = _act(node, node["tense"].rule, agreement_of(node["subject"]), [])
    return [asked, *_verb_second([phrase], subject=noun_phrase(node["subject"], "nom"))]


SENTENCES = {
    "statement": _statement,
    "compound": _compound,
    "condition_first": _condition_first,
    "condition_last": _condition_last,
    "yes_no": _yes_no,
    "ask": _ask,
    "who": _who,
    "whom": _object_question,
    "what": _object_question,
}


# clauses


def _main_clause(node: Node, *, front: list[str] | None = None) -> list[str]:
    return _second(node["body"], node["tense"].rule, front=front)


def _second(
    body: Node, tense: str, *, front: list[str] | None = None, time: list[str] | None = None
) -> list[str]:
    """Finite verb second, after the subject or after `front` (empty: verb first)."""
    subject = noun_phrase(body["subject"], "nom")
    phrases = predicate(body["predicate"], tense, agreement_of(body["subject"]), time=time)
    if front is None:
        return [*subject, *_verb_second(phrases)]
    return [*front, *_verb_second(phrases, subject=subject)]


def _verb_second(phrases: list[VerbPhrase], *, subject: list[str] | None = None) -> list[str]:
    words: list[str] = []
    for number, phrase in enumerate(phrases):
        words += ["und"] if number else []
        words.append(phrase.finite)
        words += subject or [] if number == 0 else []
        words += [*phrase.middle, *phrase.final, *([phrase.prefix] if phrase.prefix else [])]
        words += phrase.tail
    return words


def _last(body: Node, tense: str) -> list[str]:
    phrases = predicate(body["predicate"], tense, agreement_of(body["subject"]))
    return [*noun_phrase(body["subject"], "nom"), *_verb_last(phrases)]


def _verb_last(phrases: list[VerbPhrase]) -> list[str]:
    words: list[str] = []
    for number, phrase in enumerate(phrases):
        words += ["und"] if number else []
        words += [*phrase.middle, *phrase.final, phrase.prefix + phrase.finite, *phrase.tail]
    return words


# verb phrases


def predicate(
    node: Node, tense: str, agreement: Agreement, *, time: list[str] | None = None
) -> list[VerbPhrase]:
    """The verb phrases that share a subject: one, or two of a coordination."""
    if node.rule == "pair":
        return [
            phrase
            for role in ("first", "second")
            for phrase in predicate(node[role], tense, agreement, time=time)
        ]
    realise = {"act": _act, "state": _state, "passive": _passive}[node.rule]
    return [realise(node, tense, agreement, time or [])]


def _act(node: Node, tense: str, agreement: Agreement, time: list[str]) -> VerbPhrase:
    """A full verb; `node` has its mood, verb and what it governs."""
    verb, mood = node["verb"], node["mood"]
    middle = _middle(node, time)
    tail = []
    if node.get("clause"):
        clause = node["clause"]
        tail = [COMMA, "dass", *_last(clause["body"], clause["tense"].rule), COMMA]
    if tense == "present":
        forms = (verb.de_first, verb.de_third, verb.de_infinitive)
        return VerbPhrase(_agree(forms, agreement), middle, [], verb.de_prefix, tail)
    if tense == "past":
        finite = _agree(AUXILIARIES[verb.de_auxiliary], agreement)
        return VerbPhrase(finite, middle, [verb.de_participle], "", tail)
    infinitive = verb.de_prefix + verb.de_infinitive
    return VerbPhrase(_modal(tense, mood, agreement), middle, [infinitive], "", tail)


def _state(node: Node, tense: str, agreement: Agreement, time: list[str]) -> VerbPhrase:
    mood = node["mood"]
    middle = [*time, *_frequency(mood), *_not(mood), node["adjective"].de]
    if tense in ("present", "past"):
        forms = AUXILIARIES["sein" if tense == "present" else "war"]
        return VerbPhrase(_agree(forms, agreement), middle)
    return VerbPhrase(_modal(tense, mood, agreement), middle, ["sein"])


def _passive(node: Node, tense: str, agreement: Agreement, time: list[str]) -> VerbPhrase:
    mood, participle = node["mood"], node["verb"].de_participle
    agent = prepositional("von", noun_phrase(node["agent"], "dat"))
    middle = [*time, *_frequency(mood), *_not(mood), *agent]
    if tense in ("present", "past"):
        forms = AUXILIARIES["werden" if tense == "present" else "wurde"]
        return VerbPhrase(_agree(forms, agreement), middle, [participle])
    return VerbPhrase(_modal(tense, mood, agreement), middle, [participle, "werden"])


def _middle(node: Node, time: list[str]) -> list[str]:
    """What stands between the verbs.

    Pronouns come first, the accusative before the dative; among nouns the dative comes first.
    """
    verb, mood = node["verb"], node["mood"]
    pronouns: list[str] = []
    nouns: list[str] = []
    after: list[str] = []
    negation = _not(mood)
    if (target := node.get("object")) and verb.de_preposition:
        after = prepositional(verb.de_preposition, noun_phrase(target, verb.de_case))
    elif target and target.rule == "pronoun":
        pronouns = noun_phrase(target, verb.de_case)
    elif target and negation and is_indefinite(target):
        nouns, negation = core(target, verb.de_case, no=True), []
    elif target and negation and _is_quantified(target):
        after = noun_phrase(target, verb.de_case)
    elif target:
        nouns = noun_phrase(target, verb.de_case)
    if recipient := node.get("recipient"):
        given = noun_phrase(recipient, "dat")
        if recipient.rule == "pronoun":
            pronouns += given
        else:
            nouns = given + nouns
    if adjunct := node.get("adjunct"):
        after = after + _adjunct(adjunct)
    return [*pronouns, *time, *_frequency(mood), *nouns, *negation, *after]


def _is_quantified(node: Node) -> bool:
    return node.rule == "core" and node["determiner"].en in NEGATED_FIRST


def _not(mood: Node) -> list[str]:
    return ["nicht"] if mood.rule == "negative" else []


def _frequency(mood: Node) -> list[str]:
    return [mood["adverb"].de] if mood.rule == "frequency" else []


def _modal(tense: str, mood: Node, agreement: Agreement) -> str:
    """The finite modal; what must not be is "darf nicht", since "muss nicht" is a need not."""
    is_denied = mood.rule == "negative" or (mood.get("adverb") and mood["adverb"].lemma == "never")
    name = {"future": "werden", "must": "may" if is_denied else "must"}.get(tense, tense)
    return _agree(AUXILIARIES[name], agreement)


def _agree(forms: tuple[str, str, str], agreement: Agreement) -> str:
    person, number = agreement
    return forms[2 if number == "pl" else 0 if person == 1 else 1]


def _adjunct(node: Node) -> list[str]:
    if node.rule == "manner":
        return [node["adverb"].de]
    preposition = node["preposition"]
    return prepositional(preposition.de, noun_phrase(node["np"], preposition.de_case))


# noun phrases


def noun_phrase(node: Node, case: str) -> list[str]:
    match node.rule:
        case "pronoun":
            return [pronoun(node["pronoun"], case)]
        case "name":
            return [node["noun"].de]
        case "core":
            return core(node, case)
        case "relative":
            head = noun_phrase(node["head"], case)
            return [*head, COMMA, *_relative(node["clause"], node["head"]), COMMA]
        case "both":
            return [*noun_phrase(node["first"], case), "und", *noun_phrase(node["second"], case)]
        case "with":
            return [*noun_phrase(node["head"], case), "mit", *noun_phrase(node["thing"], "dat")]
        case "from":
            return [*noun_phrase(node["head"], case), "aus", node["city"].de]
        case "of":
            owner = node["owner"]
            name = owner.rule == "name"
            phrase = ["von", owner["noun"].de] if name else noun_phrase(owner, "gen")
            return [*noun_phrase(node["head"], case), *phrase]
    owner, noun = node["owner"], node["noun"]
    article, form = definite(noun, case)
    if owner.rule == "name":
        return [owner["noun"].de_genitive, form]
    return [article, form, *noun_phrase(owner, "gen")]


def _relative(node: Node, head: Node) -> list[str]:
    """A relative clause without its commas; the pronoun agrees with the head, not its case."""
    noun, tense, agreement = head_noun(head), node["tense"].rule, agreement_of(head)
    plural = agreement[1] == "pl"
    if node.rule == "whose":
        owner = relative_pronoun(noun, "gen", plural=plural)
        return [owner, node["noun"].de, *_verb_last(predicate(node["predicate"], tense, HE))]
    if node.rule == "subject":
        relative = relative_pronoun(noun, "nom", plural=plural)
        return [relative, *_verb_last(predicate(node["predicate"], tense, agreement))]
    if node.rule == "inside":
        relative = relative_pronoun(noun, "dat", plural=plural)
        return ["in", relative, *_last(node["body"], tense)]
    verb = node["verb"]
    relative = relative_pronoun(noun, verb.de_case, plural=plural)
    preposition = [verb.de_preposition] if verb.de_preposition else []
    acting = _act(node, tense, agreement_of(node["subject"]), [])
    return [*preposition, relative, *noun_phrase(node["subject"], "nom"), *_verb_last([acting])]
