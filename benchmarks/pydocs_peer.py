"""Scores OpenNMT-py's copy attention on the data of a run of pydocs_ps.

The peer is trained on the same pieces and spans, with the same vocabulary
sizes, updates and layer sizes, and is scored as the recipe scores its systems:
BLEU and chrF of plain text, and how much markup is kept.

Run: python -m benchmarks.pydocs_peer RUN --workdir DIR

RUN is the folder of a finished run, such as tensorboard_logs/pydocs_ps/full.
The peer searches for one text at a time: in larger batches some of its answers
are wrong (see opennmt_worker.py).
"""

import argparse
import functools
import json
import os
import sys

from benchmarks import opennmt_peer

# A blank within a span; the peer's files have blanks between tokens.
_BLANK = "\u2423"


def main():
    parser = argparse.ArgumentParser(
        "python -m benchmarks.pydocs_peer", description=__doc__.split("\n")[0]
    )
    parser.add_argument("run", metavar="RUN", help="folder of a finished run")
    parser.add_argument("--workdir", required=True, help="folder of the peer")
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=1, help="of the search")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer_python", help="an environment with the peer")
    options = parser.parse_args()
    print(json.dumps(measure(options), indent=2))


def measure(options):
    """What results.json holds of a system, of the peer."""
    from tfcopy.experiments.pairs import translation_systems
    from tfcopy.recipes import pydocs_ps

    with open(os.path.join(options.run, "results.json")) as file:
        found = json.load(file)
    config = pydocs_ps.Config(**found["config"])
    data = pydocs_ps.prepare(config, os.path.join(options.run, "data"))
    (trained,) = {x["updates"] for x in found["systems"].values()}
    peer = opennmt_peer.open_peer(
        options.workdir,
        ".",
        trained,
        options.threads,
        peer_python=options.peer_python,
        write=functools.partial(_write, data, config.max_length),
        settings={
            "src_vocab_size": data.vocabularies[0].size,
            "tgt_vocab_size": data.vocabularies[1].size,
            "hidden_size": 2 * (config.encoder_units or config.units),
            "word_vec_size": config.embedding_dim,
            "dropout": [config.dropout],
            "learning_rate": options.learning_rate,
            # It has no linear decay; this is as near as it gets.
            "start_decay_steps": trained // 2,
            "decay_steps": trained // 12,
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
    answers = _answers(output, data.tokenizers[1])
    scores = translation_systems.score(answers, data, config.bleu_tokenize)
    return {**peer.trained(), **searched, **scores}


def _write(data, max_length, _, folder):
    """The files of the peer: tokens between blanks, and vocabularies."""
    splits = {
        "train": data.corpus.train,
        "val": data.corpus.validation,
        "test": data.test,
    }
    for name, pairs in splits.items():
        sides = [list(_tokens(data, pairs, side)) for side in (0, 1)]
        if name != "test":
            both = [
                pair
                for pair in zip(*sides)
                if all(0 < len(words) <= max_length for words in pair)
            ]
            sides = list(zip(*both))
        for side, rows in zip(opennmt_peer.SIDES, sides):
            lines = (" ".join(x) for x in rows)
            opennmt_peer.write_lines(folder / f"{name}.{side}", lines)
    for side, words in zip(opennmt_peer.SIDES, data.vocabularies):
        opennmt_peer.write_lines(folder / f"vocabulary.{side}", words.words[4:])


def _tokens(data, pairs, side):
    """The tokens of each text of one side."""
    import tensorflow as tf

    from tfcopy.experiments.pairs.pair_data import as_text

    texts = [as_text(pair[side]) for pair in pairs]
    for start in range(0, len(texts), 1000):
        some = tf.constant(texts[start : start + 1000])
        for row in data.tokenizers[side].tokenize(some).to_list():
            yield [_BLANK.join(word.decode().split()) for word in row]


def _answers(path, tokenizer):
    """The `Translation`s of a file of the peer."""
    import tensorflow as tf

    from tfcopy.runtime.answer_lines import Translation

    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    rows = [
        [word.replace(_BLANK, " ") for word in line.split()] for line in lines
    ]
    ragged = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    texts = [x.decode() for x in tokenizer.detokenize(ragged).numpy()]
    return [
        Translation(
            text, 0.0, row, copied_from=[-1] * len(row), source_tokens=[]
        )
        for text, row in zip(texts, rows)
    ]


if __name__ == "__main__":
    sys.exit(main())
