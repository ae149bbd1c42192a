"""Copying learnt by small random networks of KerasHub's classes.

    python -m benchmarks.backbone_copying
    python -m benchmarks.backbone_copying --kinds t5 --most_updates 6000

No pretrained weights are needed: a BART, a T5, a GPT-2 and a Gemma of two
blocks begin with random ones, and with tokenizers of a few hundred pieces in
their publishers' formats. The last two are decoder-only: their prompt is the
source. Each learns to repeat made-up words that it has not seen, until 99 % of
the answers to unseen texts are right, and is exported; the export then answers
the same texts. The exit status is 1 if a share is lower, or an answer of the
export is another.
"""

import io
import json
import random
import sys
import tempfile
import time
import warnings

import keras
import keras_hub
import sentencepiece
import tensorflow as tf
import tokenizers

from benchmarks import flags
from tfcopy import data, losses, models, training
from tfcopy.decoding import SearchOptions
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables.translator import Translator
from tfcopy.training.schedule import InverseSquareRoot, WarmUp

KINDS = ("bart", "t5", "gpt2", "gemma")
ENOUGH = 0.99
TRAINED, HELD_OUT, TESTED = 20_000, 200, 400
BATCH_SIZE, RATE, WARM_UP = 64, 2e-3, 500
SIZES = {
    "num_layers": 2,
    "num_heads": 4,
    "hidden_dim": 64,
    "intermediate_dim": 128,
    "dropout": 0.0,
}


def main():
    parser = flags.make_parser(
        __doc__,
        ("most_updates", 8000, "of each network"),
        ("updates", 500, "between two tests"),
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    # What KerasHub says of the masks of its own T5.
    warnings.filterwarnings("ignore", ".*T5MultiHeadAttention.*")
    failed = False
    for kind in arguments.kinds:
        result = run(kind, arguments.updates, arguments.most_updates)
        print(json.dumps({"kind": kind, **result}), flush=True)
        failed |= result["exact_match"] < 100 * ENOUGH
        failed |= not result["export_answers_alike"]
    return int(failed)


def run(kind, updates, most_updates):
    """Trains, tests and exports one; the figures as a dict."""
    keras.utils.set_random_seed(0)
    texts = made_up_texts(TRAINED + HELD_OUT + TESTED)
    train, dev = texts[:TRAINED], texts[TRAINED:-TESTED]
    test = texts[-TESTED:]
    with tempfile.TemporaryDirectory() as folder:
        pieces = data.hub_pieces(MAKERS[kind](train), f"{folder}/pieces")
        backbone = make_backbone(kind, pieces)
        model = models.from_backbone(
            backbone,
            vocabulary_size=pieces.vocabulary.size,
            special_ids=pieces.special_ids,
        )
        translator = Translator(
            model,
            pieces.vocabulary,
            pieces.vocabulary,
            source_tokenizer=pieces.tokenizer,
            target_tokenizer=pieces.tokenizer,
            options=SearchOptions(num_beams=2, max_length=30),
        )
        seconds, made, exact = 0.0, 0, 0.0
        while exact < ENOUGH and made < most_updates:
            made += updates
            before = time.monotonic()
            result = make_trainer(model, pieces, train, dev, folder, made).fit()
            seconds += time.monotonic() - before
            answers = translate(translator, test)
            exact = sum(map(str.__eq__, answers, test)) / len(test)
            print(
                f"{kind}: {made} updates, perplexity "
                f"{result.best_dev_perplexity:.3f}, {exact:.1%} right",
                file=sys.stderr,
                flush=True,
            )
        path = export(translator, f"{folder}/served")
        served = tf.saved_model.load(path).signatures["serving_default"]
        found = served(text=tf.constant(test))["text"].numpy()
        return {
            "updates": made,
            "seconds_training": round(seconds, 1),
            "perplexity": round(result.best_dev_perplexity, 4),
            "exact_match": round(100 * exact, 2),
            "export_answers_alike": [x.decode() for x in found] == answers,
            "parameters": model.count_params(),
            "parameters_of_backbone": backbone.count_params(),
        }


def made_up_texts(count):
    """Different texts of two to four made-up words, of syllables."""
    rng = random.Random(0)
    syllables = [x + y for x in "bcdfghjklmnpqrstvwxz" for y in "aeiou"]
    syllables += [x + y for x in syllables for y in "nrs"]

    def word():
        return "".join(rng.choices(syllables, k=rng.randint(1, 3)))

    texts = {}
    while len(texts) < count:
        texts[" ".join(word() for _ in range(rng.randint(2, 4)))] = None
    return list(texts)


def byte_pairs(texts, specials, size=900):
    """The pieces and merges of a tokenizer, as keyword arguments."""
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(
        texts, size, special_tokens=specials, show_progress=False
    )
    model = json.loads(trained.to_str())["model"]
    merges = [x if isinstance(x, str) else " ".join(x) for x in model["merges"]]
    return {"vocabulary": model["vocab"], "merges": merges}


def bart_tokenizer(texts, size=900):
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    return keras_hub.models.BartTokenizer(**byte_pairs(texts, specials, size))


def gpt2_tokenizer(texts):
    pieces = byte_pairs(texts, ["<|endoftext|>"])
    return keras_hub.models.GPT2Tokenizer(**pieces)


def sentencepiece_model(texts, size=800, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        pad_id=0,
        eos_id=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def t5_tokenizer(texts, size=800, **options):
    proto = sentencepiece_model(texts, size, unk_id=2, bos_id=-1, **options)
    return keras_hub.models.T5Tokenizer(proto=proto)


def gemma_tokenizer(texts):
    names = {f"{x}_piece": f"<{x}>" for x in ("pad", "eos", "bos")}
    proto = sentencepiece_model(
        texts, bos_id=2, unk_id=3, add_dummy_prefix=False, **names
    )
    return keras_hub.models.GemmaTokenizer(proto=proto)


MAKERS = {
    "bart": bart_tokenizer,
    "t5": t5_tokenizer,
    "gpt2": gpt2_tokenizer,
    "gemma": gemma_tokenizer,
}


def make_backbone(kind, pieces):
    """A random one, whose table has a row for each piece."""
    rows = pieces.vocabulary.size - 4 + len(set(pieces.special_ids))
    if kind == "bart":
        return keras_hub.models.BartBackbone(
            rows, max_sequence_length=64, **SIZES
        )
    if kind == "t5":
        return keras_hub.models.T5Backbone(rows, **SIZES)
    if kind == "gpt2":
        return keras_hub.models.GPT2Backbone(
            rows, max_sequence_length=128, **SIZES
        )
    # It halves `intermediate_dim` for its two gates.
    heads, sizes = SIZES["num_heads"], {**SIZES, "intermediate_dim": 256}
    del sizes["num_heads"]
    return keras_hub.models.GemmaBackbone(
        rows,
        num_query_heads=heads,
        num_key_value_heads=heads // 2,
        head_dim=SIZES["hidden_dim"] // heads,
        **sizes,
    )


def make_trainer(model, pieces, train, dev, folder, steps):
    train, dev = (
        data.encode(
            [(text, text) for text in texts],
            pieces.vocabulary,
            pieces.vocabulary,
            source_tokenizer=pieces.tokenizer,
            target_tokenizer=pieces.tokenizer,
            progress=False,
        )
        for texts in (train, dev)
    )

    def batches(epoch, start_batch, context):
        return data.batches(
            train,
            BATCH_SIZE,
            shuffle_seed=0,
            epoch=epoch,
            start_batch=start_batch,
        )

    return training.Trainer(
        model,
        losses.marginal_copy_loss,
        keras.optimizers.Adam(
            WarmUp(InverseSquareRoot(RATE, WARM_UP), WARM_UP), beta_2=0.98
        ),
        batches,
        dev_batches(dev, HELD_OUT),
        f"{folder}/log",
        steps=steps,
        eval_every=250,
        clip_norm=1.0,
        verbose=False,
    )


def dev_batches(dev, size):
    """Batches of all pairs, without their numbers, which training lacks."""
    dataset = data.evaluation_batches(dev, size)
    return dataset.map(lambda x: {k: x[k] for k in x if k != "indices"})


def translate(translator, texts):
    return [x.text for x in translator.translate_all(texts, progress=False)]


if __name__ == "__main__":
    sys.exit(main())
