"""Recipes with a pretrained network of KerasHub in the place of their own."""

import functools
import importlib

import pytest

import tfcopy
from tests.data.generated import demo_catalog_files
from tests.data.text.hub_tokenizers import TOKENIZERS
from tests.models.backbones import DECODERS, KINDS, QUIET, make_backbone
from tests.recipes import starting
from tests.recipes.starting import results
from tests.serving import checkpoints
from tfcopy.experiments.pairs import pretrained
from tfcopy.serving import translate_po

pytestmark = QUIET

TINY = """--updates 4 --eval_every 2 --batch_size 8 --num_beams 2""".split()
TEXT = "The session is open."


def make_preset(kind, folder):
    """A small random network and its preprocessor, as published."""
    import keras_hub

    if kind == "marian":
        folder.mkdir()
        checkpoints.write_marian(folder, max_position_embeddings=64)
        return str(folder)
    if kind == "m2m_100":
        folder.mkdir()
        checkpoints.write_m2m_100(folder)
        return str(folder)
    tokenizer, (name, _) = TOKENIZERS[kind](), KINDS[kind]
    name += "CausalLM" if kind in DECODERS else "Seq2SeqLM"
    preprocessor = getattr(keras_hub.models, f"{name}Preprocessor")
    task = getattr(keras_hub.models, name)
    backbone = make_backbone(kind, vocabulary_size=tokenizer.vocabulary_size())
    preprocessor = preprocessor(tokenizer)
    task(backbone=backbone, preprocessor=preprocessor).save_to_preset(
        str(folder)
    )
    return str(folder)


def start(recipe, folder, *arguments):
    recipe = importlib.import_module(f"tfcopy.recipes.{recipe}")
    return starting.start(recipe, TINY, folder, *arguments)


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A function from a kind to its preset's folder."""
    folder = tmp_path_factory.mktemp("presets")
    return functools.cache(lambda kind: make_preset(kind, folder / kind))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Files of a few lines, with markup in them."""
    folder = tmp_path_factory.mktemp("pairs")
    lines = [f"The session of `{{p{i}}}` is open: %s." for i in range(24)]
    for name in ("a.en", "a.es"):
        (folder / name).write_text("\n".join(lines) + "\n")
    return [str(folder / "a.en"), str(folder / "a.es")]


@pytest.mark.filterwarnings("ignore:.*pairs for")
@pytest.mark.parametrize(
    "recipe, kind, more",
    [
        pytest.param(
            *("europarl_ps", "t5"),
            ["--freeze", "encoder", "--systems", "pointer_softmax"],
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("cnn_dailymail_pg", "bart", ["--max_summary_length", "9"]),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("gigaword_ps", "t5", ["--lora_rank", "2"]), marks=pytest.mark.slow
        ),
    ],
)
def test_a_recipe_trains_and_exports_it(
    recipe, kind, more, preset, pairs, tmp_path
):
    arguments = ["--train", *pairs, "--backbone", preset(kind), *more]
    assert start(recipe, tmp_path, *arguments) == 0
    systems = results(tmp_path)["systems"]
    pointing = [x for x in systems if "pointer" in x]
    assert pointing and all(systems[x]["updates"] == 4 for x in pointing)
    served = tfcopy.load(str(tmp_path / "served"))
    assert isinstance(served.translate([TEXT])[0].text, str)


@pytest.mark.parametrize(
    "kind, unit",
    [
        pytest.param("bart", "pieces", marks=pytest.mark.slow),
        pytest.param("bart", "token", marks=pytest.mark.slow),
        pytest.param("t5", "pieces", marks=pytest.mark.slow),
        pytest.param("t5", "token", marks=pytest.mark.slow),
        pytest.param("t5gemma", "token", marks=pytest.mark.slow),
        pytest.param("gpt2", "pieces", marks=pytest.mark.slow),
        pytest.param("marian", "pieces", marks=pytest.mark.long),
    ],
)
def test_catalogues_keep_their_spans(kind, unit, preset, pairs, tmp_path):
    arguments = ["--train", *pairs, "--backbone", preset(kind)]
    arguments += ["--max_target_length", "50", "--systems", "pointer_softmax"]
    arguments += ["--protect_as", unit]
    assert start("pydocs_ps", tmp_path, *arguments) == 0
    ((name, scores),) = results(tmp_path)["systems"].items()
    assert name.startswith("pointer_generator_") and name.endswith("_backbone")
    assert scores["must_copy"]["spans_kept"] == 100
    catalogs = tmp_path / "catalogs"
    demo_catalog_files.write_catalogs(catalogs, 12)
    assert translate_po.main([str(tmp_path / "served"), str(catalogs)]) == 0


@pytest.mark.parametrize(
    "flags, message",
    [
        ("--backbone {there}/nothing", "--backbone: cannot read {there}/noth"),
        ("--backbone {bart} --units 9", "--units describes the recipe's own"),
        ("--backbone {bart} --pieces 9", "--pieces describes the recipe's own"),
        ("--backbone {bart} --lora_rank 2 --freeze all", "--lora_rank freezes"),
        ("--freeze all", "--freeze needs --backbone"),
        ("--lora_rank 2", "--lora_rank needs --backbone"),
    ],
)
def test_wrong_flags_are_named(flags, message, preset, tmp_path, capfd):
    places = {"there": tmp_path, "bart": preset("bart")}
    assert start("pydocs_ps", tmp_path, *flags.format(**places).split()) != 0
    assert f": {message.format(**places)}" in capfd.readouterr().err


def test_a_networks_own_defaults_win_over_the_presets(preset):
    from tfcopy.experiments import command_line
    from tfcopy.recipes import europarl_ps

    given = ["--backbone", preset("bart"), "--updates", "50"]
    config = command_line.parse(europarl_ps.Config, given)
    chosen = config.learning_rate, config.head, config.warmup, config.updates
    assert chosen == (1e-4, "pointer_generator", 5, 50)
    config = command_line.parse(
        europarl_ps.Config,
        [*given, "--learning_rate", "3e-3", "--head", "copynet"],
    )
    assert (config.learning_rate, config.head) == (3e-3, "copynet")


def make_model(path, folder, **flags):
    from tfcopy.recipes import europarl_ps

    config = europarl_ps.Config(backbone=path, **flags)
    pieces = pretrained.pieces(config.backbone, str(folder))
    return pretrained.make_model(config, "pointer_generator", pieces)


@pytest.mark.long
def test_flags_say_what_is_trained_with_which_dropout(preset, tmp_path):
    def trained(**flags):
        model = make_model(preset("bart"), tmp_path, dropout=0.25, **flags)
        assert model.dropout == 0.25
        there = {id(x) for x in model.cell.parts.backbone.weights}
        own = [x for x in model.trainable_weights if id(x) in there]
        new = [x for x in model.trainable_weights if id(x) not in there]
        assert new
        return model.cell.parts.backbone, [x.path for x in own]

    backbone, paths = trained()
    assert len(paths) == len(backbone.weights)
    _, paths = trained(freeze="all")
    assert not paths
    _, paths = trained(freeze="encoder")
    assert paths and not any("transformer_encoder" in x for x in paths)
    assert any("transformer_decoder" in x for x in paths)
    _, paths = trained(lora_rank=2)
    # KerasHub trains the biases of the same layers, too.
    assert {x.rpartition("/")[2] for x in paths} == {
        *("bias", "lora_kernel_a", "lora_kernel_b")
    }


def test_a_decoder_alone_has_no_encoder_to_freeze(preset, tmp_path):
    with pytest.raises(ValueError, match="--freeze encoder: .* decoder alone"):
        make_model(preset("gpt2"), tmp_path, freeze="encoder")


def test_a_translator_of_many_languages_is_refused(preset, tmp_path):
    with pytest.raises(ValueError, match="--backbone: .* several languages"):
        pretrained.pieces(preset("m2m_100"), tmp_path)


@pytest.mark.long
def test_a_frozen_encoder_keeps_the_table_of_its_own(preset, tmp_path):
    model = make_model(preset("t5gemma"), tmp_path, freeze="encoder")
    read = [*model.source_embedding.weights, *model.encoder.weights]
    trained = {id(x) for x in model.trainable_weights}
    assert read and not trained.intersection(map(id, read))
    assert trained.issuperset(map(id, model.target_embedding.weights))
