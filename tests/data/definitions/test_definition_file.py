import gzip

import pytest

from tfcopy.data.definitions import Definitions, definition_file


@pytest.mark.parametrize(
    "definitions",
    [
        Definitions(
            ("run", "#lemma", "# x", "wake up", "Łódź"),
            (
                (("move", "fast"), ("a", "score")),
                # Twice the same; a token with a blank; one without text.
                (("x",), ("x",)),
                (("a b", ""),),
                (("\ud800", "\t\n"),),
                (("a", "city"),),
            ),
            {"ran": ("run",), "his": (), "left": ("leave", "left")},
            ("vn", "--", "-", "v", "n"),
        ),
        Definitions((), ()),
    ],
    ids=["odd", "empty"],
)
def test_any_definitions_come_back(definitions):
    data = definition_file.to_bytes(definitions)
    again = definition_file.from_bytes(data)
    assert again == definitions
    assert list(again.lemmas.items()) == list(definitions.lemmas.items())
    assert definition_file.to_bytes(again) == data


@pytest.mark.parametrize(
    "damage",
    [b"", b"x", gzip.compress(b"{}")],
    ids=["empty", "no gzip", "no definitions"],
)
def test_damage_is_noticed(damage):
    whole = definition_file.to_bytes(Definitions(("a",), ((("b",),),)))
    for data in (damage, whole[:-9]):
        with pytest.raises((ValueError, KeyError, OSError, EOFError)):
            definition_file.from_bytes(data)
