"""Batches for models whose words may have definitions: flat dicts by name.

Shapes: B sentences, T words, L entries of a word; U entries that are defined,
N definitions and M tokens of definitions, K the longest; W words that are
spelt.
"""

from collections.abc import Mapping

# What a packer gives for each text; the rest is for all texts together.
_OF_TEXTS = ("slots", "phrase_slots", "phrase_positions")


def flat_inputs(
    ids: Mapping,
    definitions: Mapping | None = None,
    spelt: Mapping | None = None,
) -> dict:
    """The inputs of a model, by the names of `models.definition_inputs`.

    Args:
        ids: Dict of the texts by name: `(B, T)`.
        definitions: The result of `DefinitionPacker.pack` for a dict of the
            same names; `None` if the model reads none.
        spelt: The result of `spellings` for a dict of the same names; `None` if
            the model reads none.

    Returns:
        Dict of `NAME_ids`, `(B, T)`, of each text NAME. With definitions of
        `NAME_slots`, `(B, T, L)`, too, if phrases are packed of
        `NAME_phrase_slots` and `NAME_phrase_positions`, `(B, T)`; and of
        `definition_ids`, `(M,)` or `(N, K)`, `definition_owners`,
        `definition_weights` and `definition_counts`, `(U + 1,)`, and if deeper
        levels are packed of `definition_ids_1` and so on. With spellings of
        `NAME_spelling_slots`, `(B, T)`, and of `spelling_ids`, `(W + 1, K)`.

    Raises:
        ValueError: If the names of texts differ, or if two tensors would have
            the same name.
    """
    tensors = [(f"{name}_ids", x) for name, x in ids.items()]
    of_texts = {} if spelt is None else {"spelling_slots": spelt["slots"]}
    for key in _OF_TEXTS:
        if definitions is not None and key in definitions:
            of_texts[key] = definitions[key]
    for key, given in of_texts.items():
        _check_names(ids, given)
        tensors += [(f"{name}_{key}", given[name]) for name in ids]
    if definitions is not None:
        tensors += [
            (f"definition_{key}", x)
            for key, x in definitions.items()
            if key not in _OF_TEXTS
        ]
    if spelt is not None:
        tensors.append(("spelling_ids", spelt["ids"]))
    inputs = dict(tensors)
    if len(inputs) < len(tensors):
        raise ValueError(
            "The names of texts must give tensors of different names. "
            f"Received: {tuple(ids)}."
        )
    return inputs


def _check_names(ids, slots):
    names = slots.keys() if isinstance(slots, Mapping) else type(slots)
    if names != ids.keys():
        raise ValueError(
            "What is packed must be a dict of the names of the texts, "
            f"{tuple(ids)}. Received: {names}."
        )
