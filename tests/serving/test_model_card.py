"""Model cards: what they tell of an export, and of one that tells little."""

import json
import os
import re

from hypothesis import example, given
from hypothesis import strategies as st

from tfcopy.serving import model_card

LITTLE = {"tensorflow": "2.21", "keras": "3.15", "created": "2026-11-23"}
MUCH = {
    **LITTLE,
    "recipe": "europarl_ps",
    "system": "pointer_softmax",
    "source_language": "en",
    "target_language": "fr",
    "source_vocabulary_size": 10_000,
    "target_vocabulary_size": 9_000,
    "max_source_length": 200,
    "search": {"num_beams": 5, "merge": "max", "forbid_unk": False},
    "parameters": 15_567_378,
    "flags": {
        "train": ["my corpus.en", "b.fr"],
        "test": ["t.en", "t.fr"],
        "dropout": 0.2,
        "tied_embeddings": True,
        "log_dir": "logs",
        "license": "CC-BY-4.0",
    },
    "origin": {
        "of_preset": None,
        "corpus": {"train": ["my corpus.en", "b.fr"]},
        "input": {"backbone": "t5_small_multi"},
        "test": {"test": ["t.en", "t.fr"]},
        "aside": {"log_dir": "logs", "license": "CC-BY-4.0"},
    },
    "scores": {
        "bleu": 54.83,
        "bleu_interval": [53.4, 56.2],
        "updates": 2000,
        "history": [[1, 2]],
    },
}


def test_all_that_is_known_is_told():
    card = model_card.card(json.loads(json.dumps(MUCH)))
    for expected in (
        "# europarl_ps: pointer_softmax\n",
        "Translates text from en to fr.",
        'tfcopy.load("savedmodels/europarl_ps")',
        "by TensorFlow 2.21 and Keras 3.15 on\n2026-11-23.",
        "Trained on: `--train 'my corpus.en' b.fr`",
        "Made with: `--backbone t5_small_multi`\n",
        "Parameters: 15,567,378",
        "    python -m tfcopy.recipes.europarl_ps --train 'my corpus.en' b.fr "
        "--test t.en t.fr --dropout 0.2 --tied_embeddings true\n",
        "## Scores on the test set (t.en t.fr)",
        "| bleu | 54.83 (53.4 to 56.2) |",
        "num_beams 5, merge max, forbid_unk false.",
        "knows 10,000 words of sources and generates 9,000;",
        "Texts are truncated to 200 words.",
        "## Licence\n\nCC-BY-4.0\n",
    ):
        assert expected in card
    assert "history" not in card and "logs" not in card


def test_odd_intervals_are_no_hindrance():
    odd = {"a_interval": 5, "b_interval": ["x", None], "interval": [1]}
    card = model_card.card({**MUCH, "scores": {"bleu": 54.83, **odd}})
    assert "| bleu | 54.83 |\n" in card


def test_what_is_not_known_is_left_out():
    config = {**LITTLE, "recipe": "mine", "task": "entailment", "texts": ["a"]}
    card = model_card.card(config)
    assert "# mine\n\nTask: entailment; reads a." in card
    assert "## Scores" not in card and "## Origin" not in card
    assert "Not stated (`--license`)." in card
    generated = model_card.card(
        {**MUCH, "origin": {"of_preset": None}, "ensemble": ["a", "b"]}
    )
    assert "Trained on: Texts that the recipe generates." in generated
    assert "An ensemble of 2 runs." in generated
    named = model_card.card({**MUCH, "origin": {"of_preset": "Europarl v7"}})
    assert "Trained on: Europarl v7\n" in named


def test_markup_and_commands_stay_what_they_are():
    flags = {
        "train": ["a`b c", "-x\ny"],
        "systems": [],
        "license": "# <b>|*_x_",
    }
    scores = {"bleu": 5.0, "bleu_signature": "nrefs:1|bs:9", "interval": [4, 6]}
    card = model_card.card(
        {
            **MUCH,
            "flags": flags,
            "origin": {
                "of_preset": None,
                "corpus": {"train": flags["train"]},
                "aside": {"license": flags["license"]},
            },
            "scores": scores,
            "pieces": {"source": True},
        },
        "sm: $x",
    )
    for expected in (
        "# europarl_ps: pointer_softmax\n",
        "    tfcopy ask 'savedmodels/sm: $x'  ",
        'tfcopy.load("savedmodels/sm: $x")',
        "Trained on: `` --train 'a`b c' $'-x\\U0000000ay' ``\n",
        "tfcopy.recipes.europarl_ps --train 'a`b c' $'-x\\U0000000ay' "
        "--systems '[]'\n",
        "| bleu | 5 |\n| bleu_signature | nrefs:1\\|bs:9 |\n"
        "| interval of 95 % | 4 to 6 |\n\n## Search",
        "Texts are truncated to 200 subwords.",
        "## Licence\n\n\\# \\<b\\>\\|\\*\\_x\\_\n",
    ):
        assert expected in card, card
    assert "in brackets" not in card


typed = st.text(st.characters(), max_size=9) | st.text("a #`|*_<>-.1\n\\[]'$")


@given(st.lists(typed, min_size=7, max_size=7))
@example(["\ud800"] * 7)
def test_what_is_typed_changes_no_other_line(texts):
    def card(texts):
        first, second, licence, file, test, system, name = texts
        config = {
            **MUCH,
            "source_language": first,
            "target_language": second,
            "system": system,
            "flags": {"license": licence, "train": [file], "test": [test]},
            "origin": {
                "of_preset": second,
                "corpus": {"train": [file]},
                "input": {"vectors": test},
                "test": {"test": [test]},
            },
            "scores": {first: 1.0, "bleu_signature": second},
        }
        return model_card.card(config, name).split("\n")

    def kind(line):
        """Returns the beginning of a line, and the number of its cells."""
        return re.match("(#* )?(    )?", line)[0], len(
            re.findall(r"(?<!\\)(?:\\\\)*\|", line)
        ) if line.startswith("|") else 0

    # Where nothing is typed, a sentence says so.
    texts = [text.strip() and f"{text} x" or "x" for text in texts]
    found, plain = card(texts), card(["x"] * 7)
    assert list(map(kind, found)) == list(map(kind, plain))
    "".join(found).encode()


def test_an_export_has_its_card(random_export):
    with open(os.path.join(random_export, "README.md")) as file:
        assert file.read().startswith("# demo\n\n")
