"""French: clitics, negation and elision; noun phrases are in `french_nouns`.

Phrases are lists of words; `text` elides, contracts and joins them. A past tense is the passé
composé (the imparfait for "être").
"""

from pipeline.corpora.grammar.derive import Node
from pipeline.corpora.grammar.english import head_noun
from pipeline.corpora.grammar.french_nouns import (
    VOWELS,
    Concord,
    agree,
    concord_of,
    core,
    definite,
    inflected,
    is_indefinite,
    which,
)

AUXILIARIES = {  # je, il, nous, ils
    "avoir": ("ai", "a", "avons", "ont"),
    "être": ("suis", "est", "sommes", "sont"),
    "était": ("étais", "était", "étions", "étaient"),
    "future": ("vais", "va", "allons", "vont"),
    "can": ("peux", "peut", "pouvons", "peuvent"),
    "must": ("dois", "doit", "devons", "doivent"),
    "want": ("veux", "veut", "voulons", "veulent"),
}
ELIDED = frozenset({"le", "la", "de", "ne", "que", "je", "me"})
CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
HE_IS: Concord = (3, "sg", "m")


def sentence(node: Node) -> list[str]:
    words = SENTENCES[node.rule](node)
    asks = node.rule in ("yes_no", "ask", "who", "whom", "what")
    return [*words, "?" if asks else "."]


def text(tokens: list[str]) -> str:
    """Elide ("le homme" is "l'homme"), contract ("de le chat" is "du chat") and join.

    A question mark keeps the space before it that French puts there.
    """
    words: list[str] = []
    for word in reversed(tokens):  # what follows a word decides its form
        following = words[0] if words else "."
        if word in ELIDED and following[0].lower() in VOWELS:
            words[0] = word[:-1] + "'" + following
        elif word == "si" and following in ("il", "ils"):
            words[0] = "s'" + following
        elif (word, following) in CONTRACTIONS:
            words[0] = CONTRACTIONS[word, following]
        elif words and following in (".", ","):
            words[0] = word + following
        else:
            words.insert(0, word)
    joined = " ".join(words)
    return joined[0].upper() + joined[1:]


# sentences


def _statement(node: Node) -> list[str]:
    main = node["main"]
    if main.rule == "plain":
        return clause(main["clause"])
    if main.rule == "place_first":
        return [*_adjunct(main["place"]), ",", *clause(main["clause"])]
    time = main["time"]
    if main.rule == "time_first":
        return [time.fr, ",", *body(main["body"], time.tense)]
    return [*body(main["body"], time.tense), time.fr]


def _compound(node: Node) -> list[str]:
    link = {"and": "et", "but": "mais"}[node["link"].rule]
    return [*clause(node["first"]), ",", link, *clause(node["second"])]


def _condition(node: Node) -> list[str]:
    return [*node["conjunction"].fr.split(), *clause(node["condition"])]


def _condition_first(node: Node) -> list[str]:
    return [*_condition(node), ",", *clause(node["main"])]


def _condition_last(node: Node) -> list[str]:
    return [*clause(node["main"]), *_condition(node)]


def _yes_no(node: Node) -> list[str]:
    return ["est-ce", "que", *clause(node["clause"])]


def _ask(node: Node) -> list[str]:
    return [node["adverb"].fr, "est-ce", "que", *clause(node["clause"])]


def _who(node: Node) -> list[str]:
    return ["qui", *predicate(node["predicate"], node["tense"].rule, HE_IS)]


def _object_question(node: Node) -> list[str]:
    start = ["qui", "est-ce", "que"] if node.rule == "whom" else ["qu'est-ce", "que"]
    concord = concord_of(node["subject"])
    asked = _act(node, node["tense"].rule, concord)
    return [*start, *noun_phrase(node["subject"], 0), *asked]


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


def clause(node: Node) -> list[str]:
    return body(node["body"], node["tense"].rule)


def body(node: Node, tense: str) -> list[str]:
    subject = node["subject"]
    return [*noun_phrase(subject, 0), *predicate(node["predicate"], tense, concord_of(subject))]


def predicate(node: Node, tense: str, concord: Concord) -> list[str]:
    if node.rule == "pair":
        first, second = (predicate(node[role], tense, concord) for role in ("first", "second"))
        return [*first, "et", *second]
    if node.rule == "act":
        return _act(node, tense, concord)
    if node.rule == "state":
        return _be(node, tense, concord, [inflected(node["adjective"], concord)])
    participle = agree(node["verb"].fr_participle, concord)
    done = [participle, "par", *noun_phrase(node["agent"])]
    if tense == "past":
        return _mooded(node["mood"], [], _finite(AUXILIARIES["avoir"], concord), ["été", *done])
    return _be(node, tense, concord, done)


def _be(node: Node, tense: str, concord: Concord, rest: list[str]) -> list[str]:
    mood = node["mood"]
    if tense in ("present", "past"):
        finite = _finite(AUXILIARIES["être" if tense == "present" else "était"], concord)
        return _mooded(mood, [], finite, rest)
    return _mooded(mood, [], _finite(AUXILIARIES[tense], concord), ["être", *rest])


def _act(
    node: Node, tense: str, concord: Concord, *, antecedent: Concord | None = None
) -> list[str]:
    """A full verb and what it governs.

    `antecedent` is what "que" stands for: a participle with avoir agrees with it, as it does with
    a direct object pronoun.
    """
    verb, mood = node["verb"], node["mood"]
    clitics, after, direct = _governed(node)
    if tense == "present":
        return _mooded(mood, clitics, _finite(verb.fr_present, concord), after)
    if tense == "past":
        agreeing = concord if verb.fr_auxiliary == "être" else direct or antecedent
        participle = agree(verb.fr_participle, agreeing) if agreeing else verb.fr_participle
        finite = _finite(AUXILIARIES[verb.fr_auxiliary], concord)
        return _mooded(mood, clitics, finite, [participle, *after])
    finite = _finite(AUXILIARIES[tense], concord)
    return _mooded(mood, [], finite, [*clitics, verb.fr_infinitive, *after])


def _governed(node: Node) -> tuple[list[str], list[str], Concord | None]:
    """Clitics before the verb, what follows it, and the concord of a direct object pronoun."""
    verb, clitics, after, direct = node["verb"], [], [], None
    if target := node.get("object"):
        if verb.fr_preposition:
            if target.rule == "pronoun" and verb.fr_clitic:
                clitics = [target["pronoun"].fr[2]]
            else:
                after = prepositional(verb.fr_preposition, target)
        elif target.rule == "pronoun":
            clitics, direct = [target["pronoun"].fr[1]], concord_of(target)
        elif node["mood"].rule == "negative" and is_indefinite(target):
            after = ["de", *core(target)[1:]]
        else:
            after = noun_phrase(target)
    if recipient := node.get("recipient"):
        if recipient.rule == "pronoun":
            clitics = [*clitics, recipient["pronoun"].fr[2]]
        else:
            after = [*after, *prepositional("à", recipient)]
    if adjunct := node.get("adjunct"):
        after = [*after, *_adjunct(adjunct)]
    if node.get("clause"):
        after = [*after, "que", *clause(node["clause"])]
    return clitics, after, direct


def _mooded(mood: Node, clitics: list[str], finite: str, rest: list[str]) -> list[str]:
    """Put "ne" and "pas" (or "jamais") around the finite verb; other adverbs follow it."""
    if mood.rule == "positive":
        return [*clitics, finite, *rest]
    word = "pas" if mood.rule == "negative" else mood["adverb"].fr
    before = ["ne"] if word in ("pas", "jamais") else []
    return [*before, *clitics, finite, word, *rest]


def _finite(forms: tuple[str, str, str, str], concord: Concord) -> str:
    person, number, _ = concord
    return forms[(0 if person == 1 else 1) + (2 if number == "pl" else 0)]


def _adjunct(node: Node) -> list[str]:
    if node.rule == "manner":
        return [node["adverb"].fr]
    return prepositional(node["preposition"].fr, node["np"])


# noun phrases


def noun_phrase(node: Node, form: int = 3) -> list[str]:
    """`form` chooses a pronoun's: 0 as a subject, 3 after a preposition."""
    match node.rule:
        case "pronoun":
            return [node["pronoun"].fr[form]]
        case "name":
            return [node["noun"].fr]
        case "core":
            return core(node)
        case "relative":
            return [*noun_phrase(node["head"]), *_relative(node["clause"], node["head"])]
        case "both":
            return [*noun_phrase(node["first"]), "et", *noun_phrase(node["second"])]
        case "with":
            return [*noun_phrase(node["head"]), "avec", *noun_phrase(node["thing"])]
        case "from":
            return [*noun_phrase(node["head"]), "de", node["city"].fr]
        case "of":
            return [*noun_phrase(node["head"]), *prepositional("de", node["owner"])]
    return [*definite(node["noun"]), *prepositional("de", node["owner"])]


def prepositional(preposition: str, node: Node) -> list[str]:
    """Preposition and noun phrase; the plural article "des" vanishes after "de".

    "À" and "de" are said again in the second half of a coordination.
    """
    if node.rule == "both" and preposition.split()[-1] in ("à", "de"):
        halves = [prepositional(preposition, node[role]) for role in ("first", "second")]
        return [*halves[0], "et", *halves[1]]
    words = noun_phrase(node)
    first = node
    while first.rule in ("relative", "with", "from", "of"):
        first = first["head"]
    bare = first.rule == "core" and first["determiner"].lemma == "bare"
    if bare and preposition.split()[-1] == "de":
        words = words[1:]
    return [*preposition.split(), *words]


def _relative(node: Node, head: Node) -> list[str]:
    tense, concord, noun = node["tense"].rule, concord_of(head), head_noun(head)
    if node.rule == "whose":
        owned = node["noun"]
        rest = predicate(node["predicate"], tense, (3, "sg", owned.fr_gender))
        return ["dont", *definite(owned), *rest]
    if node.rule == "subject":
        return ["qui", *predicate(node["predicate"], tense, concord)]
    if node.rule == "inside":
        return ["où", *body(node["body"], tense)]
    preposition = node["verb"].fr_preposition
    if not preposition:
        start, antecedent = ["que"], concord
    elif preposition == "de":
        start, antecedent = ["dont"], None
    elif noun.kind == "person":
        start, antecedent = [preposition, "qui"], None
    else:
        start, antecedent = which(concord, preposition), None
    acting = _act(node, tense, concord_of(node["subject"]), antecedent=antecedent)
    return [*start, *noun_phrase(node["subject"], 0), *acting]
