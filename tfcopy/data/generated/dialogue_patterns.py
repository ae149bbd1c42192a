"""Inputs of short dialogues, each with the one or two ways to respond to it.

Slots stand in braces, `{person}`; a digit tells two slots of a type apart,
`{person2}`. All slots of a response are slots of its input. Ordinary words are
in lower case, so that capitals in a response without slots mark a name that it
always gives, whatever the input.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping

DIALOGUES = (
    # === Greetings and people ===
    (
        "hello, i am {person}.",
        "nice to meet you, {person}!",
        "hi {person}, how are you today?",
    ),
    (
        "hi, my name is {person} and i come from {city}.",
        "welcome, {person}! how is life in {city}?",
    ),
    (
        "good morning, is {person} there?",
        "sorry, {person} is still asleep.",
        "speaking. who is calling?",
    ),
    ("please call me {person}, everybody does.", "all right, {person} it is."),
    (
        "have you met my cousin {person}?",
        "{person}? yes, at your garden party.",
        "no, but i would love to.",
    ),
    ("how do you spell {person}?", "just as it sounds: {person}."),
    (
        "this is {person}, my new neighbour.",
        "hello {person}, do you like it here?",
    ),
    (
        "goodbye {person}, see you at {time}.",
        "see you at {time}, take care.",
        "sorry, {time} is too early for me.",
    ),
    (
        "did {person} really marry {person2}?",
        "yes, {person} and {person2} are on their honeymoon.",
        "no, {person2} said no in the end.",
    ),
    (
        "is your name {person} or {person2}?",
        "{person}. the other twin is called {person2}.",
    ),
    ("our baby is called {person}.", "{person} is a lovely name!"),
    ("who told you about {person}?", "it was Cordelia, of course."),
    ("i dreamt of {person} last night.", "was {person} nice to you?"),
    (
        "i have not seen {person} since {date}.",
        "nobody knows where {person} is.",
        "why, what happened on {date}?",
    ),
    (
        "are you and {person} still friends?",
        "yes, {person} is my best friend.",
        "we don't talk any more.",
    ),
    ("who taught {person} to dance?", "an old lady called Madame Duvalier."),
    (
        "{person} plays the guitar at {time}.",
        "at {time}? poor neighbours!",
        "does {person} take requests?",
    ),
    ("did you invite {person} to the party?", "yes, and {person} is coming."),
    (
        "{person} owes me {number} euros.",
        "{person} will never pay back {number} euros.",
    ),
    ("{person} has been ill since {date}.", "tell {person} to get well soon."),
    # === Travel ===
    (
        "we leave for {city} on {date}.",
        "{date} already? how long will you stay in {city}?",
        "have a safe trip to {city}!",
    ),
    ("is {city} in {country}?", "yes, {city} is the pride of {country}."),
    (
        "what is the capital of {country}?",
        "i always forget the capital of {country}.",
    ),
    (
        "i am flying from {city} to {city2} tonight.",
        "is there a direct flight from {city} to {city2}?",
    ),
    (
        "how far is it from {city} to {city2}?",
        "about two hours by train.",
        "{city2} is not far, but {city} has no station.",
    ),
    ("i grew up in {country}.", "how old were you when you left {country}?"),
    ("do i need a visa for {country}?", "better ask the embassy of {country}."),
    (
        "my train to {city} leaves at {time}.",
        "then be on the platform before {time}.",
        "is there no later train to {city}?",
    ),
    ("we got lost in {city} again.", "nobody ever finds the way in {city}."),
    (
        "which hotel do you recommend in {city}?",
        "the Blue Lantern, it is quiet and cheap.",
    ),
    (
        "i moved from {country} to {country2} last year.",
        "what do you miss most about {country}?",
        "and how do you like {country2}?",
    ),
    (
        "could you send me a postcard from {city}?",
        "sure, they have pretty ones in {city}.",
    ),
    ("i lost my passport in {country}.", "oh no, go to the police at once."),
    (
        "a ticket to {city}, please.",
        "single or return to {city}?",
        "sorry, that train is full.",
    ),
    (
        "our plane was stuck in {city} for {number} hours.",
        "{number} hours in {city}? how awful!",
    ),
    ("are there mountains in {country}?", "yes, all over {country}."),
    ("i will cross {country} by bicycle.", "across {country}? take a pump."),
    ("my luggage went to {city} without me.", "maybe it wanted to see {city}."),
    ("who is your guide in {country}?", "an old sailor called Bartholomew."),
    ("which bus goes to {city}?", "take the Seagull Express."),
    # === Weather ===
    (
        "what is the weather like in {city}?",
        "it is raining in {city}, as always.",
        "sunny, bring a hat.",
    ),
    ("it snowed in {country} on {date}.", "snow on {date}? in {country}?"),
    (
        "there was a storm over {city} at {time}.",
        "we heard the thunder at {time}, too.",
    ),
    (
        "will it be warm in {city} on {date}?",
        "{date} should be fine in {city}.",
        "nobody can know that yet.",
    ),
    (
        "they measured {number} millimetres of rain in {city}.",
        "{number} millimetres? poor {city}!",
    ),
    # === Dates and plans ===
    (
        "my birthday is on {date}.",
        "{date}? that is my birthday, too!",
        "what would you like as a present?",
    ),
    (
        "let us meet at {time}.",
        "{time} is fine with me.",
        "could we make it a bit later?",
    ),
    (
        "are you free on {date}?",
        "yes, {date} suits me well.",
        "no, i have guests on {date}.",
    ),
    (
        "the meeting was moved from {time} to {time2}.",
        "good, {time2} is much better.",
        "what a pity, i liked {time}.",
    ),
    (
        "our wedding is on {date} in {city}.",
        "we will be in {city} on {date}, i promise.",
    ),
    (
        "the dentist can see you on {date} at {time}.",
        "is there nothing later than {time} on {date}?",
        "thanks, i will be there at {time}.",
    ),
    ("does the shop still open at {time}?", "no, long before {time} now."),
    (
        "wake me at {time}, please.",
        "{time}? on a holiday?",
        "sure, sleep well.",
    ),
    ("what happened on {date}?", "on {date} we got the keys to our house."),
    ("the concert on {date} is sold out.", "i have a ticket for {date} left."),
    (
        "the exam is at {time} and takes {number} minutes.",
        "{number} minutes are not enough.",
        "then i must get up well before {time}.",
    ),
    ("i have been waiting since {time}.", "sorry, my watch stopped at {time}."),
    ("who else comes to dinner at {time}?", "only Philippa and her dog."),
    (
        "which day is better, {date} or {date2}?",
        "{date2}, i am away on {date}.",
    ),
    # === Sport ===
    (
        "did {team} win last night?",
        "yes, {team} won in extra time.",
        "no, {team} lost again.",
    ),
    (
        "i am a fan of {team}.",
        "me too, nobody can stop {team}.",
        "really? anyone but {team}, please.",
    ),
    ("where is the stadium of {team}?", "behind the brewery in Oakhurst."),
    ("who scored for {team}?", "it was Ferrante, in the last minute."),
    (
        "{team} will play {team2} on {date}.",
        "i bet on {team}.",
        "{team2} will never beat {team}.",
    ),
    (
        "{person} left {team} for {team2}.",
        "{team} will miss {person}.",
        "{team2} paid far too much for {person}.",
    ),
    (
        "i ran {number} kilometres this month.",
        "{number} kilometres? my knees hurt already.",
        "wow, which shoes do you wear?",
    ),
    ("my son wants to play for {team}.", "only the best play for {team}."),
    (
        "we have seats for {team} against {team2}.",
        "take me with you, i have never seen {team2}.",
    ),
    (
        "what colour are the shirts of {team}?",
        "green and white, as they have always been.",
    ),
    ("i swim in the lake at {time}.", "is the lake not freezing at {time}?"),
    # === Food ===
    (
        "i would like the {dish}, please.",
        "the {dish}, coming right up.",
        "sorry, we have run out of {dish}.",
    ),
    ("can you cook {dish}?", "of course, {dish} is what i cook best."),
    (
        "what goes well with {dish}?",
        "i drink plain water with {dish}.",
        "a glass of white wine.",
    ),
    ("the {dish} was cold.", "i will bring you another {dish} at once."),
    ("is there meat in the {dish}?", "no, no meat in our {dish}."),
    (
        "i had {dish} in {city} once.",
        "do they make good {dish} in {city}?",
        "and how did it taste?",
    ),
    ("who made this wonderful {dish}?", "our chef Ottoline did."),
    (
        "should i order {dish} or {dish2}?",
        "take {dish}, i did not enjoy the {dish2}.",
        "i always have {dish2}.",
    ),
    (
        "we expect {number} guests for lunch.",
        "who will cook for {number} people?",
        "then let us set the tables now.",
    ),
    (
        "do people in {country} eat {dish}?",
        "nobody in {country} would touch {dish}.",
    ),
    ("how long does {dish} stay in the oven?", "until it smells good."),
    # === Films and books ===
    (
        "have you seen {film}?",
        "yes, i cried all through {film}.",
        "no, is it any good?",
    ),
    ("who directed {film}?", "that was Lorenz Vaagen."),
    ("shall we watch {film} or {film2}?", "{film2}, i know {film} by heart."),
    ("i fell asleep during {film}.", "but the end of {film} is the best part!"),
    (
        "is {film} too scary for children?",
        "no, {film} is quite harmless.",
        "let them wait a few years.",
    ),
    ("who plays the spy in {film}?", "young Imogen Astley, she is brilliant."),
    (
        "i am reading {book}.",
        "how do you like {book}?",
        "don't tell me how {book} ends!",
    ),
    (
        "who wrote {book}?",
        "the name is on the cover of {book}.",
        "i believe it was Hester Wyndham.",
    ),
    (
        "can i borrow {book} until {date}?",
        "yes, but i need {book} back on {date}.",
        "my aunt has it at the moment.",
    ),
    ("{person} gave me {book}.", "{person} gives everyone {book}."),
    ("is {book} better than {film}?", "{book} is, {film} was too long."),
    (
        "i have read {number} pages of {book}.",
        "only {number}? {book} gets better later.",
    ),
    (
        "do you sell {book}?",
        "we can order {book} for you.",
        "try the Corner Owl across the street.",
    ),
    # === Animals ===
    (
        "my {animal} is called {person}.",
        "how old is {person}?",
        "{person} is a funny name for a {animal}.",
    ),
    (
        "i want a {animal} for my birthday.",
        "a {animal} needs a lot of care.",
        "ask your parents first.",
    ),
    (
        "my {animal} ran away at {time}.",
        "i saw a {animal} near the school.",
        "was the door open at {time}?",
    ),
    ("what does a {animal} eat?", "never feed a {animal} after dark."),
    (
        "can you look after my {animal} until {date}?",
        "sure, i like your {animal}.",
        "sorry, i am away until {date}.",
    ),
    (
        "our {animal} has won {number} prizes.",
        "{number} prizes? what a clever {animal}!",
    ),
    ("is the vet open for my {animal}?", "yes, ask for doctor Pemberton."),
    (
        "which is faster, a {animal} or a {animal2}?",
        "the {animal}, if it wants to.",
        "the {animal2}, no doubt.",
    ),
    # === Work ===
    (
        "i work as a {job} in {city}.",
        "is it hard to be a {job}?",
        "do they pay well in {city}?",
    ),
    (
        "we are looking for a {job} from {date} on.",
        "i could start on {date}.",
        "my uncle is a {job}, shall i ask him?",
    ),
    (
        "they hired {person} as a {job}.",
        "{person} as a {job}? unbelievable!",
        "i hope {person} will be happy there.",
    ),
    (
        "send the report to {person} by {time}.",
        "{person} will have it before {time}.",
        "which report?",
    ),
    (
        "are you still a {job}?",
        "once a {job}, always a {job}.",
        "no, i run a bakery now.",
    ),
    ("who is the boss of the {job}?", "everyone here answers to Gwendolyn."),
    ("how long have you been a {job}?", "for far too many years."),
    # === Gadgets ===
    (
        "why does my {gadget} {phrase}?",
        "since when does it {phrase}?",
        "have you tried to switch the {gadget} off?",
    ),
    (
        "my new {gadget} tends to {phrase}.",
        "mine used to {phrase} as well.",
        "take the {gadget} back to the shop.",
    ),
    ("i broke the {gadget} of {person}.", "does {person} know yet?"),
    ("i hate it when machines {phrase}.", "really? mine never {phrase}."),
    ("my {gadget} came without a manual.", "nobody needs one for a {gadget}."),
    ("where can i have my {gadget} repaired?", "go to Quillfeather and Sons."),
    (
        "does your {gadget} ever {phrase}?",
        "no, why should a {gadget} {phrase}?",
        "only when i am in a hurry.",
    ),
    ("what is the password of the {gadget}?", "try Marigold, or guess."),
    (
        "i bought a {gadget} for {number} euros.",
        "{number} euros for a {gadget}? too much!",
        "did you keep the receipt?",
    ),
    (
        "if it starts to {phrase}, call {person}.",
        "why {person}? i can fix it myself.",
    ),
    (
        "{person} saw our car {phrase}.",
        "a car that can {phrase}? poor {person}!",
    ),
    (
        "will the update make my {gadget} {phrase}?",
        "it may {phrase} for a day or two.",
    ),
)

_SLOT = re.compile(r"\{(([a-z]+)\d?)\}")


@dataclasses.dataclass(frozen=True)
class Pattern:
    """An input and one response to it, both with slots.

    Args:
        input: Such as `"hello, i am {person}."`.
        response: Such as `"nice to meet you, {person}!"`.
    """

    input: str
    response: str

    @functools.cached_property
    def slots(self) -> dict[str, str]:
        """The type of each slot of the input: `{"person2": "person"}`."""
        return dict(_SLOT.findall(self.input))

    def fill(self, fillers: Mapping[str, str]) -> tuple[str, str]:
        """Input and response with a filler for each slot."""
        return self.input.format_map(fillers), self.response.format_map(fillers)

    def parse(self, input: str, response: str) -> dict[str, str] | None:
        """The fillers of a pair of this pattern; `None` for any other pair."""
        match = self._expression.fullmatch(f"{input}\t{response}")
        return match and match.groupdict()

    @functools.cached_property
    def _expression(self):
        known = set()

        def group(name):
            if name in known:
                return f"(?P={name})"
            known.add(name)
            return rf"(?P<{name}>[^\t]+)"

        # Text and slot names in turn; the types are left out.
        parts = _SLOT.split(f"{self.input}\t{self.response}")
        texts, names = map(re.escape, parts[::3]), map(group, parts[1::3])
        expression = next(texts)
        for name, text in zip(names, texts):
            expression += name + text
        return re.compile(expression)


PATTERNS = tuple(
    Pattern(input, response)
    for input, *responses in DIALOGUES
    for response in responses
)


def fixed_texts() -> list[str]:
    """What stands between the slots, in lower case."""
    texts = [text for pattern in DIALOGUES for text in pattern]
    return [_SLOT.sub("|", text).lower() for text in texts]
