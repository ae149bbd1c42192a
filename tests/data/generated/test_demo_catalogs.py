import hashlib
import inspect
import re
import string

import polib
import pytest

from tests.data.generated import demo_catalog_files
from tfcopy.data.corpora import gettext_catalogs
from tfcopy.data.generated import demo_catalogs
from tfcopy.data.generated.demo_catalogs import Grammar
from tfcopy.data.generated.demo_names import COMMON
from tfcopy.data.text.span_patterns import spans_of

SIZES = {"train": 5_000, "validation": 500, "test": 500}
PROTECT = ("rst", "printf", "brace")


@pytest.fixture(scope="module")
def pairs():
    return {
        split: list(demo_catalogs.generate(split, size))
        for split, size in SIZES.items()
    }


def spans(text):
    return spans_of(text, PROTECT)


# === The corpus ===


def test_load_gives_the_generated_pairs_in_both_directions(tmp_path):
    sizes = {"num_train": 20, "num_validation": 2, "num_test": 3}
    corpus = demo_catalogs.load(tmp_path, **sizes)
    assert list(corpus.train) == list(demo_catalogs.generate("train", 20))
    assert list(corpus.test) == list(demo_catalogs.generate("test", 3))
    assert (corpus.source_language, corpus.target_language) == ("en", "es")
    assert corpus.generated
    reverse = demo_catalogs.load(tmp_path, **sizes, source_language="es")
    assert next(iter(reverse.train)) == next(iter(corpus.train))[::-1]


def test_sentences_are_the_same_on_every_machine():
    """A new digest is due whenever the grammar changes, and only then."""
    text = repr(list(demo_catalogs.generate("test", 1000)))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "04bfbbfd7b290fc2"


def test_spans_are_the_same_on_both_sides(pairs):
    for source, target in (pair for split in pairs.values() for pair in split):
        assert sorted(spans(source)) == sorted(spans(target)), source


def test_spans_of_a_split_are_its_own_but_for_the_common(pairs):
    found = {
        split: {
            span
            for source, _ in some
            for span in spans(source)
            # Placeholders, numbers of PEPs and values are of all splits.
            if re.search(r"[`<@]|://", span) and not re.search(r"`.?\d", span)
        }
        for split, some in pairs.items()
    }
    for split in ("validation", "test"):
        shared = found["train"] & found[split]
        assert shared <= {*COMMON, "``%s``", "``%d``", "``%i``"} | {
            span for span in shared if re.search("``[%{]", span)
        }
        assert len(found[split] - found["train"]) > 500


def test_nothing_of_the_grammar_is_left_in_a_sentence(pairs):
    for pair in pairs["train"]:
        for text in pair:
            for span in spans(text):
                text = text.replace(span, "x")
            assert not re.search(r"[{}\[\]*|_\ue000-\uf8ff]|  ", text), text
            assert text[0] not in string.ascii_lowercase or text[0] == "x"


def test_sentences_differ(pairs):
    assert len(set(pairs["train"])) > 0.97 * SIZES["train"]


def test_the_examples_have_spans_that_are_kept():
    for source, target in demo_catalogs.examples():
        assert sorted(spans(source)) == sorted(spans(target)) != []


def test_entries_with_plurals_count_the_same_things():
    grammar = Grammar(0, "train")
    for _ in range(50):
        one, several = grammar.plural_entry()
        assert one.flag == several.flag != ""
        assert spans(one.en) == spans(several.en)
        assert one.en != several.en


# === Files ===


def test_files_are_catalogues_that_are_read(tmp_path):
    paths = demo_catalog_files.write_catalogs(tmp_path, 600, num_files=5)
    assert len(paths) == 5
    catalogs = [polib.pofile(path) for path in paths]
    assert sum(map(len, catalogs)) == 600
    entries = [entry for catalog in catalogs for entry in catalog]
    assert {"c-format", "python-format", "python-brace-format"} <= {
        flag for entry in entries for flag in entry.flags
    }
    for of_kind in (
        lambda x: x.fuzzy and x.previous_msgid,
        lambda x: x.obsolete,
        lambda x: x.msgctxt,
        lambda x: x.msgid_plural and all(x.msgstr_plural.values()),
        lambda x: not x.msgstr and not x.msgid_plural,
    ):
        assert 5 < sum(map(bool, map(of_kind, entries))) < 100
    corpus = gettext_catalogs.load(
        str(tmp_path), source_language="en", target_language="es"
    )
    assert 400 < sum(split.num_pairs for split in corpus.splits.values()) < 600


def test_the_same_seed_writes_the_same_files(tmp_path):
    one, again, other = (
        demo_catalog_files.write_catalogs(
            tmp_path / name, 20, num_files=1, seed=seed
        )
        for name, seed in (("one", 0), ("again", 0), ("other", 1))
    )
    texts = [open(path, "rb").read() for (path,) in (one, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="4 entries for 5 files"):
        demo_catalog_files.write_catalogs(tmp_path, 4, num_files=5)
    with pytest.raises(ValueError, match="source_language.*'fr'"):
        demo_catalog_files.write_catalogs(tmp_path, 40, source_language="fr")


def test_figures_are_of_so_many_pairs():
    parameters = inspect.signature(demo_catalogs.load).parameters
    assert parameters["num_train"].default == 20_000
