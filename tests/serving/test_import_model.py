"""A published translator becomes an export that keeps spans to the letter."""

import contextlib
import dataclasses
import io
import json
import re
import subprocess
import sys
import types

import numpy as np
import pytest
import tensorflow as tf

import tfcopy
from tests.serving import checkpoints
from tfcopy.serving import import_model, published_translator
from tfcopy.tokens import EOS

TEXTS = ["the session {ﬁ½…} is open", "%s", "a %d of %s%s", "open", ""]
SPANS = ["{ﬁ½…}"], ["%s"], ["%d", "%s%s"], [], []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    checkpoints.write_marian(folder, more=[">>fra<<"])
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n# OPUS\n")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en"}')
    return folder


@pytest.fixture(scope="module")
def imported(checkpoint, tmp_path_factory):
    """The export and what the command printed."""
    path = tmp_path_factory.mktemp("exports") / "en_fr"
    arguments = [str(checkpoint), "--to", str(path), "--litert", "none"]
    arguments += ["--target_language", "fra", "--protect", "printf", "brace"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert import_model.main([*arguments, "--set", "max_length=40"]) == 0
    return path, printed.getvalue()


@pytest.fixture(scope="module")
def model(imported):
    return tfcopy.load(imported[0])


def test_spans_are_kept_without_training(model):
    for answer, spans in zip(model.translate(TEXTS), SPANS, strict=True):
        assert all(answer.text.count(x) == 1 for x in spans), answer.text


def test_the_export_says_where_it_is_from(model, imported, checkpoint):
    config = model.config
    assert config["imported"] == {"model": checkpoint.name}
    assert config["source_language"] == "en"
    assert config["target_language"] == "fra"
    assert config["search"]["num_beams"] == 2
    with open(imported[0] / "1/README.md") as file:
        card = file.read()
    assert f"Imported from: model `{checkpoint.name}`" in card
    assert card.endswith("## Licence\n\ncc-by-4.0\n")


@pytest.mark.parametrize(
    "given, term",
    [("là", "là"), ("l\ue0010\ue002\ue000z", "l\ufffd0\ufffd\ufffdz")],
)
def test_terms_are_in_answers_but_not_read(given, term, checkpoint, tmp_path):
    translator = published_translator.read(
        checkpoint, None, "fra", ("printf",)
    )(tmp_path)
    text, lines = ["the session %s is open"], [[f"session\t{given}"]]
    options = translator.search_options()
    one = tf.constant([0])
    _, plain, _ = translator.read(options, tf.constant(text), one)
    _, source, _ = translator.read(options, text, one, tf.constant(lines))
    count, end = plain.longest - 1, source.longest - 1
    np.testing.assert_array_equal(source.ids[:, :count], plain.ids[:, :count])
    assert end > count and not source.ids[0, count:end].numpy().any()
    assert source.ids[0, end] == EOS
    (answer,) = translator.translate_with_glossary(text, lines)["text"].numpy()
    assert answer.decode().count(term) == 1
    assert answer.count(b"%s") == 1


@pytest.mark.parametrize("pair", [(), ("en", "fr")])
def test_free_answers_are_those_of_the_network(pair, tmp_path):
    """Greedy search, by plain NumPy: no padding, no `<unk>`, and an end."""
    write = checkpoints.write_m2m_100 if pair else checkpoints.write_marian
    config, weights = write(tmp_path)
    model = published_translator.read(tmp_path, *pair)(tmp_path)
    options = dataclasses.replace(model.options, num_beams=1, max_length=7)
    rows = model.model.target_embedding.rows.tolist()
    ids = dict(zip(model.target_vocabulary.words, rows))
    start, never = [rows[2]], rows[:3]
    if pair:  # Languages are never generated, nor `<s>`.
        start, never = [2, ids["<s>"]], [0, 1, 3, *range(45, len(rows))]
    for (answer,) in model.copy(options=options).n_best_all(TEXTS[:3]):
        source = [ids.get(x, ids["<unk>"]) for x in answer.source_tokens]
        found = []
        while len(found) < 7 and found[-1:] != ["</s>"]:
            both = source, start + [ids[x] for x in found]
            logits = checkpoints.compute_logits(config, weights, *both)[-1]
            logits[never] = -np.inf
            found += [x for x in ids if ids[x] == logits.argmax()][-1:]
        assert [*answer.tokens, "</s>"][: len(found)] == found
        assert found[0] != "</s>", "a text that says nothing"


def test_spans_are_kept_beside_languages(tmp_path):
    checkpoints.write_m2m_100(tmp_path, "NLLB")
    pair = "deu_Latn", "fra_Latn"
    make = published_translator.read(tmp_path, *pair, ["printf", "{.*}"])
    for answer, spans in zip(make(tmp_path).translate_all(TEXTS), SPANS):
        assert all(answer.text.count(x) == 1 for x in spans), answer.text
        assert not re.search("_Latn|<row", answer.text)


def test_errors_come_before_tensorflow(tmp_path):
    checkpoints.write_m2m_100(tmp_path)
    program = "import sys; from tfcopy.serving.import_model import main; "
    program += "print(main(), {'keras', 'tensorflow'} & {*sys.modules})"
    arguments = [sys.executable, "-c", program, tmp_path, "--to", tmp_path]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.stdout == "2 set()\n"
    assert "--target_language: " in done.stderr


def test_it_is_a_command(model, imported):
    path, printed = imported
    assert f"Ask it: tfcopy ask {path}" in printed
    assert model.config["search"]["max_length"] == 40


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"model_type": "m2m_100"}, "sentencepiece.bpe.model: No such file"),
        ({"bad_words_ids": [[3]]}, r"bad_words_ids: only the padding .* \[3\]"),
        ({"repetition_penalty": 2.0}, "repetition_penalty: expected 1.0"),
        ({"num_beams": "4"}, 'config.json is .*"num_beams" must be an integ'),
        ({"num_beams": 0}, "config.json: `num_beams` must be from 1"),
        ({"no_repeat_ngram_size": "3"}, '"no_repeat_ngram_size" must be an'),
        ({"length_penalty": float("nan")}, "config.json: `length_penalty`"),
        ({"suppress_tokens": [5]}, "suppress_tokens: expected None"),
        ({"early_stopping": "never"}, '"early_stopping" must be true or'),
        ({"forced_eos_token_id": 5}, "forced_eos_token_id: expected 0"),
    ],
)
def test_what_no_search_does_is_refused(changes, reason, tmp_path, capsys):
    checkpoints.write_marian(tmp_path, **changes)
    target = tmp_path / "exports"
    assert import_model.main([str(tmp_path), "--to", str(target)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    with pytest.raises(ValueError, match=reason):
        raise ValueError(error)
    assert not target.exists()


def test_files_without_content_are_named(tmp_path):
    def check(reason):
        with pytest.raises(ValueError, match=reason):
            import_model.import_model(tmp_path, tmp_path / "exports")

    (tmp_path / "generation_config.json").symlink_to("../blobs/nowhere")
    check("generation_config.json: no file")
    (tmp_path / "generation_config.json").unlink()
    (tmp_path / "source.spm").touch()
    check("source.spm: no file, or empty")
    (tmp_path / "source.spm").write_text("version https://git-lfs.github")
    check("source.spm: a pointer of Git LFS")


def test_a_licence_is_from_the_head_of_a_card(tmp_path):
    for head in ("---\nlicense: 'mit' # free\n---", "# A\n\nlicense: mine"):
        (tmp_path / "README.md").write_text(head)
        facts = published_translator.read_facts(tmp_path)
        assert facts == ({"license": "mit"} if head[0] == "-" else {})


def test_settings_of_a_search_are_those_of_its_file(tmp_path):
    """As in transformers, the config has none if there is such a file."""
    config = {**checkpoints.MARIAN, "num_beams": 3}
    own = {"max_length": 9, "min_length": 3, "eos_token_id": 0}
    path = tmp_path / "generation_config.json"

    def read(must_copy=True, **own):
        path.write_text(json.dumps(own))
        return published_translator.read_search(tmp_path, config, must_copy)[1]

    found = read(**own)
    # Transformers counts the start.
    names = "num_beams", "max_length", "min_length"
    assert [found[x] for x in names] == [1, 8, 2]
    assert found["patient"] and not read(False, early_stopping=True)["patient"]
    found = read(**own, max_new_tokens=6, min_new_tokens=4)
    assert (found["max_length"], found["min_length"]) == (6, 4)
    with pytest.raises(ValueError, match="n_config.json, eos_token_id: expect"):
        read(eos_token_id=[0, 5])


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["nowhere"], "no such folder, nor OWNER/NAME"),
        (["a/b/c"], "no such folder, nor OWNER/NAME"),
        (["."], "config.json"),
        ([".", "--revision", "x"], "is a path. Leave it out"),
        ([".", "--set", "beams=3"], "config.json"),
        ([".", "--test", "a"], "two files"),
        ([".", "--protect", "nothing("], "nothing("),
        ([".", "--protect"], "config.json"),
    ],
)
def test_wrong_names(arguments, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        status = import_model.main([*arguments, "--to", "exports"])
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "exports").exists()


def test_a_name_is_downloaded(checkpoint, monkeypatch):
    asked = []

    def download(name, revision, allow_patterns):
        asked.append((name, revision))
        assert "pytorch_model.bin" not in allow_patterns
        return f"{checkpoint}/0a1b"

    hub = types.SimpleNamespace(snapshot_download=download)
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", hub)
    folder, origin = import_model.find_checkpoint("Helsinki-NLP/x", "v1")
    assert asked == [("Helsinki-NLP/x", "v1")]
    assert origin == {"model": "Helsinki-NLP/x", "revision": "0a1b"}

    def fail(*_, **__):
        raise ConnectionError("no network\nat all")

    hub.snapshot_download = fail
    with pytest.raises(
        ValueError, match="does not send it .no network"
    ) as error:
        import_model.find_checkpoint("Helsinki-NLP/x")
    assert "\n" not in str(error.value)
