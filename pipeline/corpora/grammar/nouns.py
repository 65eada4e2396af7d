"""Nouns by class. A row is `English plural | German gender plural genitive | French gender plural`.

Defaults: English and French plurals add "s"; a German feminine has no genitive ending. "~Form"
in place of the genitive marks a weak noun: that form in every singular case but the nominative.
"""

from typing import NamedTuple


class Noun(NamedTuple):
    lemma: str  # the English singular, or the name
    kind: str  # person, animal, thing, place, event, name, city
    en_plural: str
    de: str
    de_gender: str  # m, f, n
    de_plural: str
    de_genitive: str
    de_oblique: str  # accusative and dative singular
    fr: str
    fr_gender: str  # m, f
    fr_plural: str


PERSONS = """
man men | Mann m Männer Mannes | homme m
woman women | Frau f Frauen | femme f
boy | Junge m Jungen ~Jungen | garçon m
girl | Mädchen n Mädchen Mädchens | fille f
child children | Kind n Kinder Kindes | enfant m
teacher | Lehrer m Lehrer Lehrers | professeur m
student | Student m Studenten ~Studenten | étudiant m
doctor | Arzt m Ärzte Arztes | médecin m
nurse | Krankenschwester f Krankenschwestern | infirmière f
farmer | Bauer m Bauern ~Bauern | fermier m
king | König m Könige Königs | roi m
queen | Königin f Königinnen | reine f
neighbour | Nachbar m Nachbarn ~Nachbarn | voisin m
friend | Freund m Freunde Freundes | ami m
sister | Schwester f Schwestern | sœur f
brother | Bruder m Brüder Bruders | frère m
mother | Mutter f Mütter | mère f
father | Vater m Väter Vaters | père m
son | Sohn m Söhne Sohnes | fils m fils
uncle | Onkel m Onkel Onkels | oncle m
aunt | Tante f Tanten | tante f
baker | Bäcker m Bäcker Bäckers | boulanger m
cook | Koch m Köche Kochs | cuisinier m
singer | Sängerin f Sängerinnen | chanteuse f
dancer | Tänzerin f Tänzerinnen | danseuse f
painter | Maler m Maler Malers | peintre m
writer | Schriftsteller m Schriftsteller Schriftstellers | écrivain m
actress actresses | Schauspielerin f Schauspielerinnen | actrice f
lawyer | Anwalt m Anwälte Anwalts | avocat m
judge | Richter m Richter Richters | juge m
soldier | Soldat m Soldaten ~Soldaten | soldat m
policeman policemen | Polizist m Polizisten ~Polizisten | policier m
tourist | Tourist m Touristen ~Touristen | touriste m
guest | Gast m Gäste Gastes | invité m
princess princesses | Prinzessin f Prinzessinnen | princesse f
waitress waitresses | Kellnerin f Kellnerinnen | serveuse f
worker | Arbeiter m Arbeiter Arbeiters | ouvrier m
engineer | Ingenieur m Ingenieure Ingenieurs | ingénieur m
"""

ANIMALS = """
dog | Hund m Hunde Hundes | chien m
cat | Katze f Katzen | chat m
horse | Pferd n Pferde Pferdes | cheval m chevaux
bird | Vogel m Vögel Vogels | oiseau m oiseaux
cow | Kuh f Kühe | vache f
mouse mice | Maus f Mäuse | souris f souris
goat | Ziege f Ziegen | chèvre f
wolf wolves | Wolf m Wölfe Wolfes | loup m
bear | Bär m Bären ~Bären | ours m ours
fox foxes | Fuchs m Füchse Fuchses | renard m
lion | Löwe m Löwen ~Löwen | lion m
elephant | Elefant m Elefanten ~Elefanten | éléphant m
monkey | Affe m Affen ~Affen | singe m
rabbit | Kaninchen n Kaninchen Kaninchens | lapin m
duck | Ente f Enten | canard m
pig | Schwein n Schweine Schweins | cochon m
donkey | Esel m Esel Esels | âne m
frog | Frosch m Frösche Frosches | grenouille f
"""

THINGS = """
book | Buch n Bücher Buches | livre m
letter | Brief m Briefe Briefes | lettre f
table | Tisch m Tische Tisches | table f
chair | Stuhl m Stühle Stuhls | chaise f
lamp | Lampe f Lampen | lampe f
key | Schlüssel m Schlüssel Schlüssels | clé f
bag | Tasche f Taschen | sac m
hat | Hut m Hüte Hutes | chapeau m chapeaux
coat | Mantel m Mäntel Mantels | manteau m manteaux
shirt | Hemd n Hemden Hemdes | chemise f
bottle | Flasche f Flaschen | bouteille f
cup | Tasse f Tassen | tasse f
plate | Teller m Teller Tellers | assiette f
knife knives | Messer n Messer Messers | couteau m couteaux
fork | Gabel f Gabeln | fourchette f
apple | Apfel m Äpfel Apfels | pomme f
cake | Kuchen m Kuchen Kuchens | gâteau m gâteaux
egg | Ei n Eier Eis | œuf m
flower | Blume f Blumen | fleur f
picture | Bild n Bilder Bildes | tableau m tableaux
newspaper | Zeitung f Zeitungen | journal m journaux
car | Auto n Autos Autos | voiture f
bicycle | Fahrrad n Fahrräder Fahrrads | vélo m
boat | Boot n Boote Bootes | bateau m bateaux
clock | Uhr f Uhren | horloge f
guitar | Gitarre f Gitarren | guitare f
piano | Klavier n Klaviere Klaviers | piano m
box boxes | Kiste f Kisten | boîte f
door | Tür f Türen | porte f
window | Fenster n Fenster Fensters | fenêtre f
mirror | Spiegel m Spiegel Spiegels | miroir m
umbrella | Regenschirm m Regenschirme Regenschirms | parapluie m
ring | Ring m Ringe Ringes | bague f
computer | Computer m Computer Computers | ordinateur m
gift | Geschenk n Geschenke Geschenks | cadeau m cadeaux
machine | Maschine f Maschinen | machine f
map | Karte f Karten | carte f
sword | Schwert n Schwerter Schwertes | épée f
candle | Kerze f Kerzen | bougie f
dress dresses | Kleid n Kleider Kleides | robe f
ladder | Leiter f Leitern | échelle f
carpet | Teppich m Teppiche Teppichs | tapis m tapis
"""

PLACES = """
house | Haus n Häuser Hauses | maison f
garden | Garten m Gärten Gartens | jardin m
park | Park m Parks Parks | parc m
school | Schule f Schulen | école f
church churches | Kirche f Kirchen | église f
room | Zimmer n Zimmer Zimmers | chambre f
kitchen | Küche f Küchen | cuisine f
library libraries | Bibliothek f Bibliotheken | bibliothèque f
museum | Museum n Museen Museums | musée m
hotel | Hotel n Hotels Hotels | hôtel m
castle | Schloss n Schlösser Schlosses | château m châteaux
village | Dorf n Dörfer Dorfes | village m
city cities | Stadt f Städte | ville f
forest | Wald m Wälder Waldes | forêt f
factory factories | Fabrik f Fabriken | usine f
hospital | Krankenhaus n Krankenhäuser Krankenhauses | hôpital m hôpitaux
office | Büro n Büros Büros | bureau m bureaux
restaurant | Restaurant n Restaurants Restaurants | restaurant m
theatre | Theater n Theater Theaters | théâtre m
station | Bahnhof m Bahnhöfe Bahnhofs | gare f
tower | Turm m Türme Turmes | tour f
cellar | Keller m Keller Kellers | cave f
"""

EVENTS = """
concert | Konzert n Konzerte Konzerts | concert m
party parties | Feier f Feiern | fête f
war | Krieg m Kriege Krieges | guerre f
storm | Sturm m Stürme Sturmes | tempête f
meal | Mahlzeit f Mahlzeiten | repas m repas
winter | Winter m Winter Winters | hiver m
night | Nacht f Nächte | nuit f
wedding | Hochzeit f Hochzeiten | mariage m
"""

NAMES = """
Anna - | Anna f - Annas | Anna f
Paul - | Paul m - Pauls | Paul m
Emma - | Emma f - Emmas | Emma f
Martin - | Martin m - Martins | Martin m
Julia - | Julia f - Julias | Julia f
Robert - | Robert m - Roberts | Robert m
"""

CITIES = """
Berlin - | Berlin n - Berlins | Berlin m
Paris - | Paris n - Paris | Paris m
London - | London n - Londons | Londres m
Vienna - | Wien n - Wiens | Vienne f
Rome - | Rom n - Roms | Rome f
Munich - | München n - Münchens | Munich m
Cologne - | Köln n - Kölns | Cologne f
Geneva - | Genf n - Genfs | Genève f
"""


def _noun(row: str, kind: str) -> Noun:
    english, german, french = (part.split() for part in row.split("|"))
    lemma = english[0]
    en_plural = english[1] if len(english) > 1 else lemma + "s"
    de, de_gender, de_plural = german[:3]
    last = german[3] if len(german) > 3 else de
    weak = last.startswith("~")
    genitive = last.removeprefix("~")
    oblique = genitive if weak else de
    fr, fr_gender = french[:2]
    fr_plural = french[2] if len(french) > 2 else fr + "s"
    return Noun(
        lemma,
        kind,
        en_plural,
        de,
        de_gender,
        de_plural,
        genitive,
        oblique,
        fr,
        fr_gender,
        fr_plural,
    )


def _table(rows: str, kind: str) -> tuple[Noun, ...]:
    return tuple(_noun(row, kind) for row in rows.strip().split("\n"))


NOUNS = {
    "person": _table(PERSONS, "person"),
    "animal": _table(ANIMALS, "animal"),
    "thing": _table(THINGS, "thing"),
    "place": _table(PLACES, "place"),
    "event": _table(EVENTS, "event"),
    "name": _table(NAMES, "name"),
    "city": _table(CITIES, "city"),
}
