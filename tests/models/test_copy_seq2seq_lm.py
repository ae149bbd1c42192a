"""The task of KerasHub: `fit`, `generate`, presets, LoRA and int8."""

import itertools
import json

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.data.text.hub_tokenizers import TOKENIZERS
from tests.models import backbones
from tests.models.backbones import KINDS as BACKBONES
from tests.models.contract import saved
from tfcopy import losses, models
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.layers.copying import CopyDistribution, word_log_probs
from tfcopy.tokens import HEADS, NO_COPY

# What Keras and KerasHub say of all tasks.
pytestmark = [
    backbones.QUIET,
    pytest.mark.few(1, 3),
    pytest.mark.filterwarnings("ignore:.*compile.*was not called"),
    pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed"),
    pytest.mark.filterwarnings("ignore:Layer .* does not have a .quantize"),
    pytest.mark.filterwarnings("ignore:(?s).*softmax over axis -1"),
]

TEXTS = ["the session is closed", "is the session", "closed"]
PAIRS = {"encoder_text": TEXTS, "decoder_text": TEXTS[::-1]}
_LONG = ("t5gemma", "gpt2")
KINDS = (
    "bart",
    "t5",
    *(pytest.param(x, marks=pytest.mark.long) for x in _LONG),
    *(pytest.param(x, marks=pytest.mark.slow) for x in ("gemma", "t5gemma2")),
)


def make_task(kind):
    tokenizer = TOKENIZERS[kind]()
    backbone = backbones.make_backbone(
        kind, vocabulary_size=tokenizer.vocabulary_size()
    )
    task = backbones.task_class(kind)
    lengths = {"encoder_sequence_length": 10, "decoder_sequence_length": 9}
    return task(backbone, task.preprocessor_cls(tokenizer, **lengths))


@pytest.fixture(scope="module", params=KINDS)
def task(request):
    task = make_task(request.param)
    backbones.randomize_added(task, task.backbone)
    task.compile(jit_compile=False)
    return task


def test_words_are_generated_and_copied():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 3, 5)).astype("float32")
    ways = rng.dirichlet(np.ones(5), size=(2, 3)).astype("float32")
    copy_ids = np.array([[4, 1, 4, 6], [NO_COPY, 2, 0, NO_COPY]], "int32")
    found = word_log_probs(
        CopyDistribution(logits, np.log(ways[..., 0]), np.log(ways[..., 1:])),
        ops.convert_to_tensor(copy_ids),
    )
    expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    expected *= ways[..., :1]
    for row, ids in enumerate(copy_ids):
        for place, word in enumerate(ids):
            if 0 <= word < 5:
                expected[row, :, word] += ways[row, :, 1 + place]
    helpers.assert_close(np.exp(ops.convert_to_numpy(found)), expected)


def test_outputs_are_those_of_our_model_by_rows(task):
    inputs, targets, _ = task.preprocessor(PAIRS)
    found = np.exp(ops.convert_to_numpy(task(inputs)))
    rows = task.seq2seq.target_embedding.rows
    words = {row: word for word, row in enumerate(rows)}
    source = ops.convert_to_numpy(inputs["encoder_token_ids"])
    there = ops.convert_to_numpy(inputs["encoder_padding_mask"]).astype(bool)
    ids = np.where(there, np.vectorize(words.get)(source), 0).astype("int32")
    batch = {
        "source_ids": ids,
        "source_copy_ids": np.where(ids > 3, ids, NO_COPY),
        "target_ids": np.vectorize(words.get)(targets).astype("int32"),
    }
    generated, copied = helpers.probabilities(
        CopyDistribution(*helpers.evaluate(task.seq2seq, batch))
    )
    for row, ids in enumerate(batch["source_copy_ids"]):
        for place, word in enumerate(ids):
            if word >= 0:
                generated[row, :, word] += copied[row, :, place]
    expected = np.stack(
        [generated[..., words[row]] for row in range(found.shape[2])], axis=2
    )
    helpers.assert_close(found, expected, atol=1e-6)


def word_log_probs_of(task, kind):
    """The outputs for a few texts, one of which has nothing to copy."""
    rows, (_, _, _, end) = (
        task.seq2seq.target_embedding.rows,
        backbones.SPECIAL_IDS[kind],
    )
    source = np.array([[8, 9, 10, end], [end, end, 0, 0]], "int32")
    target = np.array([[*rows[[2, 5, 6]], end]] * 2, "int32")
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": np.array([[1, 1, 1, 1], [1, 1, 0, 0]], "bool"),
        "decoder_token_ids": target,
        "decoder_padding_mask": np.ones_like(target, "bool"),
    }
    return inputs, ops.convert_to_numpy(task(inputs))


def of_special_ids(kind, head, **options):
    """A task without a tokenizer, whose weights are random."""
    task = backbones.task_without_tokenizer(kind, head=head, **options)
    return backbones.randomize_added(task, task.backbone)


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        *zip(("bart", "gpt2", "t5", "llama"), HEADS),
        *(
            pytest.param(x, y, marks=pytest.mark.long)
            for x, y in zip(BACKBONES, itertools.cycle(HEADS))
        ),
    ],
)
@pytest.mark.few(2)
def test_the_probabilities_of_words_sum_to_1(kind, head):
    """So that the loss of `compile` is -log p(word), which search adds up."""
    task = of_special_ids(kind, head)
    inputs, log_probs = word_log_probs_of(task, kind)
    helpers.assert_close(np.exp(log_probs).sum(-1), np.ones((2, 4)), atol=1e-5)
    rows = task.seq2seq.target_embedding.rows
    words = {row: word for word, row in enumerate(rows)}
    source = np.vectorize(words.get)(inputs["encoder_token_ids"])
    source = np.where(inputs["encoder_padding_mask"], source, 0).astype("int32")
    copy_ids = np.where(source > 3, source, NO_COPY)
    target = inputs["decoder_token_ids"][:, 1:]
    batch = {
        "source_ids": source,
        "source_copy_ids": copy_ids,
        "target_ids": np.vectorize(words.get)(target).astype("int32"),
    }
    distribution = CopyDistribution(*helpers.evaluate(task.seq2seq, batch))
    found = losses.marginal_copy_loss(batch, distribution)
    task.compile(jit_compile=False)
    expected = [
        keras.losses.get(task.loss)(target[:, i], log_probs[:, i])
        for i in range(3)
    ]
    helpers.assert_close(ops.mean(found, axis=0), expected, atol=1e-5)


def answers(task, texts, **options):
    """The rows that `generate` says after the prompt."""
    inputs = task.preprocessor.generate_preprocess(texts)
    given = ops.convert_to_numpy(inputs["decoder_padding_mask"]).sum(1)
    stop = [task.preprocessor.tokenizer.end_token_id]
    outputs = task.generate_step(inputs, stop)
    ids, there = (
        ops.convert_to_numpy(outputs[f"decoder_{x}"])
        for x in ("token_ids", "padding_mask")
    )
    return inputs, [
        row[start:][here[start:]].tolist()
        for row, here, start in zip(ids, there, given)
    ]


def test_a_greedy_answer_is_the_best_word_of_each_step(task):
    import keras_hub

    task.sampler = keras_hub.samplers.GreedySampler()
    inputs, found = answers(task, TEXTS)
    assert any(found)
    given = ops.convert_to_numpy(inputs["decoder_padding_mask"]).sum(1)
    ids = ops.convert_to_numpy(inputs["decoder_token_ids"]).copy()
    for row, words in enumerate(found):
        ids[row, given[row] : given[row] + len(words)] = words
    whole = task({**inputs, "decoder_token_ids": ops.convert_to_tensor(ids)})
    best = ops.convert_to_numpy(whole).argmax(-1)
    for row, words in enumerate(found):
        start = given[row] - 1
        assert best[row, start : start + len(words)].tolist() == words


def test_our_search_finds_what_the_greedy_sampler_does(task):
    import keras_hub

    task.sampler = keras_hub.samplers.GreedySampler()
    inputs, found = answers(task, TEXTS)
    words = {r: w for w, r in enumerate(task.seq2seq.target_embedding.rows)}
    ids = np.vectorize(words.get)(inputs["encoder_token_ids"])
    ids = np.where(inputs["encoder_padding_mask"], ids, 0).astype("int32")
    given = ops.convert_to_numpy(inputs["decoder_token_ids"])
    length = int(ops.convert_to_numpy(inputs["decoder_padding_mask"])[0].sum())
    prefix = [[words[row] for row in x[1:length]] for x in given.tolist()]
    result = beam_search(
        task.seq2seq,
        ops.convert_to_tensor(ids),
        ops.convert_to_tensor(np.where(ids > 3, ids, NO_COPY)),
        SearchOptions(num_beams=1, max_length=8),
        prefix=ops.convert_to_tensor(prefix, "int32") if length > 1 else None,
    )
    rows = task.seq2seq.target_embedding.rows
    for row, words in enumerate(found):
        mine = rows[ops.convert_to_numpy(result.ids)[row, 0]][length - 1 :]
        assert mine[: len(words)].tolist() == words


@pytest.mark.long
@pytest.mark.few(1, 1)
def test_samplers_and_beginnings_of_answers(task):
    texts = {"encoder_text": TEXTS, "decoder_text": ["the session"] * 3}
    for sampler in ("greedy", "beam", "top_k"):
        found = task.generate(texts, sampler=sampler)
        assert len(found) == 3
        assert all(x.startswith("the session") for x in found)
    assert type(task.sampler).__name__ != "BeamSampler"
    assert isinstance(task.generate(TEXTS[0], sampler="greedy"), str)


def test_what_answers_begin_with_can_be_left_out(task, monkeypatch):
    monkeypatch.setattr(task, "run_eagerly", True)  # A graph takes longer.
    texts = {"encoder_text": TEXTS[:1], "decoder_text": ["the session"]}
    whole, new = (
        task.generate(texts, sampler="greedy", strip_prompt=x)[0]
        for x in (False, True)
    )
    assert whole.removeprefix("the session").strip() == new.strip()


@pytest.mark.long
def test_presets(task, tmp_path):
    inputs, _, _ = task.preprocessor(PAIRS)
    expected = ops.convert_to_numpy(task(inputs))
    task.save_to_preset(str(tmp_path / "task"))
    base = models.CopySeq2SeqLM
    if not isinstance(task, base):
        base = models.CopyCausalLM
    again = base.from_preset(str(tmp_path / "task"))
    assert type(again) is type(task)
    np.testing.assert_array_equal(ops.convert_to_numpy(again(inputs)), expected)
    # One that has no head yet.
    task.backbone.save_to_preset(str(tmp_path / "backbone"))
    task.preprocessor.save_to_preset(str(tmp_path / "backbone"))
    new = base.from_preset(
        str(tmp_path / "backbone"), head="pointer_softmax", coverage=True
    )
    assert type(new.seq2seq.head).__name__ == "PointerSoftmaxHead"
    assert new.get_config()["special_ids"] == task.get_config()["special_ids"]
    # KerasHub's own is found as before.
    own = base.__bases__[1].from_preset(str(tmp_path / "backbone"))
    assert type(own).__module__.startswith("keras_hub")
    assert own.backbone.count_params() == new.backbone.count_params()
    # Some published ones have no preprocessor; T5Gemma 2 needs it for images.
    if "T5Gemma2" not in type(task).__name__:
        (tmp_path / "backbone" / "preprocessor.json").unlink()
        new = base.from_preset(str(tmp_path / "backbone"))
        assert type(new.preprocessor) is type(task.preprocessor)


def test_a_model_file(task, tmp_path):
    inputs, _, _ = task.preprocessor(PAIRS)
    again = saved(task, tmp_path)
    assert json.dumps(again.get_config()) == json.dumps(task.get_config())
    assert again.get_config()["head"] == "pointer_generator"
    np.testing.assert_array_equal(
        ops.convert_to_numpy(again(inputs)), ops.convert_to_numpy(task(inputs))
    )


@pytest.mark.long
@pytest.mark.few(1, 1)
@pytest.mark.parametrize("kind", KINDS)
def test_lora_leaves_the_backbone_as_it_is(kind):
    task = make_task(kind)
    task.enable_lora(2)
    task.compile(keras.optimizers.SGD(0.1), jit_compile=False)
    inputs, targets, weights = task.preprocessor(PAIRS)
    task.preprocessor = None
    before = {id(x): ops.convert_to_numpy(x) for x in task.weights}
    task.fit(inputs, targets, sample_weight=weights, verbose=0)
    changed = [
        x.path
        for x in task.weights
        if (ops.convert_to_numpy(x) != before[id(x)]).any()
    ]
    of_backbone = {x.path for x in task.backbone.weights} & {*changed}
    assert of_backbone and len(changed) > len(of_backbone)
    assert all("lora" in x or x.endswith("bias") for x in of_backbone)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bart", "t5", *_LONG])
def test_int8_says_almost_the_same(kind):
    task = make_task(kind)
    inputs, _, _ = task.preprocessor(PAIRS)
    before = np.exp(ops.convert_to_numpy(task(inputs)))
    task.quantize("int8")
    assert any(x.dtype == "int8" for x in task.backbone.weights)
    after = np.exp(ops.convert_to_numpy(task(inputs)))
    assert np.abs(after - before).max() < 0.05
    assert (after != before).any()
    assert len(task.generate(TEXTS, sampler="greedy")) == 3


def test_unknown_names_of_models():
    with pytest.raises(AttributeError, match="nothing"):
        models.nothing  # noqa: B018
