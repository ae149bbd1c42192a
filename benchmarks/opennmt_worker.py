"""Runs OpenNMT-py 3.5.1 and measures it; started by `opennmt_peer.py`.

This file runs under the Python of the peer's own virtual environment. It calls
the peer's `train` and `translate` with the peer's own flags, and takes times
from outside; none of the peer's arithmetic is changed.

Run: python opennmt_worker.py {train,translate} RESULT.json PEER_FLAGS...
"""

import functools
import json
import os
import resource
import statistics
import sys
import time

import onmt.bin.train
import onmt.bin.translate
import onmt.inference_engine
import onmt.model_builder
import onmt.train_single
import onmt.trainer
import torch

WARM_UP_STEPS = 10


class StepRecorder:
    """Notes the moment and the target tokens of each update of the peer.

    A step lasts from the end of one update to the end of the next: it holds
    the making of the batch, both passes, the update, and the peer's own
    accuracy statistics.
    """

    def __init__(self):
        self.moments, self.tokens = [], []
        self.updates = 0  # also those before a training was resumed
        self.dev_perplexity = None

    def attach(self, trainer_class):
        update = trainer_class._gradient_accumulation
        validate = trainer_class.validate

        def recorded_update(trainer, batches, *args):
            update(trainer, batches, *args)
            padding = trainer.train_loss.padding_idx
            self.moments.append(time.perf_counter())
            self.updates = trainer.optim.training_step - 1  # that to come
            self.tokens.append(
                # The first column is BOS, which is not predicted.
                sum(int((b["tgt"][:, 1:, 0] != padding).sum()) for b in batches)
            )

        def recorded_validate(*args, **kwargs):
            scores = validate(*args, **kwargs)
            self.dev_perplexity = scores.ppl()
            return scores

        trainer_class._gradient_accumulation = recorded_update
        trainer_class.validate = recorded_validate

    def summary(self):
        first = max(1, min(WARM_UP_STEPS, len(self.tokens) - 1))
        steps = range(first, len(self.tokens))
        seconds = [self.moments[i] - self.moments[i - 1] for i in steps]
        tokens = [self.tokens[i] for i in steps]
        rates = [count / span for count, span in zip(tokens, seconds)]
        return {
            "updates": self.updates,
            "measured_updates": len(steps),
            "target_tokens_per_s": statistics.median(rates) if rates else None,
            "mean_target_tokens_per_s": (
                sum(tokens) / sum(seconds) if rates else None
            ),
            "dev_perplexity": self.dev_perplexity,
        }


def repair_copy_path():
    """Repairs the two places that keep the copy model from being used.

    1. `BaseModel.load_state_dict` looks for the generator's weights under the
       name of the parameter ("weight"), but the copy generator has two layers
       and is saved with their names ("linear.weight", "linear_copy.weight").
       The weights are handed over under the path of the module, where it looks
       first.
    2. `InferenceEngine.infer_file` builds its data without `copy=True`, so that
       the batches lack the source vocabulary that the copy generator needs.

    One defect is left as it is, since the peer runs with it: when sentences of
    a batch are finished, `collapse_copy_scores` reads the source vocabularies
    of the batch as if none had left it, so that some of its translations (8 of
    200 after 500 updates) change with the batch size.
    """
    load_checkpoint = onmt.model_builder.load_checkpoint

    def load_with_paths(ckpt_path):
        checkpoint = load_checkpoint(ckpt_path)
        for name, weight in checkpoint["generator"].items():
            checkpoint["model"][f"generator.{name}"] = weight
        checkpoint["generator"] = {}
        return checkpoint

    onmt.model_builder.load_checkpoint = load_with_paths
    onmt.train_single.load_checkpoint = load_with_paths  # resumes a training
    onmt.inference_engine.build_dynamic_dataset_iter = functools.partial(
        onmt.inference_engine.build_dynamic_dataset_iter, copy=True
    )


def train(flags):
    """Trains as the peer's command does; returns rate and dev perplexity."""
    recorder = StepRecorder()
    recorder.attach(onmt.trainer.Trainer)
    options, _ = onmt.bin.train._get_parser().parse_known_args(flags)
    onmt.bin.train.train(options)
    return recorder.summary()


def translate(flags):
    """Translates as the peer's command does; returns the seconds it took.

    Counted: reading the text, words to ids, encoder, beam search, ids to words,
    writing the text. Not counted: starting Python, imports, loading the model.
    """
    infer_file = onmt.inference_engine.InferenceEnginePY.infer_file
    seconds = []

    def timed_infer_file(engine):
        start = time.perf_counter()
        result = infer_file(engine)
        seconds.append(time.perf_counter() - start)
        return result

    onmt.inference_engine.InferenceEnginePY.infer_file = timed_infer_file
    options = onmt.bin.translate._get_parser().parse_args(flags)
    onmt.bin.translate.translate(options)
    return {"seconds": seconds[0]}


def main():
    job, result_path, *flags = sys.argv[1:]
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    repair_copy_path()
    result = {"train": train, "translate": translate}[job](flags)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux
    result.update(peak_memory_mib=peak / 1024, torch=torch.__version__)
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
