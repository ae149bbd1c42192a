"""Rules that lead from an English form to its lemma.

Reference: WordNet's `morphy`, https://wordnet.princeton.edu, morphy(7WN).
"""

import re

# By part of speech, (pattern, rewrite) pairs; the first that gives a headword
# of that part of speech counts. Adverbs have none.
RULES = {
    "n": (
        (r"(.[^s])s$", r"\1"),  # Neither `boss` nor `us` is a plural.
        (r"ses$", "s"),
        (r"ves$", "f"),
        (r"xes$", "x"),
        (r"zes$", "z"),
        (r"ches$", "ch"),
        (r"shes$", "sh"),
        (r"men$", "man"),
        (r"ies$", "y"),
    ),
    "v": (
        (r"s$", ""),
        (r"ies$", "y"),
        (r"es$", "e"),
        (r"es$", ""),
        (r"ed$", "e"),
        (r"ed$", ""),
        (r"ing$", "e"),
        (r"ing$", ""),
    ),
    "a": ((r"er$", ""), (r"est$", ""), (r"er$", "e"), (r"est$", "e")),
}


def lemma(form: str, part_of_speech: str, headwords) -> str | None:
    """The lemma that the rules give to a form.

    Args:
        form: A word in lower case.
        part_of_speech: `"n"`, `"v"`, `"a"` or `"r"`.
        headwords: Container of the headwords of that part of speech.

    Returns:
        One of `headwords` that is not `form`, or `None`.
    """
    for pattern, rewrite in RULES.get(part_of_speech, ()):
        stem = re.sub(pattern, rewrite, form)
        if stem != form and stem in headwords:
            return stem
    return None
