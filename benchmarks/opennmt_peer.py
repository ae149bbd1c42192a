"""Measures OpenNMT-py 3.5.1 and its copy attention on Multi30k English-French.

Installs the peer into a virtual environment of its own, trains the model at the
sizes of our comparison, if WORKDIR has none, and prints the rate of training
and the seconds to translate test_2016_flickr with beam 5 at batch size 32 and
one by one.

Run: python benchmarks/opennmt_peer.py --workdir DIR --data_dir DIR

DATA_DIR holds the publisher's tokenised, lower-cased files, such as
train.lc.norm.tok.en.gz. The full training takes about 25 minutes on 2 cores.
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys

WORKER = pathlib.Path(__file__).with_name("opennmt_worker.py")
PEER = "OpenNMT-py==3.5.1"
TORCH = "torch==2.13.0"  # the peer asks for less than 2.3, but runs with it
# What the peer imports when it trains and translates, and nothing more.
REQUIREMENTS = (
    "configargparse",
    "numpy",
    "pyonmttok>=1.37,<2",
    "pyyaml",
    "regex",
    "sacrebleu",
)
# Imported by text transforms of the peer that are not used here: empty modules
# stand in for them. Each with the names that are imported from it.
STUBS = {
    "ahocorasick": (),
    "fasttext": (),
    "rapidfuzz": ("fuzz", "process"),
    "spacy": (),
}
SIDES = {"source": "en", "target": "fr"}
SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}
VOCABULARY_SIZE = 10_000  # a side, of which 4 are the peer's special tokens
MODEL = {
    "encoder_type": "brnn",
    "decoder_type": "rnn",
    "rnn_type": "GRU",  # the peer's default is LSTM; our decoder is a GRU
    "layers": 1,
    "hidden_size": 512,  # of the encoder 256 in each direction
    "word_vec_size": 256,
    "copy_attn": True,
    "dropout": [0.2],
}
# The settings of its documentation for a Transformer, at a small size; the
# warm-up and the factor of the learning rate suit a short training.
TRANSFORMER = {
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "position_encoding": True,
    "layers": 3,
    "hidden_size": 256,
    "word_vec_size": 256,
    "heads": 4,
    "transformer_ff": 1024,
    "dropout": [0.1],
    "attention_dropout": [0.1],
    "share_decoder_embeddings": True,
    "label_smoothing": 0.1,
    "param_init": 0,
    "param_init_glorot": True,
    "adam_beta2": 0.998,
    "decay_method": "noam",
    "learning_rate": 0.5,
    "warmup_steps": 400,
}
# What replaces the settings of `MODEL` and `TRAINING`.
SETTINGS = {"gru": {}, "transformer": TRANSFORMER}
TRAINING = {
    "optim": "adam",
    "learning_rate": 0.001,
    "max_grad_norm": 1,
    "batch_size": 64,
    "batch_type": "sents",
    "bucket_size": 16384,  # sentences sorted by length: hardly any padding
    "num_workers": 0,  # workers would take the cores from the training
    "report_every": 20,
    "seed": 1,
}
BEAM_SIZE = 5
SAVE_EVERY = 500  # updates; from the last of them a training is resumed


def open_peer(
    workdir,
    data_dir,
    updates=2000,
    threads=2,
    peer_python=None,
    gpu=False,
    write=None,
    settings={},
):
    """The peer with its trained model, which is trained once.

    Args:
        workdir: Folder for the environment, the data, models and logs.
        data_dir: Folder with the tokenised Multi30k files (`*.gz`), or what
            else `write` reads.
        updates: Updates of the model that translates; `None` for no model.
        threads: Threads of the peer.
        peer_python: Python of an environment that has the peer already; without
            it the environment is made in `workdir`.
        gpu: Whether it trains on the first GPU.
        write: Function of `data_dir` and a folder that writes the data, as
            `write_data` does, which is meant if it is not given.
        settings: Settings of the peer other than those of Multi30k.

    Returns:
        A `Peer`.
    """
    workdir = pathlib.Path(workdir).absolute()
    workdir.mkdir(parents=True, exist_ok=True)
    python = peer_python or install(workdir / "venv")
    check_installed(python, "onmt", PEER)
    peer = Peer(workdir, python, updates, threads, gpu)
    write_stubs(workdir / "stubs")
    (workdir / "data").mkdir(exist_ok=True)
    (write or write_data)(pathlib.Path(data_dir), workdir / "data")
    write_config(workdir / "config.yaml", workdir / "data", settings)
    if updates is not None and peer.trained() is None:
        peer.train("model", updates)
    return peer


def install(environment):
    """Makes the peer's virtual environment, once; returns its Python."""
    python = environment / "bin" / "python"
    done = environment / "installed.txt"
    wanted = "\n".join((TORCH, PEER, *REQUIREMENTS))
    if done.exists() and done.read_text() == wanted:
        return python
    pip = (python, "-m", "pip", "install", "--quiet")
    for command in (
        (sys.executable, "-m", "venv", environment),
        (*pip, TORCH),
        (*pip, "--no-deps", PEER),
        (*pip, *REQUIREMENTS),
    ):
        if subprocess.run(command).returncode:
            sys.exit(f"{PEER} cannot be installed. Name a --peer_python.")
    done.write_text(wanted)
    return python


def check_installed(python, module, peer):
    """Ends the process with a line if a Python lacks a peer."""
    command = [python, "-c", f"import {module}"]
    if subprocess.run(command, capture_output=True).returncode:
        sys.exit(f"{peer} is not installed for {python}.")


def write_stubs(folder):
    folder.mkdir(exist_ok=True)
    for module, names in STUBS.items():
        lines = ['"""Stands in for a package that is not used here."""']
        lines += [f"{name} = None" for name in names]
        (folder / f"{module}.py").write_text("\n".join(lines) + "\n")


def write_data(source, folder):
    """Unpacks the corpus and writes the vocabularies, most frequent first.

    Blanks that follow each other become one, since the peer splits at each of
    them, and cannot read a vocabulary that holds the empty word.
    """
    for side, language in SIDES.items():
        for split, name in SPLITS.items():
            path = source / f"{name}.lc.norm.tok.{language}.gz"
            with gzip.open(path, "rt", encoding="utf-8") as file:
                sentences = [line.split() for line in file]
            write_lines(folder / f"{split}.{side}", map(" ".join, sentences))
            if split == "train":
                counts = collections.Counter(
                    word for words in sentences for word in words
                )
                words = sorted(counts, key=lambda word: (-counts[word], word))
                write_lines(
                    folder / f"vocabulary.{side}", words[: VOCABULARY_SIZE - 4]
                )


def write_config(path, data, settings):
    config = {
        "data": {
            name: {
                "path_src": str(data / f"{split}.source"),
                "path_tgt": str(data / f"{split}.target"),
                "transforms": [],
                "weight": 1,
            }
            for name, split in (("train", "train"), ("valid", "val"))
        },
        "src_vocab": str(data / "vocabulary.source"),
        "tgt_vocab": str(data / "vocabulary.target"),
        "src_vocab_size": VOCABULARY_SIZE,
        "tgt_vocab_size": VOCABULARY_SIZE,
        **MODEL,
        **TRAINING,
        **settings,
    }
    path.write_text(json.dumps(config, indent=2))  # JSON is YAML as well


def bleu(hypotheses, references):
    """BLEU of two files of tokenised text, with the signature of sacrebleu."""
    from sacrebleu.metrics import BLEU  # needed only once all is translated

    hypotheses, references = (
        path.read_text(encoding="utf-8").split("\n")[:-1]
        for path in (hypotheses, references)
    )
    metric = BLEU(tokenize="none", force=True)
    score = metric.corpus_score(hypotheses, [references]).score
    return {"bleu": score, "signature": str(metric.get_signature())}


class Peer:
    """Starts the worker in the peer's environment, one job at a time."""

    def __init__(self, workdir, python, updates, threads, gpu=False):
        self.workdir, self.python = workdir, python
        self.updates, self.gpu = updates, gpu
        self.variables = {
            **os.environ,
            "PYTHONPATH": str(workdir / "stubs"),
            "PYTHONWARNINGS": "ignore::FutureWarning",
            "OMP_NUM_THREADS": str(threads),
            **({} if gpu else {"CUDA_VISIBLE_DEVICES": ""}),
            # The peer keeps its flags, an object, in its checkpoints.
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
        }

    @property
    def model(self):
        """File of the model that translates."""
        return self.workdir / f"model_step_{self.updates}.pt"

    def trained(self):
        """What an earlier run noted on its model, if there is that model."""
        summary = self.workdir / "model.json"
        if self.model.exists() and summary.exists():
            summary = json.loads(summary.read_text())
            return summary if summary["updates"] == self.updates else None

    def time_training(self, updates=60):
        """Rate and memory of some updates, the first 10 of them warm-up.

        Returns:
            A dict that JSON can hold: median target tokens per second, with end
            of sentence and without padding; peak memory.
        """
        found = self.train("timing", updates, validate=False)
        (self.workdir / f"timing_step_{updates}.pt").unlink()
        return {
            **found,
            "target_tokens_per_second": found["target_tokens_per_s"],
        }

    def time_search(self, batch_size):
        """Seconds without the loading of the model, peak memory, BLEU."""
        return self.translate(self.model, batch_size)

    def train(self, name, updates, validate=True):
        """Trains, from the last checkpoint of that name if there is one."""
        saved = {
            int(path.stem.rsplit("_", 1)[1]): path
            for path in self.workdir.glob(f"{name}_step_*.pt")
        }
        flags = {
            "config": self.workdir / "config.yaml",
            "save_model": self.workdir / name,
            "train_steps": updates,
            "save_checkpoint_steps": SAVE_EVERY,
            "keep_checkpoint": 1,
            "valid_steps": updates if validate else updates + 1,
        }
        if saved:
            flags["train_from"] = saved[max(saved)]
        if self.gpu:
            flags |= {"world_size": 1, "gpu_ranks": 0}
        return self._run("train", name, flags)

    def translate(self, model, batch_size):
        output, result = self.write_translation(model, batch_size)
        reference = self.workdir / "data" / "test.target"
        return {**result, **bleu(output, reference)}

    def write_translation(self, model, batch_size, **flags):
        """The file of translations of the test set, and what was measured."""
        name = f"translation_{batch_size}"
        output = self.workdir / f"{name}.txt"
        flags = {
            "model": model,
            "src": self.workdir / "data" / "test.source",
            "output": output,
            "batch_size": batch_size,
            "beam_size": BEAM_SIZE,
            **flags,
        }
        result = self._run("translate", name, flags)
        result.pop("torch")
        return output, result

    def _run(self, job, name, flags):
        """Runs one job of the worker; returns the result that it writes."""
        result = self.workdir / f"{name}.json"
        log = self.workdir / f"{name}.log"
        flags = [str(x) for key in flags for x in (f"-{key}", flags[key])]
        print(f"OpenNMT-py: {job}, log in {log}", file=sys.stderr, flush=True)
        with log.open("w") as file:
            status = subprocess.run(
                [self.python, WORKER, job, result, *flags],
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            ).returncode
        if status != 0:
            raise RuntimeError(
                f"OpenNMT-py ended with status {status} on `{job}`; its "
                f"messages are in {log}."
            )
        return json.loads(result.read_text())


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--data_dir", required=True)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer_python")
    parser.add_argument("--model", choices=SETTINGS, default="gru")
    options = vars(parser.parse_args())
    settings = SETTINGS[options.pop("model")]
    peer = open_peer(**options, settings=settings)
    print(
        json.dumps(
            {
                "peer": PEER,
                "torch": TORCH,
                "settings": {
                    **MODEL,
                    **TRAINING,
                    **settings,
                    "beam_size": BEAM_SIZE,
                },
                "model": peer.trained(),
                "training": peer.time_training(),
                "translation": {
                    f"batch_{size}": peer.time_search(size) for size in (32, 1)
                },
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
