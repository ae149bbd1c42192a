"""Planners and their baseline: model, training, pictures of plans.

Shapes: B sentences, T target steps, S source steps.
"""

import numpy as np
import tensorflow as tf

from tfcopy import losses, models, tokens
from tfcopy.data.pairs import copy_ids
from tfcopy.experiments import reporting
from tfcopy.experiments.config import config_for_system
from tfcopy.experiments.pairs import copynet_systems, model_flags, pair_training
from tfcopy.layers import PlannedDistribution


def build(run, name, data, max_target_length):
    """Builds a system, text in and text out.

    Args:
        run: `Run` of a `PlannerConfig`.
        name: Of a kind in `models.planner.SYSTEMS`, `_ln` behind it or not.
        data: `PairData`.
        max_target_length: Most tokens of an answer, with its end.
    """
    return pair_training.build(
        run,
        name,
        data,
        lambda config: make_model(config, data, run.kinds[name]),
        {"max_length": max_target_length, "rescale": True},
    )


def check(config: model_flags.PlannerConfig):
    """Raises a ValueError that names flags which do not go together."""
    for name in config.systems:
        own = config_for_system(config, name)
        model_flags.check(own, encoder_units=own.encoder_units)
    others = set(config.systems) - {"baseline", "baseline_ln"}
    if config.decoder == "transformer" and others:
        raise ValueError(
            "--decoder transformer does not plan: it needs --systems "
            f"baseline. Received: {config.systems}."
        )
    if config.decoder == "transformer" and "baseline_ln" in config.systems:
        raise ValueError(
            "--decoder transformer has layer normalisation of its own, and "
            "takes no other."
        )


def make_model(config: model_flags.PlannerConfig, data, kind):
    """Builds a model of `models.planner.SYSTEMS`, with or without `_ln`.

    `_ln` adds layer normalisation to the decoder.
    """
    return model_flags.build_model(
        models.planner,
        config,
        data,
        system=kind.removesuffix("_ln"),
        use_gate=config.update_gate,
        layer_norm=kind.endswith("_ln"),
    )


def train(system, data):
    """Trains a system, or resumes its training; returns its results."""
    config: model_flags.PlannerConfig = system.config
    options = {}
    if not system.name.startswith("baseline"):
        options["metrics"] = plan_metrics
        if config.commitment_penalty:
            options["penalty"] = losses.CommitmentPenalty(
                config.commitment_penalty
            )
    return copynet_systems.train(system, data, **options)


def plan_metrics(batch, distribution):
    """Computes the share of steps that replan, and the mean deviation."""
    mean = pair_training.mean_over_targets
    return {
        "replan_share": mean(distribution.replan, batch),
        "commitment_deviation": mean(distribution.commitment_deviation, batch),
    }


def plans_of(model, data, pair):
    """Computes a model's attention and replanning steps for a target.

    Args:
        model: A `Seq2Seq`.
        data: `PairData`.
        pair: Source and target, texts.

    Returns:
        `(source_words, target_words, weights, replan)`; `weights` is
        `(T, S)`, and `replan` `(T,)`, or `None` of a model without a plan.
    """
    words = [
        tokenizer.tokenize(tf.constant([text]))
        for tokenizer, text in zip(data.tokenizers, pair)
    ]
    batch = copy_ids.encode_pairs(
        *words,
        *data.vocabularies,
        fold_source=data.tokenizers[0].fold,
        fold_target=data.tokenizers[1].fold,
    )
    batch = {name: batch[name].to_tensor() for name in model.input}
    distribution = model(batch)
    source, target = ([x.decode() for x in row[0].numpy()] for row in words)
    end = [tokens.SPECIAL_TOKENS[tokens.EOS]]
    replan = None
    if isinstance(distribution, PlannedDistribution):
        replan = np.array(distribution.replan[0]) > 0.5
    return (
        source + end,
        target + end,
        np.exp(distribution.attention[0]),
        replan,
    )


def draw_plans(run, data):
    """Draws the plans of all systems for the first test pair, side by side.

    The picture is `plans.png` in the run's folder, and is shown in TensorBoard.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), Figure 3.
    """
    if reporting.figures is None:
        return
    picture = reporting.figures.plans_figure(
        {
            name: plans_of(system.model, data, data.test[0])
            for name, system in run.systems.items()
        }
    )
    reporting.keep_picture(picture, run.folder, "plans")
