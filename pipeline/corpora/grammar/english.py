"""English: derivations as Penn-style trees over words, and those trees as text.

A tree is `(label, children)`; a leaf is `(tag, word)`.
"""

from itertools import pairwise
from typing import Any

from pipeline.corpora.grammar.derive import Node
from pipeline.corpora.grammar.nouns import Noun
from pipeline.corpora.grammar.verbs import Verb

Tree = tuple[str, Any]
Agreement = tuple[int, str]  # person, number
HE: Agreement = (3, "sg")

AN_EXCEPTIONS = frozenset({"useful"})  # vowel letters with a consonant sound
MODALS = {"future": "will", "can": "can", "must": "must"}
BE = {(1, "sg"): ("am", "was"), (3, "sg"): ("is", "was")}
PLURAL_BE = ("are", "were")
WANT = ("want", "wants", "wanted", "wanted")
DO = ("do", "does", "did", "done")
DETERMINER_TAGS = {
    "the": "DT",
    "a": "DT",
    "this": "DT",
    "these": "DT",
    "every": "DT",
    "some": "DT",
    "many": "JJ",
    "two": "CD",
    "three": "CD",
    "four": "CD",
}
TIME_TAGS = {"now": ("ADVP", "RB")}


def sentence(node: Node) -> Tree:
    """The tree of a whole sentence, first word capitalised, with its final mark."""
    label, children = SENTENCES[node.rule](node)
    mark = "?" if label in ("SQ", "SBARQ") else "."
    return _capitalised((label, [*children, (".", mark)]))


def brackets(tree: Tree) -> str:
    label, inside = tree
    if isinstance(inside, str):
        return f"({label} {inside})"
    return f"({label} {' '.join(map(brackets, inside))})"


def words(tree: Tree) -> list[str]:
    _, inside = tree
    if isinstance(inside, str):
        return [inside]
    return [word for child in inside for word in words(child)]


def text(tokens: list[str]) -> str:
    """Detokenised: no space before a comma, a final mark or a possessive, nor in "cannot"."""
    out = tokens[0]
    for before, token in pairwise(tokens):
        is_joined = token in (",", ".", "?", "'s", "'") or (before, token) == ("can", "not")
        out += token if is_joined else " " + token
    return out


def _capitalised(tree: Tree) -> Tree:
    label, inside = tree
    if isinstance(inside, str):
        return label, inside[0].upper() + inside[1:]
    return label, [_capitalised(inside[0]), *inside[1:]]


# sentences


def _statement(node: Node) -> Tree:
    main = node["main"]
    if main.rule == "plain":
        return clause(main["clause"])
    if main.rule == "place_first":
        return "S", [_adjunct(main["place"]), (",", ","), *clause(main["clause"])[1]]
    tense = main["time"].tense
    if main.rule == "time_first":
        return "S", [_time(main["time"]), (",", ","), *body(main["body"], tense)[1]]
    subject, predicate = body(main["body"], tense)[1]
    return "S", [subject, ("VP", [*predicate[1], _time(main["time"])])]


def _compound(node: Node) -> Tree:
    link = ("CC", node["link"].rule)
    return "S", [clause(node["first"]), (",", ","), link, clause(node["second"])]


def _condition(node: Node) -> Tree:
    word = node["conjunction"].lemma
    head = ("WHADVP", [("WRB", "when")]) if word == "when" else ("IN", word)
    return "SBAR", [head, clause(node["condition"])]


def _condition_first(node: Node) -> Tree:
    return "S", [_condition(node), (",", ","), *clause(node["main"])[1]]


def _condition_last(node: Node) -> Tree:
    subject, predicate = clause(node["main"])[1]
    return "S", [subject, ("VP", [*predicate[1], _condition(node)])]


def _yes_no(node: Node) -> Tree:
    return _inverted(node["clause"])


def _ask(node: Node) -> Tree:
    question = ("WHADVP", [("WRB", node["adverb"].lemma)])
    return "SBARQ", [question, _inverted(node["clause"])]


def _inverted(node: Node) -> Tree:
    acting = node["body"]
    agreement = agreement_of(acting["subject"])
    children = predicate(acting["predicate"], node["tense"].rule, agreement, support=True)[1]
    return "SQ", [children[0], noun_phrase(acting["subject"]), *children[1:]]


def _who(node: Node) -> Tree:
    asked = predicate(node["predicate"], node["tense"].rule, HE)
    return "SBARQ", [("WHNP", [("WP", "who")]), ("SQ", [asked])]


def _object_question(node: Node) -> Tree:
    agreement = agreement_of(node["subject"])
    children = _act(node, node["tense"].rule, agreement, support=True)
    inverted = [children[0], noun_phrase(node["subject"]), *children[1:]]
    return "SBARQ", [("WHNP", [("WP", node.rule)]), ("SQ", inverted)]


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


def clause(node: Node) -> Tree:
    return body(node["body"], node["tense"].rule)


def body(node: Node, tense: str) -> Tree:
    agreement = agreement_of(node["subject"])
    return "S", [noun_phrase(node["subject"]), predicate(node["predicate"], tense, agreement)]


def predicate(node: Node, tense: str, agreement: Agreement, *, support: bool = False) -> Tree:
    """A VP; with `support` its first child is an auxiliary, as a question needs."""
    if node.rule == "pair":
        first, second = (predicate(node[role], tense, agreement) for role in ("first", "second"))
        return "VP", [first, ("CC", "and"), second]
    if node.rule == "act":
        return "VP", _act(node, tense, agreement, support=support)
    if node.rule == "state":
        rest = [("ADJP", [("JJ", node["adjective"].lemma)])]
    else:
        agent = ("PP", [("IN", "by"), noun_phrase(node["agent"], is_object=True)])
        rest = [("VP", [("VBN", node["verb"].en[3]), agent])]
    return "VP", _be(node["mood"], tense, agreement, rest)


def _act(node: Node, tense: str, agreement: Agreement, *, support: bool = False) -> list[Tree]:
    """The children of the VP of a full verb; `node` has its mood, verb and what it governs."""
    mood, verb, rest = node["mood"], node["verb"], _governed(node)
    if tense in MODALS:
        return [("MD", MODALS[tense]), *_mood(mood), ("VP", [("VB", verb.en[0]), *rest])]
    if tense == "want":
        infinitive = ("VP", [("VB", verb.en[0]), *rest])
        rest = [("S", [("VP", [("TO", "to"), infinitive])])]
    forms = WANT if tense == "want" else verb.en
    if support or mood.rule == "negative":
        return [_finite(DO, tense, agreement), *_mood(mood), ("VP", [("VB", forms[0]), *rest])]
    return [*_mood(mood), _finite(forms, tense, agreement), *rest]


def _governed(node: Node) -> list[Tree]:
    """What follows the verb: particle, object, recipient, adjunct, clause."""
    verb: Verb = node["verb"]
    rest: list[Tree] = []
    if node.get("object"):
        np = noun_phrase(node["object"], is_object=True)
        rest.append(("PP", [("IN", verb.en_preposition), np]) if verb.en_preposition else np)
    if verb.en_particle:
        is_pronoun = node.get("object") and node["object"].rule == "pronoun"
        rest.insert(1 if is_pronoun else 0, ("PRT", [("RP", verb.en_particle)]))
    if node.get("recipient"):
        rest.append(("PP", [("TO", "to"), noun_phrase(node["recipient"], is_object=True)]))
    if node.get("adjunct"):
        rest.append(_adjunct(node["adjunct"]))
    if node.get("clause"):
        rest.append(("SBAR", [("IN", "that"), clause(node["clause"])]))
    return rest


def _be(mood: Node, tense: str, agreement: Agreement, rest: list[Tree]) -> list[Tree]:
    bare = ("VP", [("VB", "be"), *rest])
    if tense in MODALS:
        return [("MD", MODALS[tense]), *_mood(mood), bare]
    if tense == "want":
        wanted = ("S", [("VP", [("TO", "to"), bare])])
        if mood.rule == "negative":
            does = _finite(DO, "present", agreement)
            return [does, ("RB", "not"), ("VP", [("VB", "want"), wanted])]
        return [*_mood(mood), _finite(WANT, "present", agreement), wanted]
    form = BE.get(agreement, PLURAL_BE)[tense == "past"]
    return [(_tag(tense, agreement), form), *_mood(mood), *rest]


def _mood(mood: Node) -> list[Tree]:
    if mood.rule == "negative":
        return [("RB", "not")]
    if mood.rule == "frequency":
        return [("ADVP", [("RB", mood["adverb"].lemma)])]
    return []


def _tag(tense: str, agreement: Agreement) -> str:
    return "VBD" if tense == "past" else "VBZ" if agreement == HE else "VBP"


def _finite(forms: tuple[str, ...], tense: str, agreement: Agreement) -> Tree:
    tag = _tag(tense, agreement)
    return tag, forms[{"VBD": 2, "VBZ": 1, "VBP": 0}[tag]]


def _adjunct(node: Node) -> Tree:
    if node.rule == "manner":
        return "ADVP", [("RB", node["adverb"].lemma)]
    np = noun_phrase(node["np"], is_object=True)
    return "PP", [("IN", node["preposition"].lemma), np]


def _time(adverb: Any) -> Tree:
    label, tag = TIME_TAGS.get(adverb.lemma, ("NP", "NN"))
    return label, [(tag, adverb.lemma)]


# noun phrases


def agreement_of(node: Node) -> Agreement:
    if node.rule == "pronoun":
        return node["pronoun"].person, node["pronoun"].number
    if node.rule == "both":
        return 3, "pl"
    if node.rule in ("relative", "with", "from", "of"):
        return agreement_of(node["head"])
    return (3, node["determiner"].number) if node.rule == "core" else HE


def noun_phrase(node: Node, *, is_object: bool = False) -> Tree:
    match node.rule:
        case "pronoun":
            return "NP", [("PRP", node["pronoun"].en[is_object])]
        case "name":
            return "NP", [("NNP", node["noun"].lemma)]
        case "core":
            return "NP", _core(node)
        case "relative":
            return "NP", [noun_phrase(node["head"]), _relative(node["clause"], node["head"])]
        case "both":
            first, second = noun_phrase(node["first"]), noun_phrase(node["second"])
            return "NP", [first, ("CC", "and"), second]
        case "possessive":
            owner = noun_phrase(node["owner"])
            is_plural = agreement_of(node["owner"]) == (3, "pl")
            mark = "'" if is_plural and words(owner)[-1].endswith("s") else "'s"
            return "NP", [("NP", [*owner[1], ("POS", mark)]), ("NN", node["noun"].lemma)]
        case "with":
            inner = ("PP", [("IN", "with"), noun_phrase(node["thing"])])
        case "from":
            inner = ("PP", [("IN", "from"), ("NP", [("NNP", node["city"].lemma)])])
        case _:
            inner = ("PP", [("IN", "of"), noun_phrase(node["owner"])])
    return "NP", [noun_phrase(node["head"]), inner]


def _core(node: Node) -> list[Tree]:
    determiner, noun = node["determiner"], node["noun"]
    plural = determiner.number == "pl"
    adjectives = [a.lemma for role in ("first", "last") if (a := node.get(role))]
    word = noun.en_plural if plural else noun.lemma
    article = determiner.en
    following = [*adjectives, word][0]
    if article == "a" and following[0] in "aeiou" and following not in AN_EXCEPTIONS:
        article = "an"
    tag = DETERMINER_TAGS.get(determiner.en, "PRP$")
    leaves = [(tag, article)] if article else []
    return [*leaves, *(("JJ", a) for a in adjectives), ("NNS" if plural else "NN", word)]


def _relative(node: Node, head: Node) -> Tree:
    tense, agreement = node["tense"].rule, agreement_of(head)
    human = head_noun(head).kind == "person"
    if node.rule == "whose":
        relative = ("WHNP", [("WP$", "whose"), ("NN", node["noun"].lemma)])
        return "SBAR", [relative, ("S", [predicate(node["predicate"], tense, HE)])]
    if node.rule == "subject":
        relative = ("WHNP", [("WP", "who") if human else ("WDT", "that")])
        return "SBAR", [relative, ("S", [predicate(node["predicate"], tense, agreement)])]
    which = ("WP", "whom") if human else ("WDT", "which")
    if node.rule == "inside":
        relative = ("WHPP", [("IN", "in"), ("WHNP", [which])])
        return "SBAR", [relative, body(node["body"], tense)]
    verb = node["verb"]
    acting = ("VP", _act(node, tense, agreement_of(node["subject"])))
    if verb.en_preposition:
        relative = ("WHPP", [("IN", verb.en_preposition), ("WHNP", [which])])
    else:
        relative = ("WHNP", [which if human else ("WDT", "that")])
    return "SBAR", [relative, ("S", [noun_phrase(node["subject"]), acting])]


def head_noun(node: Node) -> Noun:
    """The noun that a relative clause after `node` belongs to."""
    return node["noun"] if node.rule == "core" else head_noun(node["head"])
