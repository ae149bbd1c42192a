"""The bilingual words of the demo corpus.

One entry a line, `English = French`. Where a form is not the regular one, all
forms follow each other, with a slash between them:

    nouns       singular/plural = singular/plural gender
    adjectives  word = masculine/feminine/its plural/its plural; a "<" before
                the French word puts it before its noun
    verbs       base/past/participle = infinitive/participle
"""

DOCUMENTS = """
report = rapport m
proposal = proposition f
directive = directive f
regulation = règlement m
amendment = amendement m
resolution = résolution f
motion = motion f
budget = budget m
agreement = accord m
programme = programme m
plan = plan m
opinion = avis/avis m
recommendation = recommandation f
treaty/treaties = traité m
compromise = compromis/compromis m
decision = décision f
measure = mesure f
reform = réforme f
charter = charte f
white paper = livre blanc/livres blancs m
law = loi f
project = projet m
text = texte m
protocol = protocole m
convention = convention f
initiative = initiative f
action plan = plan d'action/plans d'action m
draft = avant-projet/avant-projets m
strategy/strategies = stratégie f
study/studies = étude f
timetable = calendrier m
communication = communication f
common position = position commune/positions communes f
list = liste f
method = méthode f
statement = déclaration f
conclusion = conclusion f
request = demande f
"""

DOCUMENT_ADJECTIVES = """
new = <nouveau/nouvelle/nouveaux/nouvelles
annual = annuel/annuelle/annuels/annuelles
excellent = <excellent
important = important
European = européen/européenne/européens/européennes
national = national/nationale/nationaux/nationales
final = final/finale/finals/finales
written = écrit
detailed = détaillé
ambitious = ambitieux/ambitieuse/ambitieux/ambitieuses
political = politique
social = social/sociale/sociaux/sociales
economic = économique
international = international/internationale/internationaux/internationales
provisional = provisoire
long = <long/longue/longs/longues
urgent = urgent
financial = financier/financière/financiers/financières
historic = historique
legal = juridique
real = <véritable
public = public/publique/publics/publiques
"""

# These go with "the" alone.
RANKS = """
first = <premier/première/premiers/premières
second = <deuxième
third = <troisième
last = <dernier/dernière/derniers/dernières
same = <même
former = <ancien/ancienne/anciens/anciennes
future = <futur
"""

JUDGEMENTS = """
unacceptable = inacceptable
necessary = nécessaire
useful = utile
useless = inutile
clear = clair
incomplete = incomplet/incomplète/incomplets/incomplètes
dangerous = dangereux/dangereuse/dangereux/dangereuses
unfair = injuste
fair = juste
realistic = réaliste
too weak = trop faible
very complex = très complexe
essential = essentiel/essentielle/essentiels/essentielles
balanced = équilibré
ready = prêt
disappointing = décevant
credible = crédible
"""

NATIONALITIES = """
German = allemand
Italian = italien/italienne/italiens/italiennes
Spanish = espagnol
Portuguese = portugais/portugaise/portugais/portugaises
British = britannique
Irish = irlandais/irlandaise/irlandais/irlandaises
Belgian = belge
Danish = danois/danoise/danois/danoises
Swedish = suédois/suédoise/suédois/suédoises
Finnish = finlandais/finlandaise/finlandais/finlandaises
Austrian = autrichien/autrichienne/autrichiens/autrichiennes
Polish = polonais/polonaise/polonais/polonaises
Czech = tchèque
Turkish = turc/turque/turcs/turques
Russian = russe
American = américain
Chinese = chinois/chinoise/chinois/chinoises
Norwegian = norvégien/norvégienne/norvégiens/norvégiennes
"""

VERBS = """
approve = approuver
reject = rejeter
amend = modifier
support = soutenir/soutenu
examine = examiner
adopt = adopter
sign = signer
publish = publier
withdraw/withdrew/withdrawn = retirer
criticise = critiquer
welcome = saluer
defend = défendre/défendu
block = bloquer
postpone = reporter
present = présenter
read/read/read = lire/lu
prepare = préparer
translate = traduire/traduit
finance = financer
correct = corriger
apply/applied/applied = appliquer
propose = proposer
accept = accepter
improve = améliorer
abandon = abandonner
announce = annoncer
simplify/simplified/simplified = simplifier
cancel/cancelled/cancelled = annuler
condemn = condamner
revise = réviser
"""

REPORTING_VERBS = """
say/said/said = dire/dit
declare = déclarer
explain = expliquer
confirm = confirmer
admit/admitted/admitted = admettre/admis
recall = rappeler
claim = affirmer
repeat = répéter
acknowledge = reconnaître/reconnu
reply/replied/replied = répondre/répondu
conclude = conclure/conclu
note = constater
"""

# Definite phrases: English = French gender number.
BODIES = """
the Commission = la Commission f s
the Council = le Conseil m s
Parliament = le Parlement m s
the Court of Auditors = la Cour des comptes f s
the Court of Justice = la Cour de justice f s
the European Central Bank = la Banque centrale européenne f s
the Committee of the Regions = le Comité des régions m s
the presidency = la présidence f s
the government = le gouvernement m s
the Member States = les États membres m p
the ministers = les ministres m p
the political groups = les groupes politiques m p
the trade unions = les syndicats m p
the local authorities = les autorités locales f p
the delegation = la délégation f s
the committee = la commission parlementaire f s
the majority = la majorité f s
the experts = les experts m p
my group = mon groupe m s
the negotiators = les négociateurs m p
the Court = la Cour f s
the opposition = l'opposition f s
the regions = les régions f p
the European Council = le Conseil européen m s
"""

COMMITTEES = """
the Committee on Fisheries = la commission de la pêche f s
the Committee on Budgets = la commission des budgets f s
the Committee on Transport = la commission des transports f s
the Committee on Agriculture = la commission de l'agriculture f s
the Committee on Culture = la commission de la culture f s
the Committee on Legal Affairs = la commission juridique f s
the Committee on Foreign Affairs = la commission des affaires étrangères f s
the Committee on the Environment = la commission de l'environnement f s
the Committee on Petitions = la commission des pétitions f s
the Committee on Women's Rights = la commission des droits de la femme f s
"""

ROLES = """
the minister = le ministre m s
the rapporteur = le rapporteur m s
the mayor = le maire m s
the ambassador = l'ambassadeur m s
the prime minister = le Premier ministre m s
the President-in-Office = le président en exercice m s
the commissioner = le commissaire m s
the chairman = le président m s
the Ombudsman = le médiateur m s
the mediator = la médiatrice f s
the judge = le juge m s
the spokesperson = le porte-parole m s
the governor = le gouverneur m s
the queen = la reine f s
the director = la directrice f s
"""

GROUPS = """
the citizens = les citoyens m p
the workers = les travailleurs m p
the consumers = les consommateurs m p
the farmers = les agriculteurs m p
the fishermen = les pêcheurs m p
the young people = les jeunes m p
the women = les femmes f p
the pensioners = les retraités m p
the nurses = les infirmières f p
the miners = les mineurs m p
the students = les étudiants m p
the taxpayers = les contribuables m p
the families = les familles f p
the journalists = les journalistes m p
the refugees = les réfugiés m p
the teachers = les enseignants m p
the patients = les patients m p
the voters = les électeurs m p
"""

TOPICS = """
unemployment = le chômage m s
climate change = le changement climatique m s
fishing = la pêche f s
agriculture = l'agriculture f s
immigration = l'immigration f s
food safety = la sécurité alimentaire f s
energy = l'énergie f s
air transport = le transport aérien m s
education = l'éducation f s
research = la recherche f s
taxation = la fiscalité f s
human rights = les droits de l'homme m p
enlargement = l'élargissement m s
trade = le commerce m s
competition = la concurrence f s
public health = la santé publique f s
animal welfare = le bien-être des animaux m s
data protection = la protection des données f s
tourism = le tourisme m s
poverty = la pauvreté f s
racism = le racisme m s
organised crime = le crime organisé m s
road safety = la sécurité routière f s
the internal market = le marché intérieur m s
the single currency = la monnaie unique f s
the environment = l'environnement m s
drinking water = l'eau potable f s
nuclear tests = les essais nucléaires m p
child labour = le travail des enfants m s
freedom of the press = la liberté de la presse f s
gender equality = l'égalité des sexes f s
the right of asylum = le droit d'asile m s
milk prices = les prix du lait m p
State subsidies = les aides d'État f p
pensions = les retraites f p
terrorism = le terrorisme m s
"""

# English = French after "in"; French with its article; gender number.
COUNTRIES = """
Germany = en Allemagne; l'Allemagne f s
France = en France; la France f s
Italy = en Italie; l'Italie f s
Spain = en Espagne; l'Espagne f s
Portugal = au Portugal; le Portugal m s
the United Kingdom = au Royaume-Uni; le Royaume-Uni m s
Ireland = en Irlande; l'Irlande f s
Belgium = en Belgique; la Belgique f s
the Netherlands = aux Pays-Bas; les Pays-Bas m p
Luxembourg = au Luxembourg; le Luxembourg m s
Denmark = au Danemark; le Danemark m s
Sweden = en Suède; la Suède f s
Finland = en Finlande; la Finlande f s
Austria = en Autriche; l'Autriche f s
Greece = en Grèce; la Grèce f s
Poland = en Pologne; la Pologne f s
Hungary = en Hongrie; la Hongrie f s
Turkey = en Turquie; la Turquie f s
Norway = en Norvège; la Norvège f s
Switzerland = en Suisse; la Suisse f s
Russia = en Russie; la Russie f s
Ukraine = en Ukraine; l'Ukraine f s
China = en Chine; la Chine f s
Japan = au Japon; le Japon m s
Canada = au Canada; le Canada m s
the United States = aux États-Unis; les États-Unis m p
Brazil = au Brésil; le Brésil m s
Morocco = au Maroc; le Maroc m s
Iceland = en Islande; l'Islande f s
Romania = en Roumanie; la Roumanie f s
"""

MONTHS = """
January = janvier
February = février
March = mars
April = avril
May = mai
June = juin
July = juillet
September = septembre
October = octobre
November = novembre
December = décembre
"""

WEEKDAYS = """
Monday = lundi
Tuesday = mardi
Wednesday = mercredi
Thursday = jeudi
Friday = vendredi
"""

HOURS = """
9 a.m. = 9 heures
10 a.m. = 10 heures
11 a.m. = 11 heures
noon = midi
3 p.m. = 15 heures
4 p.m. = 16 heures
5 p.m. = 17 heures
6 p.m. = 18 heures
8 p.m. = 20 heures
9 p.m. = 21 heures
"""

NUMBER_WORDS = """
two = deux
three = trois
four = quatre
five = cinq
six = six
seven = sept
eight = huit
nine = neuf
ten = dix
twelve = douze
fifteen = quinze
twenty = vingt
"""

PAST_TIMES = """
yesterday = hier
last week = la semaine dernière
last month = le mois dernier
last year = l'année dernière
this morning = ce matin
two days ago = il y a deux jours
a few weeks ago = il y a quelques semaines
three years ago = il y a trois ans
this week = cette semaine
"""

MANNERS = """
without a debate = sans débat
at first reading = en première lecture
by a large majority = à une large majorité
by a small majority = à une courte majorité
unanimously = à l'unanimité
in writing = par écrit
yesterday = hier
last week = la semaine dernière
last month = le mois dernier
"""

FUTURE_TIMES = """
tomorrow = demain
next week = la semaine prochaine
next month = le mois prochain
next year = l'année prochaine
this evening = ce soir
before the summer = avant l'été
in the coming days = dans les prochains jours
as soon as possible = dès que possible
at the next part-session = lors de la prochaine session
"""

OPENINGS = """
unfortunately, = malheureusement,
fortunately, = heureusement,
however, = cependant,
moreover, = de plus,
in my opinion, = à mon avis,
as you know, = comme vous le savez,
once again, = une fois de plus,
in fact, = en fait,
for this reason, = pour cette raison,
in short, = en bref,
"""

ADDRESSES = """
Madam President, = Madame la Présidente,
Mr President, = Monsieur le Président,
Commissioner, = Monsieur le Commissaire,
ladies and gentlemen, = Mesdames et Messieurs,
Minister, = Monsieur le Ministre,
"""
