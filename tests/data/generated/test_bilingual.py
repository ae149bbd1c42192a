import pytest

from tfcopy.data.generated.bilingual import (
    Phrase,
    contract,
    elide,
    english_verb,
    expand,
    french_adjective,
    indefinite_article,
    spanish_verb,
)
from tfcopy.data.generated.demo_catalogs import capitalize


@pytest.mark.parametrize(
    "raw, finished",
    [
        ("il parle de le accord", "il parle de l'accord"),
        ("il parle de le rapport", "il parle du rapport"),
        ("il parle à les ministres", "il parle aux ministres"),
        ("le_ a", "l'a"),
        ("de le_ dire", "de le dire"),
        ("la_ ont", "l'ont"),
        ("parce que il", "parce qu'il"),
        ("ce avis", "cet avis"),
        ("ce budget", "ce budget"),
        ("le nouveau accord", "le nouvel accord"),
        ("de \ue000Anna", "d'\ue000Anna"),
        ("de \ue000Łukasz", "de \ue000Łukasz"),
        ("de \ue000Hans", "de \ue000Hans"),
        ("de la Hongrie", "de la Hongrie"),
        ("de les citoyens", "des citoyens"),
    ],
)
def test_elision_and_contraction(raw, finished):
    assert elide(raw) == finished


def test_indefinite_article():
    text = "a report, a opinion, a European law, a useful text, a urgent one"
    assert indefinite_article(text) == (
        "a report, an opinion, a European law, a useful text, an urgent one"
    )


@pytest.mark.parametrize("feminine", [False, True])
@pytest.mark.parametrize("plural", [False, True])
def test_agreement(feminine, plural):
    phrase = Phrase.same("x", feminine, plural)
    form = 2 * plural + feminine
    pattern = "{doc}", "[a|ont:doc] [rejeté*:doc] [il|elle|ils|elles:doc]"
    _, filled = expand(pattern, lambda type: phrase, french_adjective)
    expected = (
        ("a", "ont")[plural],
        ("rejeté", "rejetée", "rejetés", "rejetées"),
    )
    pronoun = ("il", "elle", "ils", "elles")[form]
    assert filled == f"{expected[0]} {expected[1][form]} {pronoun}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("el nombre de el archivo", "el nombre del archivo"),
        ("acceso a el índice", "acceso al índice"),
        ("lectura y impresión", "lectura e impresión"),
        ("nieve y hielo", "nieve y hielo"),
        ("siete o ocho", "siete u ocho"),
    ],
)
def test_contractions(text, expected):
    assert contract(text) == expected


def test_forms_of_verbs():
    assert spanish_verb("buscar")["do"] == "busque"
    assert spanish_verb("leer/leyendo/lee/lea/leyó/leyeron/leído")["nows"] == (
        "leen"
    )
    assert english_verb("copy")["s"] == "copies"
    assert english_verb("write/wrote/written/writing")["past"] == "wrote"
    assert capitalize("«x» falla") == "«X» falla"
    assert capitalize("") == ""
