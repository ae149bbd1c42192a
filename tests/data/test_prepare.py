import gzip
import html
import json
import os
import random

import numpy as np
import pytest

from tfcopy import checked_files
from tfcopy.data import prepare
from tfcopy.data.corpora import text_pairs
from tfcopy.data.pairs import encoding, pipeline
from tfcopy.data.preparation import prepared_corpus
from tfcopy.data.preparation.preparation_steps import Preparation
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary, count_words
from tfcopy.experiments.pairs import pair_data, translation_data
from tfcopy.recipes import europarl_ps

SIZES = {"source": 30, "target": 25}
MIN_COUNT = 2
CUT = (Tokenizer("moses", "en"), Tokenizer("moses", "fr"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A corpus with names, blank and long lines, and a pair that repeats."""
    rng = random.Random(3)
    folder = tmp_path_factory.mktemp("corpus")
    lines = []
    for i in range(240):
        words = [rng.randrange(40) for _ in range(rng.randint(1, 12))]
        name = f" Zoé{i}" if i % 3 == 0 else ""
        lines.append(
            (
                " ".join(f"w{x}" for x in words) + f"{name}.",
                " ".join(f"m{x}" for x in words) + f"{name} «l'eau\t{i % 5}».",
            )
        )
    lines[7] = lines[200] = lines[199] = lines[3]
    lines[11] = ("", "rien")
    lines[12] = lines[13] = lines[14] = ("word " * 60, "mot")
    paths = [str(folder / name) for name in ("a.en", "a.fr")]
    for path, side in zip(paths, zip(*lines)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in side))
    return paths


def flags(files, folder, *more):
    return [
        *("--train", *files, "--output", str(folder)),
        *("--source_vocabulary_size", str(SIZES["source"])),
        *("--target_vocabulary_size", str(SIZES["target"])),
        *("--min_count", str(MIN_COUNT)),
        *more,
    ]


def one_machine(pairs):
    """Vocabularies and ids as without shards."""
    counts = count_words(pairs, CUT, progress=False)
    words = [
        Vocabulary.build(count, size, MIN_COUNT)
        for count, size in zip(counts, SIZES.values())
    ]
    return words, encoding.encode(
        pairs, *words, source_tokenizer=CUT[0], target_tokenizer=CUT[1]
    )


def read(folder):
    corpus = prepared_corpus.load(folder)
    words = corpus.vocabularies(CUT, SIZES, {}, MIN_COUNT)
    return corpus, words, corpus.train.encode(words, CUT)


def assert_same(found, expected):
    for name in ("source_ids", "source_copy_ids", "target_ids", "pointers"):
        own = np.asarray(getattr(found, name))
        np.testing.assert_array_equal(own, getattr(expected, name))
    for name in ("source_splits", "target_splits", "indices"):
        own, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(own, other)
        assert own.dtype == other.dtype
    assert found.checksum == expected.checksum
    for name in ("num_read", "num_empty", "num_too_long"):
        assert getattr(found, name) == getattr(expected, name)


@pytest.fixture(scope="module")
def in_shards(files, tmp_path_factory):
    """The corpus in shards of 37 pairs."""
    pytest.importorskip("apache_beam")
    folder = tmp_path_factory.mktemp("prepared")
    assert prepare.main(flags(files, folder, "--pairs_per_shard", "37")) == 0
    return folder


def test_words_ids_and_batches_are_those_of_one_machine(files, in_shards):
    plain = text_pairs.load(
        tuple(files), source_language="en", target_language="fr"
    )
    corpus, words, train = read(in_shards)
    assert corpus.fingerprint == plain.fingerprint
    assert list(corpus.test) == list(plain.test)
    assert list(corpus.validation) == list(plain.validation)
    expected_words, expected = one_machine(plain.train)
    for own, other in zip(words, expected_words):
        assert own.to_bytes() == other.to_bytes()
        assert own.fingerprint == other.fingerprint
    assert_same(train, expected)
    assert expected.num_too_long
    dev = corpus.validation.encode(words, CUT)
    assert dev.num_read == plain.validation.num_pairs
    # Resumed in the middle of the second epoch, for two replicas.
    options = dict(
        shuffle_seed=4, epoch=1, start_batch=2, pool_batches=3, num_replicas=2
    )
    count = 0
    for own, other in zip(
        pipeline.batches(train, 16, **options),
        pipeline.batches(expected, 16, **options),
        strict=True,
    ):
        count += 1
        for name in other:
            np.testing.assert_array_equal(own[name], other[name])
    assert count > 5
    with pytest.raises(ValueError, match="holds the training pairs as ids"):
        list(corpus.train)
    # No file of the steps stays.
    assert not list(in_shards.glob("preparing-*"))


def test_a_recipe_has_the_same_data(files, in_shards, tmp_path):
    options = dict(
        source_vocabulary_size=SIZES["source"],
        target_vocabulary_size=SIZES["target"],
        batch_size=8,
    )
    found = []
    for corpus in ({"train": files}, {"prepared": str(in_shards)}):
        made = europarl_ps.Config(**corpus, **options)
        data = pair_data.prepare(
            made,
            translation_data.load_corpus(made),
            CUT,
            tmp_path,
            {"min_count": MIN_COUNT},
            max_length=made.max_length,
            unmatched=made.unmatched,
            dictionary=None,
        )
        key = data.corpus.fingerprint
        found.append((data.identity, data.test, key, data.pairs))
    assert found[0] == found[1]
    manifest = json.loads((in_shards / "prepared.json").read_text())
    assert manifest["pairs"] == data.pairs
    both = europarl_ps.Config(train=files, prepared=str(in_shards))
    with pytest.raises(ValueError, match="Only one of --train, --prepared"):
        translation_data.load_corpus(both)


def test_repeated_it_does_nothing_and_other_flags_are_refused(
    files, in_shards, capsys
):
    before = os.stat(in_shards / "prepared.json").st_mtime_ns
    arguments = flags(files, in_shards, "--pairs_per_shard", "37")
    assert prepare.main(arguments) == 0
    assert os.stat(in_shards / "prepared.json").st_mtime_ns == before
    assert prepare.main([*arguments, "--max_length", "20"]) == 2
    assert "prepared with other flags" in capsys.readouterr().err


def test_other_settings_of_a_run_and_damage_are_named(in_shards, tmp_path):
    corpus, words, _ = read(in_shards)
    with pytest.raises(ValueError, match="with max_length 50, and this .* 20"):
        corpus.train.encode(words, CUT, max_length=20)
    with pytest.raises(ValueError, match="with min_count 2, .* for 1"):
        corpus.vocabularies(CUT, SIZES, {}, 1)
    lower = (CUT[0], Tokenizer("moses", "fr", lowercase=True))
    with pytest.raises(ValueError, match="tokenizer of the target"):
        corpus.train.encode(words, lower)
    path = sorted(in_shards.glob("train-00002-*"))[0]
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        with pytest.raises(ValueError, match=r"train-00002-of-.* is damaged"):
            corpus.train.encode(words, CUT)
    finally:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="has no prepared.json"):
        prepared_corpus.load(tmp_path)


@pytest.mark.long
def test_an_interrupted_preparation_goes_on(
    files, in_shards, tmp_path, monkeypatch
):
    calls = []
    encode = Preparation.encode

    def interrupted(self, split, number):
        calls.append((split, number))
        if len(calls) == 3:
            raise OSError("no space left")
        encode(self, split, number)

    monkeypatch.setattr(Preparation, "encode", interrupted)
    arguments = flags(files, tmp_path, "--pairs_per_shard", "37")
    assert prepare.main(arguments) == 2
    assert not list(tmp_path.glob("*.npy"))
    shards = tmp_path.glob("preparing-*/train-*.npy")
    written = {tmp_path / x.name: os.stat(x).st_mtime_ns for x in shards}
    assert len(written) == 2
    monkeypatch.undo()
    assert prepare.main(arguments) == 0
    assert all(os.stat(x).st_mtime_ns == at for x, at in written.items())
    # But for the time, the folder is the same whoever wrote it.
    manifests = [
        json.loads((folder / "prepared.json").read_text())
        for folder in (tmp_path, in_shards)
    ]
    assert manifests[0] == manifests[1]


@pytest.mark.parametrize(
    "field, value, place",
    [
        ("settings", [], "settings"),
        ("corpus", {"num_skipped": "3"}, "corpus.num_skipped"),
        ("texts", {"sizes": {"test": 3}}, "texts.sizes.test"),
        ("vocabularies", {"source": {"file": 1}}, "vocabularies.source.file"),
        ("splits", {"train": {"shards": {}}}, "splits.train.shards"),
    ],
)
def test_a_manifest_of_another_form_is_told(
    in_shards, tmp_path, field, value, place
):
    path = tmp_path / "prepared.json"
    manifest = checked_files.read_json(in_shards / path.name)
    path.write_text(json.dumps({**manifest, field: value}))
    message = f'--prepared: {path} is damaged ."{place}" must be'
    with pytest.raises(ValueError, match=message):
        prepared_corpus.load(tmp_path)
    del manifest[field]
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=f'it has no "{field}"'):
        prepared_corpus.load(tmp_path)


def test_duplicates_and_unlike_pairs_are_left_out(files, tmp_path, capsys):
    pytest.importorskip("apache_beam")
    arguments = flags(files, tmp_path, "--pairs_per_shard", "100")
    arguments += ["--remove_duplicates", "--max_ratio", "5"]
    arguments += ["--validation", *files, "--test", *files]
    assert prepare.main(arguments) == 0
    kept = []
    for pair in text_pairs.load(*[tuple(files)] * 3).train:
        short, long = sorted(map(len, pair))
        if long <= 5 * short and pair not in kept:
            kept.append(pair)
    _, words, train = read(tmp_path)
    expected_words, expected = one_machine(kept)
    assert [x.words for x in words] == [x.words for x in expected_words]
    assert_same(train, expected)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "train: 240 pairs read, 7 left out (1 blank, 3 duplicates, 3 of very "
        "different length), 233 left",
        "validation: 240 pairs read, 4 left out (1 blank, 3 too long), 236 "
        "left",
        "test: 240 pairs read, 1 left out (1 blank), 239 left",
    ]


TMX = """<tmx version="1.4"><header srclang="en"/><body>
{}</body></tmx>"""
TMX_UNIT = """<tu><tuv xml:lang="en"><seg>{}</seg></tuv>
<tuv xml:lang="fr-CA"><seg>{}</seg></tuv></tu>
"""
XLIFF = """<xliff version="1.2"><file source-language="en"
target-language="fr"><body>{}</body></file></xliff>"""
XLIFF_UNIT = """<trans-unit id="x"><source>{}</source><target>{}</target>
</trans-unit>
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "whole", "unit"),
    [("a.tmx", TMX, TMX_UNIT), ("a.XLF.gz", XLIFF, XLIFF_UNIT)],
    ids=["tmx", "xliff"],
)
def test_a_memory_is_prepared_as_two_files_are(
    files, tmp_path, capsys, name, whole, unit
):
    pytest.importorskip("apache_beam")
    texts = [text_pairs.read_lines(path) for path in files]
    units = (unit.format(*map(html.escape, pair)) for pair in zip(*texts))
    memory, folder = tmp_path / name, tmp_path / "prepared"
    damaged = unit.format("&#11;", "") * name.endswith(".tmx")
    written = whole.format("".join([*units, damaged])).encode()
    if name.endswith(".gz"):
        written = gzip.compress(written)
    memory.write_bytes(written)
    assert prepare.main(flags([str(memory)], folder)) == 0
    assert ("1 damaged)" in capsys.readouterr().out) == bool(damaged)
    plain = text_pairs.load(tuple(files))
    corpus, words, train = read(folder)
    assert list(corpus.test) == list(plain.test)
    expected_words, expected = one_machine(plain.train)
    assert [x.words for x in words] == [x.words for x in expected_words]
    assert_same(train, expected)


@pytest.mark.long
def test_one_vocabulary_for_both_sides_that_are_cut(files, tmp_path):
    pytest.importorskip("apache_beam")
    more = ["--vocabulary_size", "50", "--append_eos", "false"]
    more += ["--max_source_length", "6", "--max_target_length", "5"]
    assert prepare.main(flags(files, tmp_path, *more)) == 0
    pairs = text_pairs.load(tuple(files)).train
    counts = count_words(pairs, CUT, progress=False)
    words = Vocabulary.build(counts[0] + counts[1], 50, MIN_COUNT)
    options = dict(max_length=None, truncate=(6, 5), append_eos=False)
    corpus = prepared_corpus.load(tmp_path)
    (own,) = corpus.vocabularies(CUT, {"both": 50}, {}, MIN_COUNT)
    assert own.words == words.words
    assert_same(
        corpus.train.encode((own, own), CUT, **options),
        encoding.encode(
            pairs,
            words,
            words,
            source_tokenizer=CUT[0],
            target_tokenizer=CUT[1],
            **options,
        ),
    )


def test_errors_are_one_line(files, tmp_path, capsys):
    pytest.importorskip("apache_beam")
    arguments = flags(files[:1], tmp_path)
    assert prepare.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("prepare: --train takes two files")
    assert error.count("\n") == 1
    with pytest.raises(SystemExit, match="2"):
        prepare.main(["--trian", "a"])
    assert prepare.main(["--train", *files, "--output", ""]) == 2
    assert "--output: must not be empty." in capsys.readouterr().err
    memory = tmp_path / "a.tmx"
    memory.write_text(TMX.format(TMX_UNIT.format("a", "b")))
    spanish = ["--target_language", "es"]
    arguments = flags([str(memory)], tmp_path / "prepared", *spanish)
    assert prepare.main(arguments) == 2
    assert capsys.readouterr().err == (
        f"prepare: {memory}: no unit in both en and es. There are: en, fr-ca.\n"
    )


def test_without_beam_it_says_what_to_install(files, tmp_path, capsys, without):
    without("apache_beam")
    assert prepare.main(flags(files, tmp_path)) == 2
    assert 'pip install -e ".[beam]"' in capsys.readouterr().err
