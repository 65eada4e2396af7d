"""Verbs by class. A row is `English forms | German forms and government | French forms`.

English: base, third person, past, participle (default: the past), then the particle or the
preposition as "+up" or "/for". German: infinitive ("an+rufen" when separable), third person,
participle, "h" or "s" for haben or sein, then the case of the object ("dat", "acc") or a
preposition with its case ("/auf:acc"). The first person is stem + "e" unless given as "=weiß".
French: infinitive and, unless a regular "-er" verb, the forms for je, il, nous, ils and the
participle, then "e" for an être verb and "/à" or "/de" for the preposition of the object
("/à:lui" where a pronoun becomes lui or leur before the verb).
"""

from typing import NamedTuple


class Verb(NamedTuple):
    lemma: str  # English base, with its particle or preposition
    kind: str
    en: tuple[str, str, str, str]  # base, third person, past, participle
    en_particle: str
    en_preposition: str
    de_infinitive: str  # without the separable prefix
    de_first: str
    de_third: str
    de_participle: str
    de_prefix: str
    de_auxiliary: str  # haben, sein
    de_preposition: str
    de_case: str
    fr_infinitive: str
    fr_present: tuple[str, str, str, str]  # je, il, nous, ils
    fr_participle: str
    fr_auxiliary: str  # avoir, être
    fr_preposition: str
    fr_clitic: bool  # a pronoun after the preposition becomes lui, leur


ALONE = """
sleep sleeps slept | schlafen schläft geschlafen h | dormir dors dort dormons dorment dormi
laugh laughs laughed | lachen lacht gelacht h | rire ris rit rions rient ri
work works worked | arbeiten arbeitet gearbeitet h | travailler
sing sings sang sung | singen singt gesungen h | chanter
dance dances danced | tanzen tanzt getanzt h | danser
arrive arrives arrived | an+kommen kommt angekommen s | arriver e
come comes came come +back | zurück+kommen kommt zurückgekommen s | revenir reviens revient revenons reviennent revenu e
go goes went gone +out | aus+gehen geht ausgegangen s | sortir sors sort sortons sortent sorti e
leave leaves left | ab+fahren fährt abgefahren s | partir pars part partons partent parti e
fall falls fell fallen | fallen fällt gefallen s | tomber e
stay stays stayed | bleiben bleibt geblieben s | rester e
cry cries cried | weinen weint geweint h | pleurer
swim swims swam swum | schwimmen schwimmt geschwommen s | nager nage nage nageons nagent nagé
play plays played | spielen spielt gespielt h | jouer
eat eats ate eaten | essen isst gegessen h | manger mange mange mangeons mangent mangé
drink drinks drank drunk | trinken trinkt getrunken h | boire bois boit buvons boivent bu
travel travels travelled | reisen reist gereist s | voyager voyage voyage voyageons voyagent voyagé
lie lies lied | lügen lügt gelogen h | mentir mens ment mentons mentent menti
"""  # noqa: E501

BEING = """
see sees saw seen | sehen sieht gesehen h acc | voir vois voit voyons voient vu
hear hears heard | hören hört gehört h acc | entendre entends entend entendons entendent entendu
love loves loved | lieben liebt geliebt h acc | aimer
help helps helped | helfen hilft geholfen h dat | aider
follow follows followed | folgen folgt gefolgt s dat | suivre suis suit suivons suivent suivi
thank thanks thanked | danken dankt gedankt h dat | remercier
congratulate congratulates congratulated | gratulieren gratuliert gratuliert h dat | féliciter
invite invites invited | ein+laden lädt eingeladen h acc | inviter
call calls called | an+rufen ruft angerufen h acc | appeler appelle appelle appelons appellent appelé
greet greets greeted | grüßen grüßt gegrüßt h acc | saluer
admire admires admired | bewundern bewundert bewundert h acc | admirer
understand understands understood | verstehen versteht verstanden h acc | comprendre comprends comprend comprenons comprennent compris
hate hates hated | hassen hasst gehasst h acc | détester
recognise recognises recognised | erkennen erkennt erkannt h acc | reconnaître reconnais reconnaît reconnaissons reconnaissent reconnu
watch watches watched | beobachten beobachtet beobachtet h acc | observer
protect protects protected | beschützen beschützt beschützt h acc | protéger protège protège protégeons protègent protégé
wake wakes woke woken +up | auf+wecken weckt aufgeweckt h acc | réveiller
accompany accompanies accompanied | begleiten begleitet begleitet h acc | accompagner
meet meets met | treffen trifft getroffen h acc | rencontrer
"""  # noqa: E501

THING = """
buy buys bought | kaufen kauft gekauft h acc | acheter achète achète achetons achètent acheté
sell sells sold | verkaufen verkauft verkauft h acc | vendre vends vend vendons vendent vendu
carry carries carried | tragen trägt getragen h acc | porter
repair repairs repaired | reparieren repariert repariert h acc | réparer
break breaks broke broken | zerbrechen zerbricht zerbrochen h acc | casser
clean cleans cleaned | putzen putzt geputzt h acc | nettoyer nettoie nettoie nettoyons nettoient nettoyé
hide hides hid hidden | verstecken versteckt versteckt h acc | cacher
lose loses lost | verlieren verliert verloren h acc | perdre perds perd perdons perdent perdu
find finds found | finden findet gefunden h acc | trouver
open opens opened | auf+machen macht aufgemacht h acc | ouvrir ouvre ouvre ouvrons ouvrent ouvert
close closes closed | zu+machen macht zugemacht h acc | fermer
describe describes described | beschreiben beschreibt beschrieben h acc | décrire décris décrit décrivons décrivent décrit
steal steals stole stolen | stehlen stiehlt gestohlen h acc | voler
bring brings brought | mit+bringen bringt mitgebracht h acc | apporter
use uses used | benutzen benutzt benutzt h acc | utiliser
forget forgets forgot forgotten | vergessen vergisst vergessen h acc | oublier
touch touches touched | berühren berührt berührt h acc | toucher
wash washes washed | waschen wäscht gewaschen h acc | laver
choose chooses chose chosen | aus+wählen wählt ausgewählt h acc | choisir choisis choisit choisissons choisissent choisi
take takes took taken | nehmen nimmt genommen h acc | prendre prends prend prenons prennent pris
paint paints painted | malen malt gemalt h acc | peindre peins peint peignons peignent peint
"""  # noqa: E501

GIFT = """
give gives gave given | geben gibt gegeben h acc | donner
show shows showed shown | zeigen zeigt gezeigt h acc | montrer
send sends sent | schicken schickt geschickt h acc | envoyer envoie envoie envoyons envoient envoyé
lend lends lent | leihen leiht geliehen h acc | prêter
offer offers offered | an+bieten bietet angeboten h acc | offrir offre offre offrons offrent offert
return returns returned | zurück+geben gibt zurückgegeben h acc | rendre rends rend rendons rendent rendu
promise promises promised | versprechen verspricht versprochen h acc | promettre promets promet promettons promettent promis
"""  # noqa: E501

OBLIQUE = """
wait waits waited /for | warten wartet gewartet h /auf:acc | attendre attends attend attendons attendent attendu
look looks looked /for | suchen sucht gesucht h acc | chercher
think thinks thought /of | denken denkt gedacht h /an:acc | penser /à
dream dreams dreamt /of | träumen träumt geträumt h /von:dat | rêver /de
talk talks talked /about | sprechen spricht gesprochen h /über:acc | parler /de
listen listens listened /to | zu+hören hört zugehört h dat | écouter
fight fights fought /against | kämpfen kämpft gekämpft h /gegen:acc | lutter /contre
answer answers answered | antworten antwortet geantwortet h dat | répondre réponds répond répondons répondent répondu /à:lui
obey obeys obeyed | gehorchen gehorcht gehorcht h dat | obéir obéis obéit obéissons obéissent obéi /à:lui
"""  # noqa: E501

MOTION = """
go goes went gone | gehen geht gegangen s | aller vais va allons vont allé e
run runs ran run | laufen läuft gelaufen s | courir cours court courons courent couru
jump jumps jumped | springen springt gesprungen s | sauter
come comes came come | kommen kommt gekommen s | venir viens vient venons viennent venu e
"""

SAYING = """
say says said | sagen sagt gesagt h | dire dis dit disons disent dit
believe believes believed | glauben glaubt geglaubt h | croire crois croit croyons croient cru
know knows knew known | wissen weiß gewusst h =weiß | savoir sais sait savons savent su
hope hopes hoped | hoffen hofft gehofft h | espérer espère espère espérons espèrent espéré
write writes wrote written | schreiben schreibt geschrieben h | écrire écris écrit écrivons écrivent écrit
notice notices noticed | bemerken bemerkt bemerkt h | remarquer
explain explains explained | erklären erklärt erklärt h | expliquer
"""  # noqa: E501


def _verb(row: str, kind: str) -> Verb:
    english, german, french = (part.split() for part in row.split("|"))
    forms = [word for word in english if word[0] not in "+/"]
    mark = english[-1] if len(forms) < len(english) else ""
    base, third, past = forms[:3]
    participle = forms[3] if len(forms) > 3 else past
    prefix, _, infinitive = german[0].rpartition("+")
    preposition, case, first = "", "", infinitive[:-2] + "e"
    if infinitive.endswith("ern"):
        first = infinitive[:-1] + "e"
    for word in german[4:]:
        if word.startswith("/"):
            preposition, case = word[1:].split(":")
        elif word.startswith("="):
            first = word[1:]
        else:
            case = word
    fr_preposition = french.pop()[1:] if french[-1].startswith("/") else ""
    fr_preposition, clitic, _ = fr_preposition.partition(":")
    auxiliary = "être" if french[-1] == "e" and french.pop() else "avoir"
    if len(french) == 1:
        stem = french[0].removesuffix("er")
        present, fr_participle = (stem + "e", stem + "e", stem + "ons", stem + "ent"), stem + "é"
    else:
        present, fr_participle = (french[1], french[2], french[3], french[4]), french[5]
    return Verb(
        lemma=" ".join(filter(None, (base, mark[1:]))),
        kind=kind,
        en=(base, third, past, participle),
        en_particle=mark[1:] if mark.startswith("+") else "",
        en_preposition=mark[1:] if mark.startswith("/") else "",
        de_infinitive=infinitive,
        de_first=first,
        de_third=german[1],
        de_participle=german[2],
        de_prefix=prefix,
        de_auxiliary="sein" if german[3] == "s" else "haben",
        de_preposition=preposition,
        de_case=case,
        fr_infinitive=french[0],
        fr_present=present,
        fr_participle=fr_participle,
        fr_auxiliary=auxiliary,
        fr_preposition=fr_preposition,
        fr_clitic=bool(clitic),
    )


def _table(rows: str, kind: str) -> tuple[Verb, ...]:
    return tuple(_verb(row, kind) for row in rows.strip().split("\n"))


VERBS = {
    "alone": _table(ALONE, "alone"),
    "being": _table(BEING, "being"),
    "thing": _table(THING, "thing"),
    "gift": _table(GIFT, "gift"),
    "oblique": _table(OBLIQUE, "oblique"),
    "motion": _table(MOTION, "motion"),
    "saying": _table(SAYING, "saying"),
}
