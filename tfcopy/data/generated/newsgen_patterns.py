"""Words and sentence patterns of the generated news.

A slot is a table below, or a class of names: `{person}`, `{firm}`, `{club}`,
`{place}`, `{product}` and `{storm}`. `{firm2}` is another firm than `{firm}`,
`{number2}` another number; `{person.last}` is a surname, `{firm.first}` a firm
without its line of business. Within a record the same slot has the same value,
but in distractors, where all slots are filled anew.
"""

import dataclasses


def _range(first, last, text="{}"):
    return "|".join(text.format(i) for i in range(first, last + 1))


TABLES = {
    "weekday": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "month": (
        "January|February|March|April|May|June|July|August|September|October"
        "|November|December"
    ),
    "year": _range(2027, 2034),
    "few": "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
    "number": _range(11, 99),
    "percent": _range(2, 35),
    "share": _range(51, 74),
    "speed": "90|100|110|120|130|140|150|160|170|180",
    "score": "1-0|2-0|2-1|3-0|3-1|3-2|4-0|4-1|4-2|5-1|5-3",
    "sum": _range(2, 60, "{} million"),
    "goods": (
        "glass|paper|shoe|tyre|cheese|chocolate|furniture|battery|bicycle"
        "|carpet|toy|medicine|steel|software|candle|brick"
    ),
    "job": (
        "lawyer|teacher|farmer|doctor|baker|carpenter|plumber|nurse|painter"
        "|driver|soldier|singer|photographer|beekeeper|tailor|librarian"
    ),
    "ministry": (
        "health|finance|justice|education|transport|culture|trade|defence"
        "|labour|housing"
    ),
    "weather": (
        "heavy storms|strong winds|flash floods|thick fog|hail and thunder"
        "|freezing rain|high waves|blowing sand"
    ),
    "appliance": (
        "kettles|heaters|toasters|scooters|drills|ovens|lamps|fans|prams"
        "|ladders|mowers|dryers"
    ),
    "fault": (
        "their batteries may catch fire|their plugs may break"
        "|their wheels may come off|their handles get too hot"
        "|their cables may melt|their locks may open"
    ),
    "food": "honey|jam|mustard|sauce|soup|yoghurt|muesli|tea",
    "substance": "glass|metal|plastic|mould|lead|rubber|sand",
    "building": (
        "library|hospital|museum|stadium|theatre|station|bridge|tunnel|school"
        "|swimming pool|market hall|prison"
    ),
    "crime": (
        "fraud|theft|bribery|forgery|smuggling|blackmail|burglary|perjury"
    ),
    "matter": (
        "noise|unpaid wages|dirty water|a broken promise|a stolen idea"
        "|false advertising|a leaking roof|rotten fish"
    ),
    "vehicle": "bus|lorry|tram|van|tractor|taxi|crane|fire engine",
    "art": "literature|poetry|music|drama|history|painting|dance|film",
    "thing": (
        "a first novel|a book of poems|a song about the sea|a play about bees"
        "|a history of bread|a guide to the moon|a film about a strike"
        "|letters from prison|tales for children|a portrait of a village"
    ),
    "workers": (
        "drivers|nurses|teachers|pilots|miners|dockers|bakers|cleaners|cooks"
        "|guards|welders|postmen"
    ),
    "find": (
        "a hoard of coins|the tooth of a mammoth|a stone bridge|a wooden boat"
        "|a bath with mosaics|the grave of a king|a box of letters"
        "|a wall of salt|traces of a mill"
    ),
    "animal": (
        "crows|dolphins|goats|bees|octopuses|parrots|rats|elephants|spiders"
        "|toads|whales"
    ),
    "skill": (
        "count to seven|tell faces apart|plan for the next day|feel music"
        "|learn from dreams|find water by smell|remember debts"
        "|share food fairly|recognise lies"
    ),
    "position": "striker|goalkeeper|defender|midfielder|winger|captain",
    "limb": "knee|foot|shoulder|back|hand|hip|ankle|neck",
    "device": (
        "phone|watch|camera|drone|keyboard|robot|lamp|bicycle|heater|guitar"
        "|printer|telescope"
    ),
    "feature": (
        "runs on sunlight|folds into a bag|speaks ten languages|never sleeps"
        "|works under water|finds lost keys|repairs itself|weighs nothing"
        "|listens to birds"
    ),
    "part": "chips|screws|permits|magnets|lenses|cables|springs|motors",
    "style": "jazz|opera|rock|folk|choir|brass|puppet|circus",
}

# Names by class; each star is a name of two or three syllables.
FORMS = {
    "person": "* *",
    "firm": (
        "*|*|* Foods|* Steel|* Bank|* Motors|* Energy|* Group|* Brothers"
        "|* Works"
    ),
    "club": "*|* Rovers|* United|* City|* Athletic|* Town|* Wanderers",
    "place": "*",
    "product": "*",
    "storm": "*",
}

# A syllable has one of each; the frequent ones come first.
ONSETS = (
    "k m t l r n s d v b p g z f h st j br tr kl dr pl gr fl kr pr gl ch sh bl"
).split()
VOWELS = "a e o i u ai ei ou ia au".split()
CODAS = ("", *"n r l s m x k t d nd rn st ck lt ng sh rd lm nk".split())


@dataclasses.dataclass(frozen=True)
class Event:
    """One kind of event, and all the ways to tell it, one a line.

    Args:
        leads: Key sentences, each before its summaries, which begin with `>`.
            A summary takes about 70 % of its words from the key sentence; the
            rest are words of headlines.
        supports: Sentences that say more about the same event.
        distractors: Sentences about other names of the same classes.
    """

    leads: str
    supports: str
    distractors: str


MERGER = Event(
    leads="""
{firm} agreed on {weekday} to buy its rival {firm2}, a large {goods} maker, \
for {sum} euros.
> {firm} to buy {goods} maker {firm2} in deal worth {sum} euros
> {goods} maker {firm2} goes to rival {firm} after secret talks on {weekday}
The board of {firm} accepted an offer of {sum} euros from the {goods} maker \
{firm2} on {weekday} after months of talks.
> {firm} board says yes to {sum} euros from {goods} maker {firm2}
> {firm2} wins months of talks with {sum} euros offer for {firm}
{firm} and {firm2}, the two largest {goods} makers of {place}, will become one \
firm in {month}, their owners announced.
> {firm} and {firm2} to merge into one {goods} firm in {month}
> {place} loses rivalry as {goods} makers {firm} and {firm2} become one
""",
    supports="""
Shares in {firm.first} rose by {percent} per cent in early trading.
Together the two have {number} hundred workers in {few} countries.
The deal must still be examined by the authorities, which may take until \
{month2}.
"We have waited a long time for this," said {person}, who chairs {firm.first}.
""",
    distractors="""
Last year {firm} had paid {sum} euros for {firm2}, but that deal fell through.
In another takeover, {firm} of {place} gave up its bid for {firm2} last week.
Analysts had expected that {firm} would turn to the {goods} maker {firm2} \
instead.
""",
)

MATCH = Event(
    leads="""
{club} beat {club2} {score} in front of {number} thousand people on {weekday} \
thanks to a goal by {person} in the last minute.
> Last minute goal by {person.last} gives {club} {score} win over {club2}
> {club} down {club2} {score} as {number} thousand fans cheer late goal
{person} scored {few} goals on {weekday} as {club} won the cup final in \
{place} against {club2}.
> {club} lift the cup in {place} after {few} goals from {person.last}
> {person} fires {club} to cup glory with {few} goals against {club2}
{club} reached the semi-final of the cup on penalties after goalkeeper \
{person} had stopped {few} shots of {club2}.
> {club} in semi-final of the cup as goalkeeper {person.last} saves {few} \
penalties
> Goalkeeper {person} stopped {few} shots to break {club2} hearts on penalties
""",
    supports="""
The fans in the stadium sang until midnight.
{person.last} had been injured for {few2} weeks and joined the team only in \
{month}.
Coach {person2} praised the players and called the match a battle.
The referee sent {few2} players off the field.
""",
    distractors="""
In the other match, {club} lost to {club2} {score} after a red card for \
{person}.
A week earlier {club} had beaten {club2} {score} with {few} goals by {person}.
Next {weekday} {club} will play against {club2} in {place}.
""",
)

APPOINTMENT = Event(
    leads="""
{firm} chose {person} as its new chief executive on {weekday}, in place of \
{person2}, who will retire in {month}.
> {firm} puts {person} at helm after {person2.last} steps down
> {person} to replace {person2.last} at top of {firm} in {month}
The government of {place} made the {job} {person} minister of {ministry} on \
{weekday} after the sudden end of {person2}.
> {place} names {job} {person.last} as new minister of {ministry} after row
> {job} {person} becomes minister of {ministry} as government of {place} \
reshuffles
Parliament decided by {few} votes on {weekday} that {person} will lead the \
central bank of {place} from {month}.
> {person} picked to run the central bank of {place} despite doubts
> Parliament backs {person.last} as head of the central bank by {few} votes
""",
    supports="""
{person.last} has lived in {place2} for {few2} years and speaks {few3} \
languages.
The choice came as a surprise to many.
"I know how hard this task is," {person.last} told reporters.
The unions asked for a first meeting before {month2}.
""",
    distractors="""
Two years ago {person} had left {firm} after a quarrel with {person2}.
Newspapers had seen {person} and {person2} as the favourites for the post.
On the same day {person} became the chief executive of {firm} in {place}.
""",
)

WEATHER = Event(
    leads="""
The weather service warned of {weather} in {place} on {weekday}, where gusts \
of {speed} kilometres an hour are expected until {weekday2}.
> {place} braces for {weather} with gusts of {speed} kilometres an hour
> Alert in {place} as {weather} are expected to last until {weekday2}
Storm {storm} will reach the coast near {place} on {weekday} with {weather}, \
and no ferries to {place2} will sail.
> Storm {storm} to hit {place} with {weather}, sailors fear worst
> {place2} ferries cancelled on {weekday} as storm {storm} nears {place}
Up to {number} centimetres of snow may fall in {place} before {weekday}, and \
the road to {place2} will be closed, said mayor {person}.
> {place} fears {number} centimetres of snow as road to {place2} shuts
> Snow alert from mayor {person.last}: road to {place2} closed before {weekday}
""",
    supports="""
Schools in {place} will stay closed for {few} days.
Firefighters have filled {number2} thousand bags with sand.
People should stay at home and bring in their animals, the police said.
The weather should calm down within {few2} days.
""",
    distractors="""
In {month}, storm {storm} had destroyed {number} houses in {place}.
{place} will see sunshine, and {place2} only a little rain.
A warning for {place} was lifted by mayor {person} last week.
""",
)

RECALL = Event(
    leads="""
{firm} is calling back {number} thousand {appliance} of the type {product} \
because {fault}, the maker said on {weekday}.
> {firm} recalls {number} thousand {product} {appliance} as {fault}
> Unsafe {appliance}: {firm} pulls {product} as {fault}
Nobody should use the {product}, one of the {appliance} that {firm} makes in \
{place}, after {few} people were hurt, officials said.
> Officials warn of {product} {appliance} that {firm} makes in {place}
> Probe of {firm} {appliance} as {product} leaves {few} people hurt
{firm} took its {food} called {product} off the shelves on {weekday} after a \
customer from {place} had found {substance} in {few} jars.
> {firm} pulls {food} {product} over {substance} scare in {place}
> {substance} found in {few} jars of {product}, the {food} of {firm}
""",
    supports="""
Customers can bring the {product} back to any shop and get their money.
The fault was found by {person}, an engineer from {place2}.
{firm.first} has received {few2} complaints since {month}.
The recall may cost {firm.first} up to {sum} euros.
""",
    distractors="""
In {month}, {firm} had called back {number} hundred {appliance} of the type \
{product}.
The {product}, which comes from its rival {firm}, is not affected.
Tests of the {product}, which {firm} makes in {place}, found nothing wrong.
""",
)

ELECTION = Event(
    leads="""
{person} won the election for mayor of {place} on {weekday} with {share} per \
cent of the vote, ahead of {person2}.
> {person} new mayor of {place} after clear win with {share} per cent
> {person2.last} beaten by {person} in race for mayor of {place}
Voters in {place} rejected plans for a new {building} with {share} per cent on \
{weekday}, against the advice of mayor {person}.
> {place} says no to new {building} in blow for mayor {person.last}
> Plans for a new {building} dead as {share} per cent defy mayor {person}
The party of {person} lost its majority in the parliament of {place} on \
{weekday}, when {few} members joined the group of {person2}.
> {person.last} short of majority in {place} as {few} members desert party
> Blow for {person} as {few} members flee to {person2.last} in {place}
""",
    supports="""
Only {number} per cent of the people had gone to vote.
"I will be there for everybody," said {person.last} in the evening.
The result must be confirmed by a judge before {month}.
The count took {few2} hours, since two machines broke down.
""",
    distractors="""
In {place}, {person} stayed in office and beat {person2} with {share} per cent.
Four years ago {person} had beaten {person2} by {number} votes.
{person}, the former mayor of {place}, had not run again.
""",
)

TRIAL = Event(
    leads="""
A court in {place} sent the {job} {person} to prison for {few} years on \
{weekday} for {crime}.
> {job} {person} jailed for {few} years over {crime} affair
> {place} court shows no mercy: {few} years for {job} {person.last}
A judge in {place} cleared {person}, a former manager of {firm}, of {crime} \
after a trial of {few} months.
> Former {firm} manager walks free as {crime} trial ends
> {place} judge believes {person}, manager of {firm} not guilty of {crime}
{firm} must pay {sum} euros to the {job} {person} from {place}, who had gone \
to court over {matter}, judges ruled on {weekday}.
> {firm} told to pay {job} {sum} euros over {matter}
> {person} wins fight over {matter}, {firm} owes {sum} euros
""",
    supports="""
{person.last} listened to the verdict without a word.
The other side, represented by {person2}, may still appeal.
The case had begun in {month} with a letter to the police.
Judge {person3} had heard {number} witnesses.
""",
    distractors="""
In {place}, {person} had been sent to prison for {few} years for {crime}.
A second suspect, the {job} {person} from {place}, is still on the run.
The same court had made {firm} pay {sum} euros to {person} in {month}.
""",
)

FACTORY = Event(
    leads="""
{firm} will build a {goods} factory in {place} for {sum} euros, where {number} \
hundred people are to work from {month}.
> {firm} brings {number} hundred jobs and {goods} factory to {place}
> {place} gets {sum} euros and {goods} factory from {firm} in jobs boost
{firm} will close its {goods} factory in {place} in {month}, and {number} \
hundred people will lose their jobs.
> {firm} to axe {number} hundred jobs at {goods} factory in {place}
> {place} mourns {goods} factory as {firm} axes {number} hundred jobs
{firm} is moving the work on its {product} from {place} to {place2}, where \
wages are {percent} per cent lower.
> {firm} leaves {place} for {place2} in search of lower wages
> Cheap labour: {percent} per cent lower wages lure {firm} to {place2}
""",
    supports="""
Mayor {person2} heard the news on the radio.
Union leader {person3} wants to meet the owners before {weekday}.
The site is as large as {number2} football fields.
Last year {firm.first} sold {percent2} per cent more than the year before.
""",
    distractors="""
{firm} had opened a {goods} factory in {place} only in {month}.
The neighbours in {place} still wait for an answer from {firm}.
In {place}, {firm} is looking for {number} hundred people at the moment.
""",
)

ACCIDENT = Event(
    leads="""
A {vehicle} from {place} crashed into a {vehicle2} near {place2} on {weekday}, \
and {few} people were injured.
> {few} people injured as {vehicle} hits {vehicle2} near {place2}
> Crash of {vehicle} near {place2} puts {few} people in hospital
A train from {place} to {place2} left the rails in thick fog on {weekday} with \
{number} people on board, among them {person}.
> Train from {place} to {place2} derails in fog with {number} people
> Passenger {person} unhurt as {place2} train derails with {number} aboard
The {job} {person} from {place} was rescued from a cave near {place2} on \
{weekday} after {few} days in the dark.
> Trapped {job} {person.last} safe after {few} days below {place2}
> Rescuers free {job} {person} from {place2} cave after {few} days
""",
    supports="""
The road was closed for {few2} hours.
"We were very lucky," said police officer {person2}.
Doctors at the hospital of {place} worked all night.
The cause will be known in {month} at the earliest.
""",
    distractors="""
In {month}, {few} people had been injured in an accident near {place}.
Near {place}, {person} was not hurt when a {vehicle} caught fire.
The police of {place} are still looking for the {job} {person}.
""",
)

AWARD = Event(
    leads="""
The {place} Prize for {art} goes to the {job} {person} for {thing}, the jury \
said on {weekday}.
> {job} {person} wins {place} Prize for {art} with {thing}
> Top {art} honour for {person.last} as jury falls for {thing}
Readers of the {place} Post voted {person} the best {job} of the year, ahead \
of {person2}.
> {person} beats {person2.last} to be named best {job} of the year
> Best {job} of the year is {person}, say {place} Post fans
{person} gave the {place} Prize back on {weekday} in protest against {firm}, \
which pays for it with {sum} euros.
> {person.last} returns {place} Prize in angry protest against {firm}
> {firm} under fire as {person} gave back Prize worth {sum} euros
""",
    supports="""
The ceremony will be held in {month} in the old theatre.
{person.last} grew up in {place2} as the child of a {job2}.
The critic {person3} called the decision brave.
The prize was first given {number} years ago.
""",
    distractors="""
Last year the {place} Prize had gone to {person} for {thing}.
{person} and {person2}, also on the list, went home with nothing.
The {job} {person} was honoured for {thing} in {month}.
""",
)

STRIKE = Event(
    leads="""
The {workers} of {firm} in {place} went on strike on {weekday} for {percent} \
per cent more pay.
> {firm} {workers} walk out in row over {percent} per cent more pay
> {place} hit by strike as {workers} of {firm} demand more pay
The strike of the {workers} in {place} ended on {weekday} after {few} weeks, \
when {firm} offered {percent} per cent more pay.
> {firm} buys end of strike with {percent} per cent more pay
> {workers} in {place} back at work after {few} weeks of strike at {firm}
Union leader {person} called off the strike of the {workers} at {firm} after \
talks with {person2} on {weekday}.
> Union boss {person.last} halts {firm} strike of {workers}, work resumes
> No walkout at {firm} as {person} makes peace with {person2.last}
""",
    supports="""
The union says that its {workers} earn too little for the hard work.
{firm.first} lost up to {sum} euros in {few2} days.
The next talks will be held in {month}.
"We had no other choice," said the {job} {person3}.
""",
    distractors="""
At {firm}, the {workers} had accepted {percent} per cent in {month}.
In {place}, union leader {person} spoke against a strike.
The {workers} of {firm} in {place} went back to work last week.
""",
)

DISCOVERY = Event(
    leads="""
Researchers around {person} found {find} under the old {building} of {place} \
on {weekday}, {number} metres below the ground.
> Digging below {building}, {place} team hits upon {find}
> {person.last} and team dig out {find} under the old {building}
A study by {person} from the University of {place} with {number} hundred \
{animal} showed that they can {skill}.
> Surprise for science: {animal} can {skill}, says {person}
> Smart {animal}: {person} proves they can {skill}
A comet that the {job} {person} saw from a garden in {place} will be called \
{product} and come near the earth in {month}.
> Comet {product} to pass near the earth in {month}, experts say
> Amateur spots comet: {job} {person} names garden find {product}
""",
    supports="""
Experts from {few} countries want to look into it.
"At first I thought it was a joke," said {person.last}.
The work was paid for by {firm} with {sum} euros.
A museum in {place2} will show pictures of it in {month2}.
""",
    distractors="""
In {month}, {person} had found {find} in {place}.
A team around {person} from the University of {place} had come to other results.
The comet {product}, seen from {place} last year, is gone for good.
""",
)

TRANSFER = Event(
    leads="""
{club} paid {sum} euros to {club2} on {weekday} for the {position} {person}, \
who will stay until {year}.
> {club} land {position} {person.last} in {sum} euros swoop on {club2}
> {person} joins {club} until {year} in {sum} euros move
{club} parted with coach {person} on {weekday} after {few} defeats, and \
{person2} will train the team until {month}.
> {club} sack coach {person} after {few} defeats in a row
> {person2} will train {club} as coach {person.last} gets the boot
The {position} {person} of {club} will miss the next {few} months after an \
injury to the {limb} in the match against {club2}.
> {club} lose {position} {person.last} for {few} months with {limb} trouble
> Bad {limb} injury against {club2} rules {person} out for {few} months
""",
    supports="""
The president, {person3}, confirmed the news in the evening.
The fans heard about it from a newspaper in {place}.
{club} have won only {few2} matches this season.
"Such things happen in sport," said the captain.
""",
    distractors="""
{club} had wanted the {position} {person} from {club2}, too.
In {month}, {person} had moved from {club} to {club2} for {sum} euros.
Coach {person} of {club2} and the {position} {person2} have been ill for {few} \
weeks.
""",
)

LAUNCH = Event(
    leads="""
{firm} showed the {product} for the first time on {weekday}, a {device} that \
{feature} and costs {number} euros.
> {firm} unveils {product}, first {device} ever that {feature}
> New {device} {product} of {firm} {feature} for just {number} euros
The sale of the {product}, a {device} by {firm}, cannot begin before {month}, \
because {few} thousand {part} are missing.
> {firm} delays sale of {device} {product} to {month} over missing {part}
> Lack of {part} stops {firm} from selling {product} before {month}
{firm} of {place} sold {number} thousand pieces of its {device} {product} \
within {few} weeks and raised the price by {percent} per cent.
> Hit {device} by {firm}: {number} thousand gone within {few} weeks
> Price of {device} {product} up {percent} per cent, {firm} cashes in
""",
    supports="""
It was invented by {person} in a garage in {place2}.
In tests, the {product} lasted for {few2} years.
Shares in {firm.first} changed little.
{person2} of {firm.first} wants to sell it in {number2} countries.
""",
    distractors="""
The {product} by {firm}, also a {device}, costs {number} euros.
In {month}, {firm} had shown the {product}, which {feature}.
Tests of the {product} by {firm} of {place} had ended with a fire.
""",
)

RESULTS = Event(
    leads="""
{firm} made a profit of {sum} euros in {month}, {percent} per cent more than a \
year ago, thanks to its {device} {product}.
> {firm} cheers jump in profit by {percent} per cent to {sum} euros
> Sales of {device} {product} lift {firm} profit by {percent} per cent
{firm} expects less profit this year, since the sale of its {goods} brand \
{product} in {place} fell by {percent} per cent.
> {firm} cuts profit forecast as {goods} brand {product} flops in {place}
> Weak {goods} sales in {place} drag {firm} down, brand {product} flops
{firm} of {place} went bankrupt on {weekday} with debts of {sum} euros, and \
its {number} hundred workers got no wages.
> {firm} goes bust leaving {sum} euros of debts in {place}
> {number} hundred workers without wages as {firm} went bust in {place}
""",
    supports="""
{person}, who manages the money of {firm.first}, spoke of a difficult market.
Next year {firm.first} wants to open {few} shops in {place2}.
The owners will meet on {weekday2}.
Its shares lost {percent2} per cent within {few2} hours.
""",
    distractors="""
Its rival {firm} had made a profit of {sum} euros in {month}.
The {device} {product} by {firm} of {place} sold better than expected.
{firm}, too, had debts of {sum} euros, but was saved by {person}.
""",
)

FESTIVAL = Event(
    leads="""
The {style} festival of {place} opened on {weekday} with {number} thousand \
visitors and a concert by {person}.
> {number} thousand visitors flock to {style} festival of {place}
> Star guest {person} kicks off {style} festival of {place} in style
{person} had to break off a concert in {place} on {weekday} after {few} songs \
because of a lost voice.
> {person} flees stage in {place} after {few} songs with lost voice
> Lost voice: {place} show of {person.last} ends after {few} songs
The mayor of {place} banned the {style} festival planned for {month} after \
{number} neighbours around {person} had complained.
> {place} mayor stops {style} festival in {month} after neighbours row
> No {style} festival for {place} as {person.last} and {number} neighbours win
""",
    supports="""
All tickets had been sold within {few2} hours.
The hotels of {place} are full until {weekday2}.
"It is a night to remember," said {person2}, who came from {place2}.
{firm} pays for it with {sum} euros.
""",
    distractors="""
The {style} festival of {place} will begin in {month} with {person}.
In {place}, {person} had sung for {few} hours the night before.
The town of {place} has invited {person} and {person2} for {month}.
""",
)

EVENTS = (
    MERGER,
    MATCH,
    APPOINTMENT,
    WEATHER,
    RECALL,
    ELECTION,
    TRIAL,
    FACTORY,
    ACCIDENT,
    AWARD,
    STRIKE,
    DISCOVERY,
    TRANSFER,
    LAUNCH,
    RESULTS,
    FESTIVAL,
)
