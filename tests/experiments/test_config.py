import ast
import dataclasses
import importlib
import re
import typing
from pathlib import Path

import pytest

import tfcopy
from tfcopy.decoding.options import MOST_BEAMS, SearchOptions
from tfcopy.experiments import command_line, config
from tfcopy.experiments.config import RunConfig, TrainingConfig
from tfcopy.recipes import europarl_ps
from tfcopy.serving import model_card
from tfcopy.tokens import HEADS

ROOT = Path(tfcopy.__file__).parent
RECIPES = sorted(path.stem for path in (ROOT / "recipes").glob("[a-z]*.py"))


@config.configuration(
    "my_recipe", baselines=["plain"], learning_rate=0.5, batch_size=4
)
class Config(TrainingConfig, RunConfig):
    """Flags of two groups and of its own."""

    units: int = config.model(8, "Size of the state.")
    baseline_units: int | None = config.model(None, "The baseline's --units.")
    systems: list[str] = config.training(
        ["a"], "Systems to train.", fixed=False
    )


def test_a_recipe_changes_defaults_and_keeps_help():
    made = Config()
    assert (made.learning_rate, made.batch_size) == (0.5, 4)
    assert TrainingConfig().batch_size == 32
    fields = {field.name: field for field in dataclasses.fields(Config)}
    group = {field.name: field for field in dataclasses.fields(TrainingConfig)}
    assert fields["batch_size"].metadata == group["batch_size"].metadata
    assert Config.recipe == "my_recipe"
    assert made.log_dir == "tensorboard_logs/my_recipe"
    assert made.savedmodel_dir == "savedmodels/my_recipe"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_claims_something_about_systems_of_its_demo(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    assert recipe.Config.recipe == name
    trained = recipe.PRESETS.get("demo", {}).get("systems")
    trained = trained or recipe.Config().systems
    for claim in recipe.Config.claims:
        better, *_, worse = claim.split()
        assert {better, worse} <= {*trained} and better != worse
    assert recipe.Config.claims


def test_each_config_has_lists_of_its_own():
    Config().systems.append("b")
    assert Config().systems == ["a"]


def test_a_search_takes_as_many_beams_as_the_flag():
    _, check = typing.get_args(config.Beams)
    for beams in (1, MOST_BEAMS):
        assert SearchOptions(num_beams=beams) and check.holds(beams)
    for beams in (0, MOST_BEAMS + 1):
        assert not check.holds(beams)


def test_a_default_of_no_flag_is_refused():
    with pytest.raises(TypeError, match="inherits no flag 'unitz'"):

        @config.configuration("my_recipe", unitz=3)
        class Wrong(RunConfig):
            pass


def test_what_is_made_from_flags_takes_those_that_it_has_by_name():
    def make(units, *, learning_rate=1.0, size=2, **others):
        return units, learning_rate, size, others

    made = config.from_flags(make, Config(), size=3, bias=1)
    assert made == (8, 0.5, 3, {"bias": 1})
    made = config.from_flags(make, Config(), learning_rate=0.1)
    assert made == (8, 0.1, 2, {})
    with pytest.raises(TypeError, match="rows"):
        config.from_flags(RunConfig, Config(), rows=3)


def test_identity_holds_what_changes_the_model_or_its_training():
    fixed = config.identity(Config(schedule="constant"))
    assert fixed["--units"] == 8 and fixed["--learning_rate"] == 0.5
    assert fixed["--seed"] == 0
    others = ("updates", "eval_every", "patience", "systems", "run", "log_dir")
    assert not {f"--{name}" for name in others} & set(fixed)
    # A rate that falls to zero at the last update depends on its number.
    for schedule in ("linear", "cosine"):
        fixed = config.identity(Config(schedule=schedule))
        assert fixed["--updates"] == 1_000
    assert "--updates" not in config.identity(Config(schedule="inverse_sqrt"))


def test_the_baseline_has_flags_of_its_own():
    made = Config(baseline_units=3)
    assert config.config_for_system(made, "plain").units == 3
    assert config.config_for_system(made, "other").units == 8
    assert config.config_for_system(Config(), "plain").units == 8


@pytest.mark.parametrize(
    ("recipe", "flags", "expected"),
    [
        ("europarl_ps", {}, "demo"),
        ("europarl_ps", {"preset": "paper", "download": True}, "paper"),
        ("europarl_ps", {"train": ["x/my.tok.en.gz", "y.fr"]}, "my.tok"),
        ("europarl_ps", {"train": ["gs://b/my.en", "gs://b/my.fr"]}, "my"),
        ("europarl_ps", {"train": ["demo.en", "demo.fr"]}, "demo_demo"),
        ("europarl_ps", {"train": ["/a b\n[]/../-\udcff\x1b.en", "b"]}, "data"),
        (
            "europarl_ps",
            {"tfds": "wmt14_translate/fr-en:1.0"},
            "wmt14_translate-fr-en-1.0",
        ),
        ("europarl_ps", {"data_dir": "europarl/"}, "europarl"),
        ("europarl_ps", {"prepared": "x/y.z/"}, "y.z"),
        ("pydocs_ps", {"catalogs": "locale/es"}, "es"),
        ("pydocs_ps", {"catalogs": "l/es", "preset": "full"}, "full_es"),
        (
            "cnn_dailymail_pg",
            {"preset": "paper", "tfds": "cnn_dailymail"},
            "paper",
        ),
        (
            "cnn_dailymail_pg",
            {"preset": "paper", "train": ["a.src", "a.tgt"]},
            "paper_a",
        ),
        ("lcsts_copynet", {"preset": "paper", "data_dir": "LCSTS"}, "paper"),
        ("lm1b_definitions", {"corpus": "files", "data": "s.txt"}, "s"),
        (
            "lm1b_definitions",
            {"preset": "brown", "corpus": "brown", "data": "b.zip"},
            "brown",
        ),
        ("snli_definitions", {"corpus": "snli"}, "snli"),
    ],
)
def test_a_run_is_named_after_its_data(recipe, flags, expected):
    recipe = importlib.import_module(f"tfcopy.recipes.{recipe}")
    assert config.run_name(recipe.Config(**flags)) == expected


@pytest.mark.parametrize(
    ("corpus", "value", "name"),
    [
        ("file", "x/talks.v1.txt.gz", "talks.v1"),
        ("folder", "x/talks.v1/", "talks.v1"),
        ("dataset", "talks/en:1", "talks-en-1"),
        ("place", "x/talks", "talks"),
    ],
)
def test_a_new_flag_of_a_corpus_is_known_everywhere(
    capsys, corpus, value, name
):
    presets = {"demo": {"units": 9}, "paper": {}}

    @config.configuration("my_recipe", presets=presets)
    class Own(Config):
        talks: str | None = config.corpus_file("Talks to read.", corpus)

    def parse(*flags):
        return command_line.parse(Own, flags)

    with pytest.raises(SystemExit):
        parse("--help")
    assert "Talks to read." in capsys.readouterr().out
    assert parse().units == 9 and config.run_name(parse()) == "demo"
    made = parse("--talks", value)
    assert made.units == 8, "the preset is for its own corpus"
    assert config.run_name(made) == name
    shown = model_card.card(
        {
            **dict.fromkeys(("recipe", "tensorflow", "keras", "created"), "x"),
            "flags": config.get_changed(made),
            "origin": config.origin(made),
        }
    )
    assert f"Trained on: `--talks {value}`\n" in shown


@pytest.mark.parametrize("name", RECIPES)
def test_a_card_names_each_file_that_a_model_is_made_from(name):
    """But those that only score it, and what a preset reads by itself."""
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    for field in dataclasses.fields(recipe.Config):
        if field.metadata.get("is_file"):
            found = config.origin(recipe.Config(**{field.name: "x"}))
            (role,) = (x for x in found if x != "of_preset")
            scores = re.match("test", field.name)
            assert role == (scores[0] if scores else "input")
            assert found[role] == {field.name: "x"}
    asides = "devices run log_dir savedmodel_dir license fresh".split()
    found = config.origin(recipe.Config(**dict.fromkeys(asides, "x")))
    assert found == {"of_preset": None, "aside": dict.fromkeys(asides, "x")}
    for preset, flags in recipe.PRESETS.items():
        found = config.origin(recipe.Config(preset=preset, **flags))
        is_papers = preset == "paper" and name in ("europarl_ps", "wmt15_pag")
        assert (found["of_preset"] is not None) == is_papers


@pytest.mark.parametrize("name", RECIPES)
def test_minutes_are_told_of_what_was_measured_alone(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    for preset, minutes in recipe.Config.minutes.items():
        flags = {"preset": preset, **recipe.PRESETS.get(preset, {})}
        made = recipe.Config(**flags, log_dir="elsewhere", seed=7)
        assert config.estimate_minutes(made) == minutes
        assert (
            config.estimate_minutes(
                dataclasses.replace(made, updates=made.updates + 1)
            )
            is None
        )


PARTS = {"head", "encoder", "decoder", "pointing", "backbone"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_system_is_called_after_its_parts(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    kinds = typing.get_type_hints(recipe.Config)
    systems = typing.get_args(*typing.get_args(kinds["systems"]))
    plain = recipe.Config(systems=list(systems))
    flags = {x.name for x in dataclasses.fields(plain)}
    parts = {
        x.name
        for x in dataclasses.fields(plain)
        if x.metadata.get("is_part") is not None
    }
    assert parts & PARTS == flags & PARTS
    for system in systems:
        assert config.name_of(plain, system) == system
        found, last = {system: None}, plain
        for flag in sorted(parts):
            values = typing.get_args(kinds[flag]) or (True,)
            if flag == "head":
                values = (*HEADS, "my.heads:Mine")
            elif type(None) in values:
                values = ("bart_base_en", "hf://me/my-bart", "presets/t5.v2/")
            is_its = flag != "head" or system not in plain.plain
            for value in {*values} - {getattr(plain, flag)}:
                made = dataclasses.replace(plain, **{flag: value})
                called = config.name_of(made, system)
                assert re.fullmatch(r"[\w.-]+", called)
                if system in plain.untrained or not is_its:
                    assert called == system
                    continue
                assert called not in found
                found[called] = value
                # Baselines have their own flags by any name.
                assert config.config_for_system(
                    made, called
                ) == config.config_for_system(made, system)
                last = dataclasses.replace(last, **{flag: value})
        if "head" in parts and system not in plain.plain:
            assert config.head_for_kind(last, system) == last.head


def test_the_system_that_is_named_after_its_head_tells_its_other_parts():
    made = europarl_ps.Config(head="copynet", decoder="transformer")
    name = config.name_of(made, "pointer_softmax")
    assert name == "copynet_transformer_decoder"
    assert config.name_of(made, "nmt") == "nmt_transformer_decoder"


# Flags that may change when a run is resumed: they do not change what a model
# computes. Of files the content is part of the identity, not the name.
FILES = """prepared train validation test train_file validation_file test_file
    tfds data_dir download bin_dir data dictionary wordnet vectors vocabulary
    source_vocabulary target_vocabulary source_vectors target_vectors
    catalogs sentencepiece_model train_tags validation_tags test_tags
    guided_alignment"""
HOW_LONG = """systems datasets tokenizations updates eval_every save_every
    patience epochs
    coverage_updates anneal_epoch"""
# The data of the identity are what was drawn, or chosen.
DRAWN = "demo hold_out names"
TESTS = "num_test test_pairs bleu_tokenize"
SEARCH = """num_beams length_penalty search_candidates merge
    max_summary_length min_summary_length max_answer_length no_repeat_ngram
    forbid_unk replace_unk coverage_penalty refill_beams output_dictionary
    decode_initial_attention unfinished_compete same_in_every_batch
    shortlist must_copy glossary"""
# Where it is computed changes rounding and what dropout draws.
WHERE = "preset run license log_dir savedmodel_dir fresh devices xla litert"
HARMLESS = set(" ".join((FILES, HOW_LONG, DRAWN, TESTS, SEARCH, WHERE)).split())
# Most words of an answer; of some recipes of what is trained on, too.
CUT_IN_TRAINING = ("cnn_dailymail_pg", "gigaword_ps", "lcsts_copynet")
CUT_IN_TRAINING += ("wmt15_pag",)


@pytest.mark.parametrize("name", RECIPES)
def test_each_flag_is_part_of_the_identity_or_harmless(name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    made = recipe.Config(schedule="constant")
    own = [x.name for x in dataclasses.fields(made) if "baseline_" in x.name]
    made = dataclasses.replace(made, **dict.fromkeys(own))
    harmless = set(HARMLESS)
    if name not in CUT_IN_TRAINING:
        harmless.add("max_target_length")
    for field in dataclasses.fields(made):
        other = dataclasses.replace(made, **{field.name: "other"})
        # Flags `baseline_X` are the X of baselines, and of these alone.
        flag = field.name.removeprefix("baseline_")
        expected = set() if flag in harmless else {f"--{flag}"}
        if flag == "schedule":
            expected.add("--updates")
        for system in ("another", *made.baselines):
            before, after = (
                config.identity(config.config_for_system(x, system))
                for x in (made, other)
            )
            changed = {x for x in after if after[x] != before.get(x)}
            applies = flag == field.name or system in made.baselines
            assert changed == (expected if applies else set()), field.name


# Those whose papers' code lets what is cut off compete.
COMPETING = {
    *("copy_rules_copynet", "dialogue_copynet", "lcsts_copynet"),
    *("eulerian_pag", "wmt15_pag"),
}


def test_answers_that_are_cut_off_are_ranked_as_in_the_papers_code():
    found = set()
    for name in RECIPES:
        recipe = importlib.import_module(f"tfcopy.recipes.{name}")
        for preset in ({}, recipe.PRESETS.get("paper", {})):
            made = dataclasses.asdict(recipe.Config(**preset))
            if made.get("unfinished_compete"):
                found.add(name)
    assert found == COMPETING


def test_no_config_is_read_by_a_name_that_may_be_missing():
    """`hasattr` and `getattr` with a default hide what a helper needs."""
    for path in sorted((ROOT / "experiments").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "hasattr" or (
                    node.func.id == "getattr" and len(node.args) > 2
                ):
                    read = ast.unparse(node.args[0])
                    assert "config" not in read, f"{path}: {read}"


def test_paths_that_exist_are_stored_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.en").touch()
    (tmp_path / "disk").mkdir()
    names = ["a.en", "nowhere.fr"]
    made = europarl_ps.Config(
        train=names, catalogs="disk", init_from="disk", run="disk"
    )
    flags = config.locate_changed(made)
    assert flags["train"] == [str(tmp_path / "a.en"), "nowhere.fr"]
    assert flags["catalogs"] == flags["init_from"] == str(tmp_path / "disk")
    assert flags["run"] == "disk"


@config.configuration("my_recipe")
class OwnConfig(europarl_ps.Config):
    """A recipe with a corpus of its own."""

    talks: str | None = config.corpus_file("Talks to read.", "folder")


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ({}, None),
        ({"talks": "a"}, None),
        ({"tfds": "a", "data_dir": "b"}, None),
        ({"data_dir": "b", "download": True}, None),
        ({"talks": "a", "train": ["b", "c"]}, "--train, --talks."),
        ({"talks": "a", "data_dir": "b"}, "--talks, --data_dir."),
        ({"talks": "a", "tfds": "b"}, "--talks, --tfds."),
        ({"prepared": "a", "catalogs": "b"}, "--prepared, --catalogs."),
        ({"tfds": "a", "download": True, "train": ["b"]}, "--train, --tfds, "),
    ],
)
def test_one_flag_alone_names_the_corpus(flags, refused):
    made = OwnConfig(**flags)
    if refused is None:
        config.check_corpus(made)
        return
    with pytest.raises(ValueError, match="^Only one of --train,") as error:
        config.check_corpus(made)
    assert "--talks, --tfds, --data_dir and --download can" in str(error.value)
    assert f"Received: {refused}" in str(error.value)
