"""Common nouns of three categories, to see whether a model separates them.

They are the categories that the paper draws, and nouns as in the BLESS set
(Baroni and Lenci, 2011, https://aclanthology.org/W11-2501), but our own choice:
single words of which WordNet 3.0 has a definition in that category.

Reference: Bahdanau et al., 2017, https://arxiv.org/abs/1706.00286, section 4.2.
"""

NOUNS_BY_CATEGORY = {
    "fruit": (
        "apple",
        "apricot",
        "banana",
        "blueberry",
        "cherry",
        "coconut",
        "grape",
        "grapefruit",
        "lemon",
        "mango",
        "melon",
        "orange",
        "peach",
        "pear",
        "pineapple",
        "plum",
        "raspberry",
        "strawberry",
    ),
    "tool": (
        "axe",
        "chisel",
        "crowbar",
        "drill",
        "hammer",
        "hatchet",
        "hoe",
        "mallet",
        "pickaxe",
        "pitchfork",
        "pliers",
        "rake",
        "saw",
        "scissors",
        "screwdriver",
        "shovel",
        "spade",
        "wrench",
    ),
    "vehicle": (
        "ambulance",
        "bicycle",
        "boat",
        "bus",
        "car",
        "ferry",
        "glider",
        "helicopter",
        "motorcycle",
        "scooter",
        "ship",
        "submarine",
        "taxi",
        "tractor",
        "tram",
        "truck",
        "van",
        "yacht",
    ),
}
