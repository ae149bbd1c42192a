"""The whole command on a few sentences, and what can be wrong in it."""

import types

import pytest

from tests.recipes import exporting, starting
from tfcopy.experiments.config import config_for_system
from tfcopy.experiments.pairs import pair_data, planning, translation_data
from tfcopy.recipes import wmt15_pag

pytest.importorskip("sentencepiece")

TINY = """--units 6 --embedding_dim 4 --summary_units 3 --plan_steps 3
--baseline_units 7 --bpe_merges 20 --updates 4 --eval_every 2 --batch_size 2
--accumulate 2 --max_target_length 24 --num_beams 2""".split()

PAIRS = {
    "en": ["a red house", "the red Łódź", "a house by the sea", "the sea"] * 3,
    "de": ["ein rotes Haus", "das rote Łódź", "ein Haus am Meer", "Meer"] * 3,
}


def start(folder, *arguments):
    for language, lines in PAIRS.items():
        text = "\n".join(lines) + "\n"
        (folder / f"text.{language}").write_text(text, encoding="utf-8")
    pair = f"[{folder}/text.en, {folder}/text.de]"
    corpus = ["--target_language", "de"]
    corpus += [f"--{name}={pair}" for name in ("train", "validation", "test")]
    return starting.start(wmt15_pag, [*TINY, *corpus], folder, *arguments)


finished = starting.finished(start, "--systems", "[pag_ln]")


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "pairs")
    assert found["paper"] == {}  # It is of other data.
    scores = found["systems"]["pag_ln"]
    expected = """parameters updates perplexity bleu chrf error_rate
        seconds_training seconds_translating target_tokens_per_second"""
    assert set(expected.split()) <= set(scores)
    assert scores["history"]["updates"] == [2, 4]
    for name in ("plans.png", "dev_nll.png"):
        assert (finished / "logs" / "demo" / name).exists()


@pytest.mark.long
def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished)


def test_pieces_are_learned_and_characters_are_said(tmp_path):
    pair = (str(tmp_path / "text.en"), str(tmp_path / "text.de"))
    for path, lines in zip(pair, PAIRS.values()):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    config = wmt15_pag.Config(
        train=list(pair), bpe_merges=20, batch_size=1, target_language="de"
    )
    data = wmt15_pag.prepare(config, str(tmp_path / "data"))
    source, target = data.vocabularies
    assert {"▁a", "▁sea", "▁house"} <= set(source.words)
    assert {"▁", "Ł", "H"} <= set(target.words)
    assert all(len(word) == 1 for word in target.words[4:])


@pytest.mark.parametrize(
    ("system", "sizes"),
    [("baseline_ln", (512, 1024, 512, 1e-4, 1.0)), ("rpag", (600, 600, None))],
)
def test_the_baseline_has_sizes_of_its_own(system, sizes):
    config = wmt15_pag.Config(**wmt15_pag.PRESETS["paper"])
    own = config_for_system(config, system)
    found = own.embedding_dim, own.units, own.encoder_units
    found += own.learning_rate, own.clip_norm
    assert found == (*sizes, 3e-4, 5.0)[:5]


@pytest.mark.parametrize("name", ["baseline", "baseline_ln", "pag", "rpag_ln"])
def test_only_planners_have_plans_to_measure(monkeypatch, name):
    asked = {}

    def train(system, data, **options):
        asked.update(options)
        return {"updates": 4}

    monkeypatch.setattr(planning.copynet_systems, "train", train)
    system = types.SimpleNamespace(name=name, config=wmt15_pag.Config())
    assert planning.train(system, None) == {"updates": 4}
    assert set(asked) == ({"metrics", "penalty"} if "pag" in name else set())


@pytest.mark.parametrize("language", ["de", "cs", "fi"])
def test_the_papers_corpora_are_those_of_tfds(monkeypatch, language):
    asked = []

    def load_corpus(config, **options):
        asked.append(config)

    def nothing(*_, **__):
        return None

    monkeypatch.setattr(translation_data, "load_corpus", load_corpus)
    monkeypatch.setattr(wmt15_pag, "source_tokenizer", nothing)
    monkeypatch.setattr(pair_data, "prepare", nothing)
    options = {**wmt15_pag.PRESETS["paper"], "target_language": language}
    wmt15_pag.prepare(wmt15_pag.Config(preset="paper", **options), "folder")
    assert asked[0].tfds == f"wmt15_translate/{language}-en"
    assert asked[0].source_language == "en"
