"""Flags that a recipe refuses, by name and before it trains.

Each stands in one recipe, although many inherit it. `tests/experiments` has
those of all recipes: wrong types, files that are not there, several corpora.
"""

import functools
import importlib
import pathlib

import pytest

from tests.recipes import starting

# Of the module of each recipe's tests, whose `start` may have a first argument.
REFUSED = {
    "cnn_dailymail_pg": [
        ("--min_summary_length 6", "--min_summary_length must be below"),
        (
            "--coverage_updates null --coverage_start_step 4",
            "--coverage_start_step must be below",
        ),
        ("--bin_dir missing", "missing"),
        ("--train [a.csv] --source_column a", "A table needs --target_column"),
    ],
    "copy_rules_copynet": [
        ("--instances 3", "--instances must be even: .* Received: 3")
    ],
    "definition_recipes/lm": [
        ("--corpus files", "--data must name"),
        ("--corpus files --data none.txt", "none.txt"),
    ],
    "definition_recipes/nli": [
        ("--corpus files", "--train_file must be given"),
        ("--batch_tokens 2", "--batch_tokens must be at least"),
    ],
    "definition_recipes/qa": [
        ("--corpus files", "--train_file must be given"),
        ("--updates null", "--updates or --epochs must be given"),
        ("--anneal_epoch 2", "--anneal_epoch needs --schedule constant"),
    ],
    "dialogue_copynet": [
        ("--datasets []", "--datasets must name DS-I, DS-II or both"),
        ("--test [a,b]", "--test needs --train"),
    ],
    "eulerian_pag": [
        ("--num_nodes 2", "--num_nodes must be 3 or more"),
        ("--num_distractors 1", "--num_distractors must be 3 or more"),
    ],
    "europarl_ps": [
        ("--train [/no/a,/no/b]", "--train: cannot read /no/a"),
        ("--train [a.en]", r"--train takes two files.* \['a.en'\]"),
        ("--systems []", "--systems must name some of nmt, pointer_softmax"),
        ("--log_dir /proc/x", "--log_dir: cannot write to /proc/x/demo"),
        ("--savedmodel_dir /proc/x", "--savedmodel_dir: .* /proc/x"),
        ("--train [a,b] --tfds x", "Only one of --train, --prepared, --cat"),
        ("--candidates 4", "--candidates must be above 4, the number of spec"),
        ("--target_vocabulary_size 4", "vocabulary_size must be above 4, the"),
        ("--validation [a,b]", "--validation needs --train"),
        ("--target_language de", "--target_language de"),
        ("--guided_alignment links", "--guided_alignment needs --train"),
        ("--tfds no_such/x", "TFDS has no dataset 'no_such/x'"),
        ("--preset paper --data_dir /no", "--data_dir: cannot read /no"),
        ("--preset paper --data_dir /bin", "No Europarl in /bin: .*--data_dir"),
    ],
    "gigaword_ps": [
        ("--source_column 3", "--source_column needs --train or --tfds"),
        ("--preset paper", "licensed .LDC2012T21.*--train a.src a.tgt"),
        ("--tfds gigaword", "--tfds gigaword: its rare words are UNK already"),
        ("--tfds gigaword --pointers entity", "it is in lower case, so no"),
        ("--entity_pattern x", "--entity_pattern needs --pointers entity"),
        ("--train_tags [a,b]", "--train_tags needs --pointers entity"),
        ("--entity_truecase true", "--entity_truecase needs --pointers entity"),
        ("{tags}", "--train_tags needs --train as well"),
        ("{tags} --train [a,b]", "--train_tags needs --tokenization space"),
        ("{tags} --train [a,b] --test [e,f]", "--test needs --test_tags"),
        (
            "--pointers entity --train [a,b] --test [c,d] --test_tags [e,f]",
            "--test_tags needs --train_tags",
        ),
        (
            "{tags} --tokenization space --train [a,b] --entity_pattern x",
            "either tagged or matched by a pattern",
        ),
        ("--pointers entity --entity_pattern (", "--entity_pattern.* RE2 .mi"),
    ],
    "lcsts_copynet": [
        ("--tokenizations []", "--tokenizations must name characters, words"),
        ("--min_score 6", "--min_score must be 1 .* 5. Received: 6"),
        ("--tokenizations [characters] --data_dir /bin", "/bin: .* PART_I.txt"),
    ],
    "rarest_word_ps": [
        ("--num_pointed 12", "--num_pointed must be from 0 to 11. Rec.*: 12"),
        ("--num_pointed -1", "--num_pointed must be"),
        ("--num_words 1", "--num_words must be 2 or more. Received: 1"),
        ("--length 1", "--length must be 2 or more. Received: 1"),
        ("--train_size 49", r"--train_size must be at least .* \(50\).* 49"),
        ("--batch_tokens 3", "--batch_tokens must be at least 4, 1 times the"),
    ],
    "wmt15_pag": [
        ("--bpe_merges 5000", "--bpe_merges: this text has"),
        ("--sentencepiece_model none.model", "cannot read none.model"),
        ("--data_dir /bin", "--data_dir needs --tfds or --preset paper"),
        ("--max_target_length 2", r"a target of more than 2 \(max_target_len"),
    ],
}


@pytest.mark.filterwarnings("ignore:.* pairs for")  # few news of lcsts_copynet
@pytest.mark.parametrize(
    "recipe, arguments, message",
    [(recipe, *case) for recipe in REFUSED for case in REFUSED[recipe]],
)
def test_a_wrong_flag_is_named(tmp_path, capfd, recipe, arguments, message):
    name, _, part = recipe.partition("/")
    start = importlib.import_module(f"tests.recipes.test_{name}").start
    if part:
        start = functools.partial(start, part)
    for name in "a b c d e f x a.en a.csv links".split():
        pathlib.Path(name).touch()  # What is not there is refused first.
    arguments = arguments.format(tags="--pointers entity --train_tags [c,d]")
    starting.check_refused(start, capfd, tmp_path, arguments.split(), message)
