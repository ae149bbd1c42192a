import pytest

from tfcopy.data.generated.bilingual import elide


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
