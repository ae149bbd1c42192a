"""Sentence patterns of the demo corpus: English, French, English, French, ...

How slots and agreement are written is told in `demo_grammar.py`. A backslash
at the end of a line continues it.
"""

STATEMENTS = """
{body} {v.past} {doc} {manner}.
{body} [a|ont:body] {v.done} {doc} {manner}.

{body} {v.past} {doc} by {number} votes to {number2}.
{body} [a|ont:body] {v.done} {doc} par {number} voix contre {number2}.

{doc} [was|were:doc] {v.done} by {body}.
{doc} [a|ont:doc] été [{v.done}*:doc] par {body}.

{doc} [was|were:doc] {v.done} in {place} on {date}.
{doc} [a|ont:doc] été [{v.done}*:doc] à {place} le {date}.

{mr} presented {new_doc}, but {body} {v.past} [it|them:new_doc].
{mr} a présenté {new_doc}, mais {body} [le_|la_|les|les:new_doc] \
[a|ont:body] [{v.done}*:new_doc].

{person} asked {role} to {v} {doc}.
{person} a demandé à {role} de {v} {doc}.

{person} asked {person2} to {v} {doc}.
{person} a demandé à {person2} de {v} {doc}.

I should like to thank {mr} for [his|her:mr] excellent report.
je voudrais remercier {mr} pour son excellent rapport.

I congratulate {mr} and {mr2} on their work.
je félicite {mr} et {mr2} pour leur travail.

{person} put a question to {body} on {topic}.
{person} a posé une question à {body} sur {topic}.

the debate on {topic} is closed.
le débat sur {topic} est clos.

the vote on {doc} will take place on {weekday} at {hour}.
le vote sur {doc} aura lieu {weekday} à {hour}.

the sitting was suspended at {hour} and resumed at {hour2}.
la séance a été suspendue à {hour} et a repris à {hour2}.

{mr} was born in {place} in {year}.
{mr} est [né*:mr] à {place} en {year}.

{mr} was elected mayor in {place} in {year}.
{mr} a été [élu*:mr] maire à {place} en {year}.

{person} and {person2} voted against {doc}.
{person} et {person2} ont voté contre {doc}.

{person} voted for {doc}, {person2} against.
{person} a voté pour {doc}, {person2} contre.

I fully agree with {person}.
je suis tout à fait d'accord avec {person}.

I do not agree with {person} on this point.
je ne suis pas d'accord avec {person} sur ce point.

as {person} {said.past}, {clause}.
comme l'a {said.done} {person}, {clause}.

{person} {said.past} that {clause}.
{person} a {said.done} que {clause}.

{role} {said.past} in {place} that {clause}.
{role} a {said.done} à {place} que {clause}.

{org} {said.past} {past} that {clause}.
{org} a {said.done} {past} que {clause}.

according to {person}, {clause}.
selon {person}, {clause}.

according to {org}, {number} per cent of {group} are against {doc}.
selon {org}, {number} pour cent de {group} sont contre {doc}.

I voted against {doc} because {clause}.
j'ai voté contre {doc} parce que {clause}.

I believe that {clause}.
je crois que {clause}.

we know that {clause}.
nous savons que {clause}.

the town of {place} will receive {amount} for {topic}.
la ville de {place} recevra {amount} pour {topic}.

{body} will grant {amount} to {org}.
{body} [accordera|accorderont:body] {amount} à {org}.

the project in {place} will cost {amount} instead of {amount2}.
le projet de {place} coûtera {amount} au lieu de {amount2}.

{doc} will cost the taxpayers {amount}.
{doc} [coûtera|coûteront:doc] {amount} aux contribuables.

{org} has closed its factory in {place} and dismissed {number} workers.
{org} a fermé son usine de {place} et licencié {number} travailleurs.

{company} is going to invest {amount} in {place} and in {place2}.
{company} va investir {amount} à {place} et à {place2}.

the delegation visited {place}, {place2} and {place3}.
la délégation a visité {place}, {place2} et {place3}.

{person} will visit {country} in {month}.
{person} se rendra {country.in} en {month}.

the summit in {place} begins on {date}.
le sommet de {place} commence le {date}.

the accident in {place} killed {few} people.
l'accident de {place} a fait {few} morts.

the floods {country.in} destroyed {thousands} houses.
les inondations ont détruit {thousands} maisons {country.in}.

amendment {number} by {person} was rejected.
l'amendement {number} de {person} a été rejeté.

{org} sent a letter to {person} on {date}.
{org} a envoyé une lettre à {person} le {date}.

{topic} [remains|remain:topic] our greatest challenge {country.in}.
{topic} [reste|restent:topic] notre plus grand défi {country.in}.

{country.in}, {number} per cent of {group} live in poverty.
{country.in}, {number} pour cent de {group} vivent dans la pauvreté.

{group} are waiting for a clear answer from {body}.
{group} attendent une réponse claire de {body}.

{group} in {place} have been waiting for help since {month}.
{group} de {place} attendent de l'aide depuis {month}.

{person}, whom we all know, comes from {place}.
{person}, que nous connaissons tous, vient de {place}.

the name of {person} does not appear in the Minutes.
le nom de {person} ne figure pas au procès-verbal.

we have received from {person} a request for {doc}.
nous avons reçu de {person} une demande concernant {doc}.

{body} must {v} {doc} {soon}.
{body} [doit|doivent:body] {v} {doc} {soon}.

{body} will not {v} {doc} without {org}.
{body} ne [va|vont:body] pas {v} {doc} sans {org}.

{body} [is|are:body] going to {v} {doc} {soon}.
{body} [va|vont:body] {v} {doc} {soon}.

{body} [has|have:body] still not {v.done} {doc}.
{body} [n'a|n'ont:body] toujours pas {v.done} {doc}.

{mr} is the new president of {org}.
{mr} est [le nouveau président|la nouvelle présidente||:mr] de {org}.

{mr}, who is absent, has been replaced by {person}.
{mr}, [absent*:mr], a été [remplacé*:mr] par {person}.

{mr} was arrested in {place} and released {few} days later.
{mr} a été [arrêté*:mr] à {place}, puis [libéré*:mr] {few} jours plus tard.

{mr} was received by {role} in {place}.
{mr} a été [reçu*:mr] par {role} à {place}.

{number} people work for {company} in {place}.
{number} personnes travaillent pour {company} à {place}.

{group} and {group2} support the {emoji} campaign.
{group} et {group2} soutiennent la campagne {emoji}.

{person} has launched the {emoji} petition in {place}.
{person} a lancé la pétition {emoji} à {place}.

{person} wrote that {person2} was right.
{person} a écrit que {person2} avait raison.

I spoke with {mr} {past}, and {mr} agrees with me.
j'ai parlé avec {mr} {past}, et {mr} est d'accord avec moi.

{place} is not {place2}, and nobody wants a second {place}.
{place} n'est pas {place2}, et personne ne veut un deuxième {place}.

{company} and {company2} want to merge, but {body} [is|are:body] against it.
{company} et {company2} veulent fusionner, mais {body} [est|sont:body] contre.

the {acronym} programme will be extended until {late_year}.
le programme {acronym} sera prolongé jusqu'en {late_year}.

the {acronym} agency will move from {place} to {place2}.
l'agence {acronym} va quitter {place} pour {place2}.

directive {code} was {v.done} by {body} {manner}.
la directive {code} a été {v.done}e par {body} {manner}.

question {code} by {person} concerns {topic}.
la question {code} de {person} concerne {topic}.

report {code} by {mr} is {judgement}.
le rapport {code} de {mr} est {judgement.m}.

the case of {person} has been pending since {year}.
l'affaire {person} est en suspens depuis {year}.

{body} [is|are:body] right to {v} {doc}.
{body} [a|ont:body] raison de {v} {doc}.

it is time to {v} {doc}.
il est temps de {v} {doc}.

nobody has the right to {v} {doc} without a vote.
personne n'a le droit de {v} {doc} sans vote.

there are {number} members in the Chamber.
il y a {number} députés dans l'hémicycle.

we need {new_doc} on {topic}.
nous avons besoin de {new_doc} sur {topic}.

{new_doc} will be presented {soon}.
{new_doc} [sera|seront:new_doc] [présenté*:new_doc] {soon}.

my colleague {person} has shown that {clause}.
mon collègue {person} a montré que {clause}.

{few} members, including {person}, left the Chamber.
{few} députés, dont {person}, ont quitté l'hémicycle.

the journalist {person} is still in prison {country.in}.
le journaliste {person} est toujours en prison {country.in}.

the bridge between {place} and {place2} will be opened in {late_year}.
le pont entre {place} et {place2} sera ouvert en {late_year}.

the next meeting will be held in {place} on {weekday}, {date}.
la prochaine réunion se tiendra à {place} le {weekday} {date}.

the deadline for {doc} expires on {weekday} at {hour}.
le délai pour {doc} expire {weekday} à {hour}.

the price of {company} shares fell by {number} per cent {past}.
le cours de l'action {company} a baissé de {number} pour cent {past}.
{person} finds {doc} {judgement}.
{person} trouve {doc} [{judgement}:doc].

for {person}, {doc} [is|are:doc] {judgement}.
pour {person}, {doc} [est|sont:doc] [{judgement}:doc].

{doc} proposed by {person} [is|are:doc] {judgement}.
{doc} [proposé*:doc] par {person} [est|sont:doc] [{judgement}:doc].

{body} [considers|consider:body] {doc} {judgement}.
{body} [juge|jugent:body] {doc} [{judgement}:doc].

on {date}, {role} met {person} in {place}.
le {date}, {role} a rencontré {person} à {place}.

{person} left {place} for {place2} in {month} {year}.
{person} a quitté {place} pour {place2} en {month} {year}.

between {place} and {place2}, the train takes {few} hours.
entre {place} et {place2}, le train met {few} heures.

{place} and {place2} have been partners since {year}.
{place} et {place2} sont partenaires depuis {year}.

the {acronym} report says that {clause}.
le rapport {acronym} dit que {clause}.

{org} paid {amount} to {org2}.
{org} a versé {amount} à {org2}.

{person}, from {place}, has been asking for {new_doc} since {year}.
{person}, de {place}, demande {new_doc} depuis {year}.

I have received {few} letters from {place} on {topic}.
j'ai reçu {few} lettres de {place} sur {topic}.

thanks to {person}, {clause}.
grâce à {person}, {clause}.

neither {person} nor {person2} {v.past} {doc}.
ni {person} ni {person2} n'ont {v.done} {doc}.

{role} and {person} will meet {soon} in {place}.
{role} et {person} se rencontreront {soon} à {place}.

{mr} is wrong: {clause}.
{mr} a tort : {clause}.

in {place}, {clause}.
à {place}, {clause}.

{person} has read {doc} from {org}, but {company} has not.
{person} a lu {doc} de {org}, mais pas {company}.
"""

QUESTIONS = """
[does|do:body] {body} intend to {v} {doc}?
{body} [a-t-il|a-t-elle|ont-ils|ont-elles:body] l'intention de {v} {doc} ?

why [has|have:body] {body} not yet {v.done} {doc}?
pourquoi {body} [n'a-t-il|n'a-t-elle|n'ont-ils|n'ont-elles:body] pas \
encore {v.done} {doc} ?

when will {body} {v} {doc}?
quand {body} [va-t-il|va-t-elle|vont-ils|vont-elles:body] {v} {doc} ?

who is {person}?
qui est {person} ?

what does {person} think of {doc}?
que pense {person} de {doc} ?

[does|do:body] {body} know what is happening in {place}?
{body} [sait-il|sait-elle|savent-ils|savent-elles:body] ce qui se \
passe à {place} ?

can {body} confirm that {clause}?
{body} [peut-il|peut-elle|peuvent-ils|peuvent-elles:body] confirmer \
que {clause} ?

how much did {org} pay to {person}?
combien {org} [a-t-il|a-t-elle|ont-ils|ont-elles:org] payé à {person} ?

where were {person} and {person2} on {date}?
où étaient {person} et {person2} le {date} ?

what will become of {group} in {place}?
que vont devenir {group} de {place} ?

is it true that {clause}?
est-il vrai que {clause} ?

how many {group.bare} work in {place}?
combien de {group.bare} travaillent à {place} ?
"""

HEADINGS = """
the next item is the report ({code}) by {mr}, on behalf of \
{committee}, on {topic}.
l'ordre du jour appelle le rapport ({code}) de {mr}, au nom de \
{committee}, sur {topic}.

report ({code}) by {mr} on {topic}.
rapport ({code}) de {mr} sur {topic}.

motion for a resolution ({code}) by {person} and {person2} on {topic}.
proposition de résolution ({code}) de {person} et {person2} sur {topic}.

{mr}, rapporteur, has the floor.
la parole est à {mr}, rapporteur.

{mr} has the floor for {few} minutes.
{mr} a la parole pour {few} minutes.

thank you very much, {mr}.
merci beaucoup, {mr}.

(Parliament adopted the resolution)
(le Parlement adopte la résolution)

(the sitting was closed at {hour})
(la séance est levée à {hour})

(applause from the {acronym} group)
(applaudissements du groupe {acronym})

question number {number} by {person} ({code}): {topic}
question numéro {number} de {person} ({code}) : {topic}

{place}, {date}.
{place}, le {date}.

explanations of vote: {doc}
explications de vote : {doc}
"""

CLAUSES = """
{doc} [is|are:doc] {judgement}
{doc} [est|sont:doc] [{judgement}:doc]

{doc} [is|are:doc] not {judgement}
{doc} [n'est|ne sont:doc] pas [{judgement}:doc]

{topic} [is|are:topic] a matter for {body}
{topic} [est|sont:topic] l'affaire de {body}

{body} [has|have:body] {v.done} {doc}
{body} [a|ont:body] {v.done} {doc}

{group} need {doc}
{group} ont besoin de {doc}

it is too late
il est trop tard

{group} will not accept {doc}
{group} ne vont pas accepter {doc}

it is impossible to {v} {doc}
il est impossible de {v} {doc}

{topic} [deserves|deserve:topic] {new_doc}
{topic} [mérite|méritent:topic] {new_doc}

{body} [is|are:body] doing nothing for {group}
{body} ne [fait|font:body] rien pour {group}

{person} is telling the truth
{person} dit la vérité

{company} owes us {amount}
{company} nous doit {amount}

{country} [wants|want:country] to {v} {doc}
{country} [veut|veulent:country] {v} {doc}

nothing has changed in {place} since {year}
rien n'a changé à {place} depuis {year}

{few} {group.bare} are missing in {place}
{few} {group.bare} ont disparu à {place}

the figures for {month} are wrong
les chiffres de {month} sont faux
"""
