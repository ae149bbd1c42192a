"""What fills the slots of the dialogue patterns, in two halves.

Fillers are put together from the entries of tables. One entry in five makes
the fillers of the test half, the others those of the training half. The halves
share no word but function words: an entry can be in the test half only if its
words occur nowhere else in the tables or in the patterns, not even inside
another word. Figures belong to the test half if their last digit is a 4 or a
9, and so do months, hours, and numbers in words.
"""

import functools
import itertools
import math
import random
import re

from tfcopy.data.generated import dialogue_patterns

HALVES = ("train", "test")
_NUM_FILLERS = {"train": 320, "test": 80}  # of a type
_TEST_SHARE = 5  # one entry in so many

# Jobs, animals and gadgets follow "a": none begins with a vowel.
FORMS = {
    "person": ("{given}", "{given} {surname}"),
    "city": ("{city}",),
    "country": ("{country}",),
    "team": ("{home} {club}",),
    "dish": (
        "{ingredient} {course}",
        "{style} {ingredient} {course}",
        "{course} with {ingredient}",
    ),
    "film": ("{epithet} {scene}", "The {epithet} {scene}"),
    "book": ("The {hero}'s {thing}", "The {hero} and the {thing}"),
    "animal": ("{animal}", "{nature} {animal}"),
    "job": ("{role}", "{field} {role}"),
    "gadget": ("{device}", "{brand} {device}"),
    "phrase": ("{action} {circumstance}",),
}

WORDS = {
    "given": """
        Abel Ada Adele Agata Agnes Ahmed Aisha Alba Alina Alma Amara Amelie
        Amir Anders Andrei Anita Anouk Antonio Arjun Arno Astrid Aurelia Bashir
        Beatrix Benito Bianca Birgit Boris Brigid Bruno Camille Carlos Catarina
        Cedric Chiara Chloe Ciara Clara Clement Conrad Dagmar Daria Davide
        Deepak Diego Dimitri Dolores Edgar Edith Eduardo Eileen Elena Elias
        Elif Elsa Emeka Emil Enzo Erika Esther Fabio Fatima Felix Fergus Fiona
        Fritz Gemma Georg Gerda Giulia Greta Gustav Hakim Hannes Hassan Hector
        Helga Henrik Hiro Hugo Ibrahim Ida Ingrid Irina Isaac Ivan Jacek Jamal
        Jasmin Javier Joaquin Johanna Jonas Julio Jurgen Kamal Karim Katya
        Kenji Kirsten Lars Laszlo Leila Leon Linus Lorna Lucia Ludwig Luisa
        Magnus Malik Manuel Marcel Margit Mariam Matteo Maxim Meera Mehmet
        Milena Mina Mirko Moritz Nadia Naomi Natalia Nils Noor Nuria Odile Olaf
        Olga Oskar Otto Pablo Padma Paola Pavel Pedro Petra Pierre Pilar Priya
        Rafael Rahul Ramona Rashid Regina Renata Rita Roland Rosalind Ruben
        Rupert Sabine Salma Samir Sandor Selma Sergei Silvia Simone Sonja
        Stefan Sven Tamara Tariq Teresa Thea Tilda Tobias Umberto Ursula
        Valeria Vera Viktor Vikram Wanda Wilhelm Xavier Yasmin Yusuf Yvonne
        Zainab Zoltan
        """,
    "city": """
        Aarhus Abuja Accra Adelaide Aleppo Algiers Almaty Amman Amsterdam
        Ankara Antwerp Asmara Athens Atlanta Auckland Baghdad Baku Baltimore
        Bamako Bangalore Bangkok Barcelona Basel Beirut Belfast Belgrade Bergen
        Berlin Bilbao Birmingham Bogota Bologna Bordeaux Boston Bratislava
        Bremen Brisbane Bristol Brussels Bucharest Budapest Cairo Calgary
        Canberra Caracas Cardiff Casablanca Chennai Chicago Chisinau Cologne
        Colombo Copenhagen Cordoba Cork Cracow Dakar Dallas Damascus Darwin
        Debrecen Delhi Denver Detroit Dhaka Dortmund Dresden Dublin Dundee
        Durban Dushanbe Edinburgh Edmonton Eindhoven Erfurt Essen Faro Fez
        Frankfurt Freetown Fukuoka Gdansk Geneva Genoa Ghent Glasgow Gothenburg
        Granada Graz Grenoble Groningen Guayaquil Haifa Halifax Hamburg Hanoi
        Harare Havana Helsinki Hiroshima Hobart Honolulu Houston Hyderabad
        Innsbruck Isfahan Islamabad Istanbul Izmir Jakarta Jerusalem
        Johannesburg Kabul Kampala Kandahar Karachi Kathmandu Kharkiv Khartoum
        Kigali Kingston Kinshasa Kobe Kyoto Lagos Lahore Lausanne Leeds Leipzig
        Lhasa Lille Lima Limerick Lisbon Liverpool Ljubljana London Luanda
        Lucerne Lusaka Lviv Lyon Madrid Malaga Managua Manchester Manila Maputo
        Marrakesh Marseille Medina Melbourne Miami Milan Minsk Mombasa Montreal
        Moscow Mosul Mumbai Munich Muscat Nagoya Nairobi Nantes Naples Nicosia
        Odense Odessa Orleans Osaka Oslo Ottawa Oxford Palermo Paris Perth
        Philadelphia Plovdiv Podgorica Porto Poznan Prague Pretoria Quebec
        Quito Rabat Reykjavik Riga Riyadh Rome Rotterdam Salamanca Salzburg
        Samarkand Santiago Sapporo Sarajevo Seattle Seoul Seville Shanghai
        Sheffield Skopje Sofia Stockholm Strasbourg Stuttgart Sydney Szeged
        Tallinn Tampere Tangier Tashkent Tbilisi Teheran Tirana Tokyo Toledo
        Toronto Toulouse Trieste Tripoli Trondheim Turin Turku Uppsala Utrecht
        Valencia Vancouver Venice Verona Vienna Vilnius Warsaw Wellington
        Winnipeg Yerevan Yokohama Zagreb Zaragoza Zurich
        """,
    "country": """
        Albania Algeria Andorra Angola Argentina Armenia Australia Austria
        Azerbaijan Bahrain Bangladesh Barbados Belarus Belgium Belize Benin
        Bhutan Bolivia Botswana Brazil Brunei Bulgaria Burundi Cambodia
        Cameroon Canada Chad Chile China Colombia Croatia Cuba Cyprus Denmark
        Ecuador Egypt Eritrea Estonia Ethiopia Fiji Finland France Gabon
        Georgia Germany Ghana Greece Grenada Guatemala Guyana Haiti Honduras
        Hungary Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica
        Japan Jordan Kazakhstan Kenya Kiribati Kosovo Kuwait Kyrgyzstan Laos
        Latvia Lebanon Lesotho Liberia Libya Liechtenstein Lithuania
        Luxembourg Madagascar Malawi Malaysia Maldives Malta Mauritania
        Mauritius Mexico Moldova Monaco Mongolia Montenegro Morocco Mozambique
        Myanmar Namibia Nauru Nepal Nicaragua Nigeria Norway Oman Pakistan
        Palau Panama Paraguay Peru Poland Portugal Qatar Romania Russia Rwanda
        Samoa Senegal Serbia Seychelles Singapore Slovakia Slovenia Somalia
        Spain Sudan Suriname Sweden Switzerland Syria Taiwan Tajikistan
        Tanzania Thailand Togo Tonga Tunisia Turkmenistan Tuvalu Uganda Ukraine
        Uruguay Uzbekistan Vanuatu Venezuela Vietnam Yemen Zambia Zimbabwe
        """,
    "club": """
        Rovers United Wanderers Rangers Athletic City Town County Albion Dynamo
        Spartak Falcons Hawks Tigers Wolves Bears Bulls Sharks Comets Rockets
        Vikings Knights Titans Giants Dragons Eagles Panthers Stallions
        Mustangs Hornets Wasps Foxes Badgers Otters Ravens Owls Saints Monarchs
        Raiders Pioneers Miners Harvesters Mariners Celtic Hotspur
        """,
    "ingredient": """
        pumpkin leek spinach mushroom lentil chickpea salmon trout herring
        mackerel tomato carrot cabbage fennel beetroot cauliflower broccoli
        celery parsnip turnip potato onion garlic walnut almond chestnut
        hazelnut feta mozzarella ricotta tofu tempeh barley buckwheat quinoa
        aubergine courgette artichoke asparagus radish kale nettle sorrel pear
        plum apricot rhubarb cherry quince olive lime mango coconut peanut
        sesame saffron ginger rosemary thyme basil chard okra sweetcorn shrimp
        mussel squid haddock halibut
        """,
    "course": """
        soup stew risotto lasagne curry gratin pie tart quiche omelette salad
        casserole goulash ragout chowder pilaf paella polenta strudel souffle
        terrine frittata burrito moussaka tagine biryani ramen pizza crumble
        pudding flan hotpot broth kebab fritter samosa stir-fry mousse sorbet
        roulade bisque galette focaccia tortilla tempura dumpling pancake
        sandwich
        """,
    "style": """
        spicy creamy smoked roasted grilled crispy sweet sour baked homemade
        glazed pickled braised stuffed steamed marinated peppery buttery salted
        toasted caramelised tangy velvety rustic honeyed
        """,
    "epithet": """
        Silent Crimson Broken Hidden Frozen Golden Endless Lonely Burning
        Distant Forgotten Hollow Invisible Restless Savage Secret Shattered
        Sleeping Stolen Velvet Wandering Whispering Wicked Wooden Electric
        Paper Scarlet Midnight Fearless Furious Gentle Haunted Iron Jade Lazy
        Marble Neon Nervous Pale Perfect Reckless Rusty Sacred Silver Stubborn
        Sunken Tender Thirsty Twisted Unholy Vanishing Violent Weary
        """,
    "scene": """
        Harbour Horizon Orchard Lighthouse Carousel Labyrinth Empire Shadow
        Voyage Cathedral Canyon Glacier Lagoon Meadow Prairie Tempest Avalanche
        Masquerade Requiem Serenade Symphony Alibi Verdict Witness Conspiracy
        Fugitive Hostage Outlaw Bandit Gambler Juggler Magician Phantom Vampire
        Werewolf Gladiator Samurai Duchess Princess Emperor Prophet Stranger
        Galaxy Planet Satellite Eclipse Volcano Hurricane Monsoon Mirror
        Staircase Corridor Attic Chandelier Trumpet Violin
        """,
    "hero": """
        Clockmaker Beekeeper Apothecary Cartographer Shepherd Blacksmith
        Locksmith Weaver Potter Miller Ferryman Gravedigger Glassblower
        Perfumer Bookbinder Falconer Astronomer Botanist Alchemist Librarian
        Archivist Governess Midwife Orphan Widow Pilgrim Hermit Nomad Scribe
        Jester Minstrel Troubadour Puppeteer Ventriloquist Smuggler Castaway
        Candlemaker Swordsmith Gardener Sculptor Organist Drummer Fiddler
        Bellringer Watchman Toymaker Cobbler Tailor Seamstress Milkmaid
        Woodcutter
        """,
    "thing": """
        Daughter Apprentice Diary Garden Ledger Compass Lantern Necklace
        Umbrella Suitcase Testament Riddle Promise Bargain Confession Betrayal
        Inheritance Nightmare Lullaby Recipe Teapot Thimble Feather Bracelet
        Telescope Microscope Manuscript Parchment Inkwell Notebook Wardrobe
        Cradle Anchor Barometer Pendulum Hourglass Kaleidoscope Mandolin
        Accordion Harmonica Rosebush Greenhouse Windmill Vineyard Cellar
        Keyhole Doorstep Rooftop Footprint
        """,
    "animal": """
        rabbit hamster gecko parrot budgie canary tortoise turtle lizard ferret
        chinchilla gerbil hedgehog squirrel pony donkey mule goat lamb piglet
        duckling gosling peacock pigeon falcon hawk raven crow magpie starling
        sparrow finch cockatoo macaw lovebird penguin pelican flamingo heron
        stork swan toucan kingfisher woodpecker nightingale panda koala wombat
        kangaroo wallaby dingo meerkat mongoose lemur baboon gibbon chimpanzee
        gorilla tapir sloth puma jaguar leopard lynx cheetah tiger zebra
        giraffe camel llama bison buffalo moose reindeer gazelle wildebeest
        warthog hippo rhino walrus porpoise dolphin whale shark goldfish carp
        catfish piranha seahorse jellyfish lobster beetle cricket ladybird
        butterfly moth bumblebee tarantula scorpion snail python cobra viper
        chameleon newt toad frog tadpole salamander crocodile poodle beagle
        terrier dachshund spaniel collie labrador mastiff greyhound whippet
        dalmatian corgi husky kitten puppy foal
        """,
    "nature": """
        tiny spotted striped fluffy clumsy greedy grumpy noisy playful shy
        sleepy timid brave cheeky curious daft dusty hairy hungry jumpy limping
        muddy naughty plump scruffy shaggy skinny slippery speckled tame
        toothless wet wild woolly bald cross-eyed bossy dreamy moody nosy rude
        tubby
        """,
    "field": """
        harbour museum railway hospital circus theatre pastry forest ballet
        bank cemetery ferry fashion fire flower football furniture garage golf
        hotel jazz jewellery kindergarten laboratory lift lorry market military
        mountain music news nuclear palace parcel patent pharmacy police prison
        quarry radio river sailing sewage ski software space stable stadium
        steel sugar tax television textile timber toy tram tunnel warehouse
        wildlife yacht
        """,
    "role": """
        guard manager mechanic painter planner porter photographer pilot
        plumber poet nurse lawyer secretary reporter salesman surgeon surveyor
        teacher technician translator treasurer tutor waiter warden welder
        driver dispatcher detective designer cleaner clerk carpenter cashier
        caretaker choreographer coach conductor consultant courier critic
        curator decorator historian handyman negotiator novelist pianist
        programmer receptionist researcher roofer scientist singer spokesman
        steward supervisor trainer typist
        """,
    "device": """
        phone laptop tablet charger printer scanner keyboard mouse monitor
        router modem webcam microphone headset loudspeaker television radio
        camera projector console joystick drone smartwatch stopwatch thermostat
        thermometer toaster kettle blender mixer juicer dishwasher freezer
        fridge microwave cooker heater humidifier lawnmower hairdryer shaver
        toothbrush torch lamp doorbell calculator camcorder gramophone
        metronome pedometer scooter synthesizer turntable typewriter
        walkie-talkie
        """,
}

# What a machine may do: one to three words, then one to three more.
PHRASES = {
    "action": (
        "blink red|hum softly|lose the signal|freeze completely|shut down"
        "|make strange noises|smell of smoke|leak oily water|overheat badly"
        "|refuse to start|drop every connection|forget all settings"
        "|play static|vibrate wildly|beep loudly|show blurry pictures"
        "|delete old messages|drain the battery|spin backwards"
        "|crackle and hiss|flicker|reboot|jam halfway|send empty replies"
        "|ring twice|wobble|squeak|print blank sheets|scratch the floor"
        "|speak Dutch|ignore my voice|rattle|whistle odd tunes"
        "|display wrong figures|stutter|sound hoarse|turn yellow|get very hot"
        "|eat up memory|lag behind|double the volume|tremble|emit sparks"
        "|click nervously|fail silently|grow sluggish|buzz|swallow coins"
        "|dim the lights|lock all doors|tilt sideways|glow purple"
        "|mumble nonsense|groan"
    ),
    "circumstance": (
        "after midnight|during thunderstorms|overnight|in cold weather"
        "|near the window|on rainy mornings|without any warning|at full power"
        "|for no reason|when nobody looks|before breakfast|in the shade"
        "|twice a week|under the blanket|in direct sunlight|all afternoon"
        "|now and then|whenever it rains|next to magnets"
        "|behind the curtain|in the basement|as never before|close to metal"
        "|around dusk|at high altitude|after each repair|on gravel roads"
        "|in crowded places|with gloves on|beside the sofa"
        "|through thick walls|below zero|in aeroplane mode|on the balcony"
        "|until sunrise|at low tide|in foggy valleys|for hours|over and over"
        "|again and again|in winter|after long pauses|by candlelight"
        "|inside the elevator|every single evening|on public holidays"
    ),
}

# Beginnings, ends, and how many of the names that they make.
NAMES = {
    "surname": (
        "Bran Carl Dorn Eld Farr Gill Hal Karn Lind Morr Nor Pell Quin Rad "
        "Sten Tarn Ulv Varn Wex Yarr",
        "berg dale ford holm kin low man ner quist sen strom ton vik wood",
        240,
    ),
    "city": (
        "Amber Ash Birch Bram Brook Clay Copper Cran Dun Elder Fal Fern Hazel "
        "Kel Lang Mar Nether Over Pen Raven Stan Thorn Wal Whit",
        "bury combe dale ham hurst leigh mere minster mouth stow thorpe wick",
        160,
    ),
    "home": (
        "Tor Val Kor Bel Dra Sil Mon Pra Ver Zol Gra Lor Fen Cas Bru",
        "esta igo ovia adora elle umna ista ezzo",
        110,
    ),
    "brand": (
        "Zel Vex Nor Qui Tri Lum Dax Pex Kor Syn Bly Fon Gri Hex Jov",
        "vo tek nix ra don zo lio mex",
        110,
    ),
}

MONTHS = (
    "January February March April May June July August September October "
    "November December"
)
HOURS = "one two three four five six seven eight nine ten eleven twelve"
_TEENS = (
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"  # 13 on
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_YEARS = range(2020, 2035)
_NUMBERS = range(12, 401)
_NUMBERS_IN_WORDS = range(11, 100)

# Both halves use these.
FUNCTION_WORDS = tuple(
    """
    a after again all am an and any around as at before behind below beside by
    down during each every for from half in inside it my near never next no
    o'clock of on out over past pm quarter s the through to under until very
    when whenever with without
    """.split()
)


def content_words(text: str) -> list[str]:
    """The words of a text but for function words, in lower case."""
    words = re.findall(r"\w+(?:[-:/]\w+|'\w\w+)*", text.lower())
    return [word for word in words if word not in FUNCTION_WORDS]


@functools.cache
def pools(half: str) -> dict[str, tuple[str, ...]]:
    """The fillers of each type that belong to a half.

    Args:
        half: `"train"` or `"test"`.
    """
    is_test = half == "test"
    entries = {part: sides[is_test] for part, sides in _sides().items()}
    result = {"number": _numbers(is_test)}
    for type, draw in (("date", _date), ("time", _time)):
        result[type] = _draw(type, half, functools.partial(draw, is_test))
    for type, forms in FORMS.items():
        fill = functools.partial(_fill, forms, entries)
        result[type] = _draw(type, half, fill, _num_possible(forms, entries))
    return result


def _draw(type, half, draw, num_possible=math.inf) -> tuple[str, ...]:
    """As many fillers as there shall be, or as are possible."""
    rng = random.Random(f"{type}/{half}")
    fillers = {}
    while len(fillers) < min(_NUM_FILLERS[half], num_possible):
        fillers[draw(rng)] = None
    return tuple(fillers)


# === Words ===


@functools.cache
def _sides() -> dict[str, tuple[list, list]]:
    """The entries of each table: those for training, and those for testing."""
    entries = _entries()
    texts = [*itertools.chain(*entries.values()), MONTHS, HOURS, _TEENS, _TENS]
    texts += dialogue_patterns.fixed_texts()
    text = "\n".join(texts).lower()
    result = {}
    for part, items in entries.items():
        lone = [
            item
            for item in items
            if all(text.count(word) == 1 for word in content_words(item))
        ]
        test = random.Random(part).sample(lone, len(items) // _TEST_SHARE)
        result[part] = [x for x in items if x not in test], test
    return result


def _entries() -> dict[str, list[str]]:
    entries = {part: table.split() for part, table in WORDS.items()}
    entries |= {part: table.split("|") for part, table in PHRASES.items()}
    for part, (beginnings, ends, count) in NAMES.items():
        names = itertools.product(beginnings.split(), ends.split())
        names = random.Random(part).sample(list(map("".join, names)), count)
        entries[part] = [*entries.get(part, ()), *names]
    return entries


def _parts(form) -> list[str]:
    return re.findall(r"\{(\w+)\}", form)


def _num_possible(forms, entries) -> int:
    return sum(
        math.prod(len(entries[part]) for part in _parts(form)) for form in forms
    )


def _fill(forms, entries, rng) -> str:
    form = rng.choice(forms)
    return form.format(
        **{part: rng.choice(entries[part]) for part in _parts(form)}
    )


# === Figures ===


def _is_test(number: int) -> bool:
    return number % _TEST_SHARE == _TEST_SHARE - 1


def _of_half(numbers, is_test) -> list[int]:
    return [number for number in numbers if _is_test(number) == is_test]


def _date(is_test, rng) -> str:
    """Such as follows "on"; every month has 28 days."""
    day, month, year = (
        rng.choice(_of_half(numbers, is_test))
        for numbers in (range(1, 29), range(1, 13), _YEARS)
    )
    name = MONTHS.split()[month - 1]
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 11 <= day <= 13 else endings.get(day % 10, "th")
    return rng.choice(
        (
            f"{day} {name}",
            f"{name} {day}",
            f"{name} {day}{ending}",
            f"the {day}{ending} of {name}",
            f"{day} {name} {year}",
            f"{day}/{month}/{year}",
            f"{year}-{month:02d}-{day:02d}",
        )
    )


def _time(is_test, rng) -> str:
    """Such as follows "at"."""
    hour, hour_of_day, minute = (
        rng.choice(_of_half(numbers, is_test))
        for numbers in (range(1, 13), range(24), range(60))
    )
    word = HOURS.split()[hour - 1]
    half_day = rng.choice(("am", "pm"))
    return rng.choice(
        (
            f"{hour_of_day}:{minute:02d}",
            f"{hour_of_day}:{minute:02d}",
            f"{hour}:{minute:02d} {half_day}",
            f"{hour} {half_day}",
            f"{hour} o'clock",
            f"half past {word}",
            f"quarter past {word}",
            f"quarter to {word}",
        )
    )


def _numbers(is_test) -> tuple[str, ...]:
    figures = map(str, _of_half(_NUMBERS, is_test))
    words = map(_in_words, _of_half(_NUMBERS_IN_WORDS, is_test))
    return (*figures, *words)


def _in_words(number: int) -> str:
    """A number from 1 to 99."""
    small = ["", *HOURS.split(), *_TEENS.split()]
    if number < 20:
        return small[number]
    tens = _TENS.split()[number // 10 - 2]
    return f"{tens}-{small[number % 10]}" if number % 10 else tens
