"""Words and sentence patterns of the demo news.

A story tells several events of one kind. `{a}` and `{b}` are the names of an
event, `{a.last}` is a surname; `{he}`, `{his}` and `{him}` stand for `{a}`,
`{count}` for the number of events; every other slot is a table below. A slot
with a capital is written with one.
"""

import dataclasses

TABLES = {
    "weekday": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "month": (
        "January|February|March|April|May|June|July|August|September|October"
        "|November|December"
    ),
    "few": "two|three|four|five|six|seven|eight|nine|ten",
    "number": "12|15|18|20|24|30|36|40|45|50|60|70|75|80|90|120|150|200|300",
    "percent": "51|52|54|55|57|58|61|63|64|67|72",
    "job": (
        "a teacher|a nurse|a lawyer|a farmer|a doctor|a baker|an engineer"
        "|an actor|a driver|a soldier|a journalist|a carpenter|an architect"
        "|a police officer|a civil servant"
    ),
    "building": (
        "a hospital|a library|a school|a swimming pool|a railway station"
        "|a stadium|a museum|a theatre|a bridge|new homes|more bus stops"
        "|a sports hall|a bicycle path|an ice rink"
    ),
    "weather": (
        "in heavy rain|in bright sunshine|in strong wind|in thick fog"
        "|in light snow|in great heat"
    ),
    "product": (
        "car parts|glass bottles|paper|furniture|shoes|solar panels|batteries"
        "|bicycles|medicines|toys|cheese|chocolate|software|mobile phones"
    ),
    "crime": ("fraud|theft|smuggling|forgery|bribery|blackmail|burglary|arson"),
    "sum": "two million|five million|ten million|20 million|40 million",
    "thing": (
        "a first novel|a book of poems|a study of bees|a song about the sea"
        "|an essay on malaria|a guide to the moon|a play about a strike"
        "|a textbook on glass|a history of bread|an opera for children"
    ),
    "people": (
        "neighbours|hikers|fishermen|firefighters|police officers|tourists"
        "|students|volunteers|farmers"
    ),
    "mood": "happy|proud|surprised|tired but happy|grateful|moved|relieved",
}


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of event, and all the ways to tell it, one a line.

    Args:
        names: What `{a}` and `{b}` are: two methods of the grammar.
        openings: Sentences that begin a story and give no name.
        reports: Sentences that tell one event, with both names.
        details: What may follow a report at once; no names.
        echoes: Later sentences that come back to an event by one name.
        summaries: Sentences of the summary, with both names and few words
            between: any three words of a summary hold one of a name, so that
            only a fact told twice repeats any.
    """

    names: tuple[str, str]
    openings: str
    reports: str
    details: str
    echoes: str
    summaries: str


ELECTIONS = Kind(
    names=("person", "place"),
    openings="""
Voters in {count} towns went to the polls on {weekday}.
{Count} towns have a new mayor after the elections on {weekday}.
The votes in {count} towns were counted late on {weekday}.
""",
    reports="""
{a} was elected mayor of {b} with {percent} per cent of the vote.
In {b}, {a} won the election by {number} votes.
The people of {b} chose {a}, who had entered politics only last {month}.
{a}, who promised to build {building}, will be the next mayor of {b}.
""",
    details="""
{He} was {job} before {he} entered politics.
The new mayor wants to build {building}.
{His} party had not won there for {few} years.
Only {percent} per cent of the people went to vote.
""",
    echoes="""
"This is a victory for the whole town," said {a.last}.
"I am {mood} tonight," {a.last} told reporters.
{a.last} will take office in {month}.
In {b} people danced in the streets until late at night.
""",
    summaries="""
{a} will lead {b}.
{b} elected {a}.
{b} chose {a}.
{a} won in {b}.
{b} preferred {a}.
{a} governs {b}.
{b} gets {a}.
""",
)

GAMES = Kind(
    names=("person", "place"),
    openings="""
The games ended on {weekday} with {count} surprises.
{Count} athletes won their first gold medal on {weekday}.
{Number} thousand people came to the stadium on {weekday}.
""",
    reports="""
{a} from {b} won the race by {few} seconds {weather}.
The long jump went to {a}, who trains in {b}.
{a}, the youngest athlete from {b}, beat the favourite in the final.
Nobody from {b} had ever won a medal until {a} came first on {weekday}.
""",
    details="""
{He} had been injured for {few} months.
It was only {his} third race this year.
The jury needed {few} minutes to decide.
{His} coach had tears in his eyes.
""",
    echoes="""
"I have waited {few} years for this," said {a.last}.
"My legs were gone," {a.last} said after the race.
{a.last} will rest until {month}.
In {b} the schools will stay closed on {weekday}.
""",
    summaries="""
{a} won for {b}.
{a} of {b} won.
{b} cheered {a}.
{b} celebrates {a}.
{a} delighted {b}.
{a} from {b} triumphed.
{b} applauds {a}.
""",
)

TAKEOVERS = Kind(
    names=("company", "company"),
    openings="""
{Count} companies will change hands before {month}.
It was a busy {weekday} on the stock market.
Shares rose on {weekday} after news of {count} takeovers.
""",
    reports="""
{a} will buy its rival {b} for {sum} euros.
After {few} months of talks, {a} agreed to take over {b}, a maker of {product}.
{b}, which makes {product}, has been sold to {a}.
{a} paid {sum} euros for {b} on {weekday}.
""",
    details="""
The deal must still be approved by the government.
The price was higher than expected.
{Number} people will lose their jobs.
The price will be paid in {month}.
""",
    echoes="""
"Together we are stronger," a spokesman for {a} said.
Shares in {a} fell by {few} per cent.
The workers of {b} heard the news on the radio.
The name {b} will disappear in {month}.
""",
    summaries="""
{a} bought {b}.
{a} takes over {b}.
{a} acquired {b}.
{b} goes to {a}.
{b} belongs to {a}.
{a} swallows {b}.
{a} owns {b}.
""",
)

FACTORIES = Kind(
    names=("company", "place"),
    openings="""
There is good news for workers in {count} towns.
{Count} firms want to hire people this {month}.
Unemployment may fall again, the minister said on {weekday}.
""",
    reports="""
{a} will open a factory for {product} in {b}.
In {b}, {a} is looking for {number} workers to make {product}.
{a} has chosen {b} for its new plant, which costs {sum} euros.
{b} will be home to the new plant of {a} from {month}.
""",
    details="""
The first {number} workers start in {month}.
The town will pay for the road.
It is the largest plant of its kind.
Nobody had invested there for {few} years.
""",
    echoes="""
"We needed this," said a shopkeeper in {b}.
The mayor of {b} is {mood}.
{a} already makes {product} abroad.
A spokeswoman for {a} promised good wages.
""",
    summaries="""
{a} comes to {b}.
{b} attracts {a}.
{b} welcomes {a}.
{a} builds in {b}.
{a} hires in {b}.
{a} chose {b}.
{a} prefers {b}.
""",
)

FOOTBALL = Kind(
    names=("club", "club"),
    openings="""
{Count} matches of the cup were played {weather} on {weekday}.
The favourites had a bad {weekday} in the cup.
{Number} thousand people saw the cup matches on {weekday}.
""",
    reports="""
{a} beat {b} after extra time.
{b} lost at home to {a}, who scored {few} times.
{a} needed only {few} minutes to score against {b}.
A late goal was enough for {a} to defeat {b} {weather}.
""",
    details="""
The goalkeeper was sent off after {few} minutes.
The winner was scored from the penalty spot.
The referee stopped play for {few} minutes.
It was the third match between the two this year.
""",
    echoes="""
"We were lucky," said the coach of {a}.
The fans of {a} sang all the way home.
The coach of {b} refused to speak.
For {b} the season is over.
""",
    summaries="""
{a} beat {b}.
{a} defeated {b}.
{b} lost to {a}.
{a} eliminated {b}.
{a} outplayed {b}.
{b} succumbed to {a}.
{a} overcame {b}.
""",
)

ARRESTS = Kind(
    names=("person", "place"),
    openings="""
Police have solved {count} old cases.
{Count} people were arrested on {weekday}.
After {few} months of work, the police presented their results on {weekday}.
""",
    reports="""
{a} was arrested in {b} and charged with {crime}.
In {b}, officers found {a}, who is wanted for {crime}, in a cellar.
{a}, fast asleep, was caught at the station in {b}.
The police in {b} took {a} from a train on {weekday}.
""",
    details="""
{He} denies everything.
{He} had been in hiding for {few} years.
A dog found the money in {his} garden.
{He} faces {few} years in prison.
""",
    echoes="""
"It was a mistake," said the lawyer of {a.last}.
{a.last} will see a judge in {month}.
A neighbour called {a.last} a quiet person.
People in {b} said they were {mood}.
""",
    summaries="""
{a} jailed in {b}.
{b} jailed {a}.
{b} arrested {a}.
{a} caught in {b}.
{b} locked up {a}.
{a} held in {b}.
{b} caught {a}.
""",
)

TRANSFERS = Kind(
    names=("person", "club"),
    openings="""
{Count} players changed clubs on {weekday}.
The transfer market closed on {weekday} with {count} large deals.
It was the last day for clubs to sign new players.
""",
    reports="""
{a} signed a contract with {b} for {few} years.
{b} paid {sum} euros for {a} on {weekday}.
{a}, who scored {number} goals last year, will play for {b}.
After a long search, {b} found a new striker in {a}.
""",
    details="""
{He} will wear the number {few}.
{He} passed all the medical tests.
{His} old club wanted {him} to stay.
It is {his} third club in {few} years.
""",
    echoes="""
"I want to win titles," said {a.last}.
{a.last} is {mood} about the move.
{a.last} could play as early as {month}.
The fans of {b} waited for hours at the airport.
""",
    summaries="""
{a} joins {b}.
{b} signed {a}.
{b} hired {a}.
{a} moves to {b}.
{a} strengthens {b}.
{b} bought {a}.
{b} presented {a}.
""",
)

PRIZES = Kind(
    names=("person", "place"),
    openings="""
The academy gave away {count} prizes on {weekday}.
{Count} artists and scholars were honoured on {weekday}.
The winners of this year were named in {month}.
""",
    reports="""
{a} from {b} won a prize for {thing}.
A prize went to {a}, who wrote {thing} in a small house in {b}.
{a}, who lives in {b}, was honoured for {thing}.
With {thing}, {a} from {b} convinced the jury.
""",
    details="""
{He} had worked on it for {few} years.
It is worth {number} thousand euros.
The jury praised {his} sense of humour.
{He} was asleep when the telephone rang.
""",
    echoes="""
"I am {mood}," said {a.last}.
{a.last} will give a speech in {month}.
{a.last} wants to give the money away.
In {b} the church bells rang.
""",
    summaries="""
{a} of {b} won.
{b} honours {a}.
{b} celebrates {a}.
{a} from {b} won.
{b} praises {a}.
{a} delighted {b}.
{b} congratulates {a}.
""",
)

RESCUES = Kind(
    names=("person", "place"),
    openings="""
{Count} people had a narrow escape on {weekday}.
A storm kept the rescue services busy on {weekday}.
Helicopters flew all night after the storm.
""",
    reports="""
{a} was rescued by {people} near {b}.
Near {b}, {people} heard the cries of {a}, who had lost the way.
{a} spent {few} hours in cold water before {people} from {b} arrived.
A boat with {a} on board sank off {b} {weather}.
""",
    details="""
{He} is in hospital with a broken leg.
{He} had eaten nothing for {few} days.
{His} telephone did not work.
{He} was wearing only a shirt.
""",
    echoes="""
"I thought it was the end," said {a.last}.
{a.last} may go home on {weekday}.
Doctors say {a.last} was lucky.
The fire brigade of {b} will get a medal.
""",
    summaries="""
{a} survived near {b}.
{b} saved {a}.
{b} rescued {a}.
{a} escaped near {b}.
{a} rescued near {b}.
{b} found {a}.
{a} saved near {b}.
""",
)

CONCERTS = Kind(
    names=("act", "place"),
    openings="""
The summer of music begins on {weekday}.
{Count} concerts were announced on {weekday}.
Tickets for {count} concerts were sold in {few} hours.
""",
    reports="""
{a} will open the festival in {b} in {month}.
In {b}, {number} thousand people want to hear {a} in {month}.
{a} will play {few} nights in {b}.
The old theatre of {b} has been rented for {a}.
""",
    details="""
All tickets are gone.
It is the first show there for {few} years.
The stage will float on the lake.
Seats cost {number} euros.
""",
    echoes="""
"It will be loud," said the manager of {a}.
A new record by {a} comes out in {month}.
Hotels in {b} are full.
Some people in {b} fear the noise.
""",
    summaries="""
{a} plays in {b}.
{b} awaits {a}.
{b} booked {a}.
{a} performs in {b}.
{b} hears {a}.
{a} visits {b}.
{b} invited {a}.
""",
)

KINDS = (
    ELECTIONS,
    GAMES,
    TAKEOVERS,
    FACTORIES,
    FOOTBALL,
    ARRESTS,
    TRANSFERS,
    PRIZES,
    RESCUES,
    CONCERTS,
)

# What stands beside a name: ordinary words that tell the names of a story
# apart, as titles and forms of companies do in the news.
PERSON_FORMS = (
    "Admiral *|Ambassador *|Bishop *|Cadet *|Captain *|Chancellor *|Chaplain *"
    "|Chef *|Coach *|Colonel *|Commander *|Commissioner *|Constable *"
    "|Corporal *|Councillor *|Dean *|Deputy *|Detective *|Doctor *|General *"
    "|Governor *|Inspector *|Judge *|Lieutenant *|Major *|Marshal *|Nurse *"
    "|Pastor *|Professor *|Rabbi *|Ranger *|Secretary *|Senator *|Sergeant *"
    "|Sheriff *|Treasurer *"
)
COMPANY_FORMS = (
    "* Airways|* Bank|* Breweries|* Cement|* Chemicals|* Dairies|* Electric"
    "|* Energy|* Foods|* Glass|* Insurance|* Logistics|* Media|* Mining"
    "|* Motors|* Paper|* Pharma|* Pictures|* Publishing|* Shipping|* Software"
    "|* Steel|* Telecom|* Textiles|* Tools|* Toys|* Watches|* Wines"
)
CLUB_FORMS = (
    "Athletic *|Borussia *|Deportivo *|Dynamo *|FC *|Inter *|Lokomotiv *"
    "|Olympic *|Racing *|Real *|Sparta *|Sporting *|Torpedo *|Union *"
    "|Viktoria *|* Albion|* City|* Hotspur|* Rangers|* Rovers|* Town|* United"
    "|* Villa|* Wanderers"
)
ACT_FORMS = (
    "* Band|* Brothers|* Choir|* Collective|* Duo|* Ensemble|* Family"
    "|* Octet|* Orchestra|* Project|* Quartet|* Quintet|* Septet|* Sextet"
    "|* Sisters|* Trio|DJ *|MC *"
)
FORMS = (PERSON_FORMS, COMPANY_FORMS, CLUB_FORMS, ACT_FORMS)
