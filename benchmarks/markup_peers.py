"""Scores other ways to translate texts with markup on the data of a run.

    opennmt       OpenNMT-py 3.5.1 with copy attention: the same pieces and
                  spans, vocabularies, layer sizes and updates
    eole          Eole 0.6 with a Transformer: spans are numbered tags in the
                  form of its inlinetags, which adds more of them
    placeholders  the run's model reads X1X in the place of a span, as
                  translation platforms send it, without must copy
    memory        the most similar text to train on, from 75 % likeness, or
                  the source

All are scored as the recipe scores its systems: BLEU and chrF of plain text,
and how much markup is kept.

Run: python -m benchmarks.markup_peers PEER RUN --workdir DIR

RUN is the folder of a finished run, such as tensorboard_logs/pydocs_ps/full.
OpenNMT-py searches for one text at a time: in larger batches some of its
answers are wrong (see opennmt_worker.py). Eole is installed by
`pip install eole==0.6.0 pyahocorasick aiohttp` in an environment of its own.
"""

import collections
import functools
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from benchmarks import flags, opennmt_peer
from tfcopy.data.text import span_patterns
from tfcopy.runtime.translation_records import Translation

# Blanks within a token; the peers' files have blanks between tokens.
_BLANKS = {" ": "\u2423", "\xa0": "\u2420", "\u202f": "\u2422"}
_TAG = "\uff5fph_{}_std\uff60"
_PLACEHOLDER = re.compile(r"X\s?([0-9]+)\s?X", re.IGNORECASE)
_LEAST_LIKENESS = 75
# Eole 0.6.0 looks for the flags of inlinetags in the wrong place, and a tag
# leaves two blanks, between which there would be an empty token.
_EOLE_MAIN = """
from eole.bin.main import main
from eole.transforms import inlinetags

specials = inlinetags.InlineTagsTransform.get_specials
add_tags = inlinetags.InlineTagger._tagged_src_tgt

def tagged(*args):
    texts, found = add_tags(*args)
    return tuple(" ".join(x.split()) for x in texts), found

inlinetags.InlineTagsTransform.get_specials = lambda config: specials(
    config.transforms_configs.inlinetags
)
inlinetags.InlineTagger._tagged_src_tgt = tagged
main()
"""
_EOLE = {
    "src_vocab_size": 40_000,
    "tgt_vocab_size": 40_000,
    "transforms_configs": {"inlinetags": {"max_tags": 12}},
    "model": {
        "architecture": "transformer",
        "layers": 3,
        "heads": 4,
        "hidden_size": 256,
        "transformer_ff": 1024,
        "share_decoder_embeddings": True,
        "embeddings": {
            "word_vec_size": 256,
            "position_encoding_type": "SinusoidalInterleaved",
        },
    },
    "training": {
        "optim": "adam",
        "adam_beta2": 0.998,
        "decay_method": "noam",
        "learning_rate": 0.5,
        "warmup_steps": 400,
        "label_smoothing": 0.1,
        "param_init_method": "xavier_uniform",
        "batch_type": "sents",
        "bucket_size": 16384,
        "num_workers": 0,
        "compute_dtype": "fp32",
        "gpu_ranks": [],
    },
    "report_every": 20,
    "seed": 1,
}


def main():
    parser = flags.make_parser(
        __doc__,
        ("learning_rate", 1e-3, "of OpenNMT-py"),
        ("batch", 1, "of the search"),
        ("threads", 2, "of the peer"),
        ("peer_python", None, "an environment with the peer"),
    )
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("run", metavar="RUN", help="folder of a finished run")
    parser.add_argument("--workdir", required=True, help="folder of the peer")
    parser.add_argument("--updates", type=int, help="other than the run's")
    options = parser.parse_args()
    if options.peer == "eole" and options.peer_python is None:
        parser.error("eole needs --peer_python.")
    if options.peer == "eole":
        opennmt_peer.check_installed(options.peer_python, "eole", "Eole 0.6")
    options.workdir = pathlib.Path(options.workdir).absolute()
    options.workdir.mkdir(parents=True, exist_ok=True)
    print(json.dumps(measure(options), indent=2))


def measure(options):
    """Scores a peer as results.json has the scores of a system."""
    from tfcopy.experiments.pairs import corpus_flags, translation_systems

    with open(os.path.join(options.run, "results.json")) as file:
        found = json.load(file)
    recipe = importlib.import_module(f"tfcopy.recipes.{found['recipe']}")
    config = recipe.Config(**found["config"])
    data = recipe.prepare(config, os.path.join(options.run, "data"))
    if options.updates is None:
        (options.updates,) = {x["updates"] for x in found["systems"].values()}
    start = time.perf_counter()
    answers, measured = PEERS[options.peer](options, config, data)
    seconds = time.perf_counter() - start
    tokenize = corpus_flags.bleu_tokenize(config)
    scores = translation_systems.score(answers, data, tokenize)
    return {"updates": options.updates, "seconds": seconds} | measured | scores


def _opennmt(options, config, data):
    peer = opennmt_peer.open_peer(
        options.workdir,
        ".",
        options.updates,
        options.threads,
        peer_python=options.peer_python,
        write=functools.partial(_write, data, config.max_length, None),
        settings={
            "src_vocab_size": data.vocabularies[0].size,
            "tgt_vocab_size": data.vocabularies[1].size,
            "hidden_size": 2 * (config.encoder_units or config.units),
            "word_vec_size": config.embedding_dim,
            "dropout": [config.dropout],
            "label_smoothing": config.label_smoothing,
            "learning_rate": options.learning_rate,
            # It has no linear decay; this is as near as it gets.
            "start_decay_steps": options.updates // 2,
            "decay_steps": options.updates // 12,
            "learning_rate_decay": 0.5,
            "batch_size": config.batch_size,
            "src_seq_length": config.max_length + 1,
            "tgt_seq_length": config.max_length + 1,
        },
    )
    output, searched = peer.write_translation(
        peer.model,
        options.batch,
        beam_size=config.num_beams,
        length_penalty="avg",
        max_length=config.max_target_length,
    )
    rows = [list(map(_with_blanks, row)) for row in _lines(output)]
    return _answers(rows, data), {**peer.trained(), **searched}


def _eole(options, config, data):
    protect = data.tokenizers[0].protect
    folder = options.workdir / "data"
    folder.mkdir(exist_ok=True)
    _write(data, config.max_length, protect, ".", folder)
    short = [
        "\t".join(map(" ".join, pair))
        for pair in zip(
            _lines(folder / "train.source"), _lines(folder / "train.target")
        )
        if len(pair[0]) <= 6 and not any("_std" in x for x in pair[0])
    ]
    opennmt_peer.write_lines(folder / "phrases", sorted(set(short)))
    settings = json.loads(json.dumps(_EOLE))
    settings["transforms_configs"]["inlinetags"]["tags_dictionary_path"] = str(
        folder / "phrases"
    )
    settings["training"] |= {
        "batch_size": config.batch_size,
        "dropout": [config.dropout],
        "attention_dropout": [config.dropout],
        "model_path": str(options.workdir / "model"),
        "train_steps": options.updates,
        "valid_steps": options.updates,
        "save_checkpoint_steps": options.updates,
    }
    for side in ("src", "tgt"):
        settings[f"{side}_vocab"] = str(folder / f"vocabulary.{side}")
    settings["data"] = {
        name: {
            "path_src": str(folder / f"{split}.source"),
            "path_tgt": str(folder / f"{split}.target"),
            "transforms": ["inlinetags"] if name == "train" else [],
        }
        for name, split in (("train", "train"), ("valid", "val"))
    }
    search = {
        "model_path": [settings["training"]["model_path"]],
        "src": str(folder / "test.source"),
        "output": str(options.workdir / "translation.txt"),
        "beam_size": config.num_beams,
        "batch_size": options.batch,
        "max_length": config.max_target_length,
        "transforms": [],
        "gpu_ranks": [],
    }
    vocabulary = "-n_sample", "-1", "-save_data", str(folder)
    seconds = {
        "vocabulary": _run_eole(options, "build_vocab", settings, *vocabulary),
        "training": _run_eole(options, "train", settings),
        "search": _run_eole(options, "predict", search),
    }
    rows = []
    for (source, _), row in zip(
        data.test, _lines(options.workdir / "translation.txt")
    ):
        spans = span_patterns.spans_of(source, protect)
        tags = {_TAG.format(i + 1): x for i, x in enumerate(spans)}
        rows.append([tags.get(x) or _with_blanks(x) for x in row])
    return _answers(rows, data), {f"seconds_{k}": x for k, x in seconds.items()}


def _run_eole(options, job, settings, *flags):
    """Runs one of Eole's commands; returns its seconds."""
    file = options.workdir / f"{job}.yaml"
    file.write_text(json.dumps(settings))
    command = options.peer_python, "-c", _EOLE_MAIN, job, "-config", file
    start = time.perf_counter()
    with (options.workdir / f"{job}.log").open("w") as log:
        subprocess.run(
            [*command, *flags],
            env=os.environ | {"OMP_NUM_THREADS": str(options.threads)},
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )
    return time.perf_counter() - start


def _placeholders(options, config, data):
    from tfcopy.serving.servables import storage

    served = storage.load(
        os.path.join(options.run, "pointer_softmax"),
        {"precision": "float32", "must_copy": "false"},
        "last",
    ).served
    protect = data.tokenizers[0].protect
    texts, spans = [], []
    for source, _ in data.test:
        places = span_patterns.places_of(source, protect)
        spans.append([source[a:b] for a, b in places])
        marks = (f"X{i + 1}X" for i in range(len(places)))
        texts.append(span_patterns.insert_texts(source, places, marks))
    start = time.perf_counter()
    answers = served.translate_all(texts)
    measured = {"seconds_search": time.perf_counter() - start}

    def put_back(answer, found):
        def span(match):
            place = int(match[1]) - 1
            return found[place] if 0 <= place < len(found) else match[0]

        return answer._replace(text=_PLACEHOLDER.sub(span, answer.text))

    return list(map(put_back, answers, spans)), measured


def _memory(options, config, data):
    from tfcopy.data.corpora.catalog_lines import Entry
    from tfcopy.serving.catalogs.memory import Memory

    def entry(source, target):
        return Entry(0, range(0), singular=source, translations={0: target})

    memory = Memory()
    memory.add_entries((entry(*x) for x in data.corpus.train), "train")
    found = [memory.find(x, _LEAST_LIKENESS) for x, _ in data.test]
    answers = [
        known.forms[0] if known else source
        for known, (source, _) in zip(found, data.test)
    ]
    measured = {"found": sum(x is not None for x in found)}
    return [_translation(x, x.split()) for x in answers], measured


PEERS = {
    "opennmt": _opennmt,
    "eole": _eole,
    "placeholders": _placeholders,
    "memory": _memory,
}


def _write(data, max_length, protect, _, folder):
    """Writes the peer's files: tokens between blanks, and vocabularies.

    Args:
        protect: Formats of the spans that become tags, numbered in the order
            of the source; `None` if they stay tokens.
    """
    splits = {
        "train": data.corpus.train,
        "val": data.corpus.validation,
        "test": data.test,
    }
    for name, pairs in splits.items():
        pairs = list(pairs)
        rows = list(zip(*(_tokens(data, pairs, side) for side in (0, 1))))
        if protect is not None:
            rows = [_tagged(*row, protect) for row in rows]
        if name != "test":
            rows = [
                row
                for row in rows
                if all(0 < len(words) <= max_length for words in row)
            ]
        for side, some in zip(opennmt_peer.SIDES, zip(*rows)):
            lines = (" ".join(x) for x in some)
            opennmt_peer.write_lines(folder / f"{name}.{side}", lines)
    for side, words in zip(opennmt_peer.SIDES, data.vocabularies):
        opennmt_peer.write_lines(folder / f"vocabulary.{side}", words.words[4:])


def _tagged(source, target, protect):
    """Replaces the spans of a pair by tags, numbered in the source's order."""
    tagged, tags = [], collections.defaultdict(list)
    for word in source:
        plain = _with_blanks(word)
        if span_patterns.spans_of(plain, protect) == [plain]:
            tag = _TAG.format(sum(map(len, tags.values())) + 1)
            tags[word].append(tag)
            tagged.append(tag)
        else:
            tagged.append(word)
    left = {word: iter(some) for word, some in tags.items()}
    return tagged, [next(left.get(x, iter(())), x) for x in target]


def _tokens(data, pairs, side):
    """The tokens of each text of one side."""
    import tensorflow as tf

    from tfcopy.experiments.pairs.pair_data import as_text

    texts = [as_text(pair[side]) for pair in pairs]
    for start in range(0, len(texts), 1000):
        some = tf.constant(texts[start : start + 1000])
        for row in data.tokenizers[side].tokenize(some).to_list():
            yield [_without_blanks(word.decode()) for word in row]


def _without_blanks(word):
    for blank, mark in _BLANKS.items():
        word = word.replace(blank, mark)
    return _BLANKS[" "].join(word.split())


def _with_blanks(word):
    for blank, mark in _BLANKS.items():
        word = word.replace(mark, blank)
    return word


def _lines(path):
    return [
        x.split() for x in path.read_text(encoding="utf-8").split("\n")[:-1]
    ]


def _answers(rows, data):
    """The `Translation`s of tokens, whose text is put together."""
    import tensorflow as tf

    ragged = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    texts = data.tokenizers[1].detokenize(ragged).numpy()
    return [_translation(x.decode(), row) for x, row in zip(texts, rows)]


def _translation(text, row):
    return Translation(
        text, 0.0, row, copied_from=[-1] * len(row), source_tokens=[]
    )


if __name__ == "__main__":
    sys.exit(main())
