"""Codes of languages: one language under many spellings."""

import functools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfcopy.data.text.languages import (
    base_language,
    best_language,
    code_of_name,
    normal_code,
)


@pytest.mark.parametrize(
    "code, normal",
    [
        *(("PT_br", "pt-BR"), ("pt_BR.UTF-8", "pt-BR"), ("pb", "pt-BR")),
        *(("zt", "zh-Hant"), ("zh_hans_cn", "zh-Hans-CN")),
        *(("zh-cmn-Hans", "zh-Hans"), ("sr@latin", "sr-Latn")),
        *(("sr_RS@latin", "sr-Latn-RS"), ("sh", "sr-Latn"), ("iw", "he")),
        *(("in", "id"), ("no", "nb"), ("eng", "en"), ("ger", "de")),
        *(("deu_AT", "de-AT"), ("ca@valencia", "ca-valencia")),
        *(("de-1996-x-own", "de-1996"), ("sr@ije", "sr-ije")),
        *(("en@quot", "en-quot"), ("German", "german"), ("", "")),
    ],
)
def test_a_code_has_one_spelling(code, normal):
    assert normal_code(code) == normal
    assert normal_code(normal) == normal
    assert base_language(code) == normal.partition("-")[0]


@pytest.mark.parametrize(
    "available, wanted",
    [
        ("pt-BR", "pb pt pt_br pt-PT por"),
        ("zh-TW", "zt zh-Hant zh-HK zh_Hant_TW"),
        ("zh-Hans", "zh zh-CN zh_CN zh-SG cmn chi"),
        *(("zh", "zh-Hans zh-CN"), ("nb", "no nb_NO nor")),
        ("sr-Latn", "sr@latin sr@Latn sr_ME sh sr@ijekavianlatin"),
        *(("he", "iw heb he_IL"), ("iw", "he"), ("id", "in ind")),
        *(("en", "EN en_US en-GB eng"), ("en-GB", "en en-US"), ("tl", "fil")),
    ],
)
def test_a_language_is_found_under_its_codes(available, wanted):
    for code in wanted.split():
        assert best_language(code, ["xx", available, "fr"]) == available


@pytest.mark.parametrize(
    "wanted, available",
    [
        *(("pt", "es"), ("zh-CN", "zh-TW"), ("zh-Hant", "zh-Hans")),
        *(("nn", "nb"), ("zh", "zh-TW"), ("sr", "sr-Latn")),
        *(("uz", "uz@cyrillic"), ("be", "be@latin"), ("tt", "tt@iqtelif")),
        *(("az", "az_IR"), ("pa", "pa_PK"), ("ms", "ms@jawi")),
        *(("ha", "ha@ajami"), ("zh", "zh@pinyin"), ("ja", "ja@romaji")),
        *(("yue", "zh"), ("sr_RS", "sr@latin"), ("", ""), ("-", "en")),
        ("e", "en"),
    ],
)
def test_and_not_under_others(wanted, available):
    assert best_language(wanted, [available]) is None
    assert best_language(available, [wanted]) is None


@pytest.mark.parametrize(
    "wanted, available",
    [  # the best one first
        *(("pt", "pt pt-BR pt-PT"), ("pt", "pt-BR pt-PT")),
        *(("pt-PT", "pt_PT pt pt-BR"), ("pt-AO", "pt-PT pt pt-BR")),
        *(("zh-HK", "zh-TW zh zh-CN"), ("zh", "zh zh-Hans zh-TW")),
        ("zh-CN", "zh-CN zh-Hans zh zh-SG"),
        *(("es-MX", "es-MX es-419 es es-ES"), ("sr@latin", "sr@latin sr")),
        *(("zh-MO", "zh-HK zh-TW"), ("ca", "ca ca@valencia")),
        *(("ca@valencia", "ca-valencia ca"), ("sr", "sr sr@ije")),
    ],
)
def test_the_nearest_is_taken(wanted, available):
    codes = available.split()
    assert best_language(wanted, codes) == codes[0]
    assert best_language(wanted, codes[::-1]) == codes[0]


@pytest.mark.parametrize(
    "name, code",
    [
        *(("persian", "fa"), ("Kyrgyz", "ky")),
        *(("Portuguese (Brazil)", "pt_BR"), ("Serbian (Latin)", "sr_Latn")),
        *(("Simplified Chinese", "zh_Hans"), ("es_AR.UTF-8", "es_AR.UTF-8")),
        *(("LANGUAGE", ""), ("ll_CC", ""), ("szl", "szl"), ("und", "")),
        ("Nowhere (Brazil)", ""),
    ],
)
def test_a_name_has_a_code(name, code):
    assert code_of_name(name) == code


def test_another_region_may_be_refused():
    best = functools.partial(best_language, other_regions=False)
    assert best("pt_BR", ["pt_PT"]) is None
    assert best("pt_BR", ["pt_PT", "pt"]) == "pt"
    assert best("pt", ["pt_PT"]) == "pt_PT"


@given(st.text(st.sampled_from("eEnNzhHantTWsr@_-.19 xü"), max_size=12))
@example("1@asE")
def test_any_text_has_a_code_and_finds_itself(text):
    assert normal_code(normal_code(text)) == normal_code(text)
    found = best_language(text, [text, "de"])
    assert found == (text if base_language(text) else None)
