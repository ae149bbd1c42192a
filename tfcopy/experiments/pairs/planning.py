"""What recipes with planners do alike: models, training, pictures of plans.

Shapes: B sentences, T target steps, S source steps.
"""

import os

import keras
import numpy as np
import tensorflow as tf

from tfcopy import losses, tokens
from tfcopy.data.pairs import copy_ids
from tfcopy.experiments import learning_curves, reporting, restoring
from tfcopy.experiments.pairs import copynet_steps
from tfcopy.layers import PlannedDistribution
from tfcopy.models import planner

try:
    from tfcopy.figures import attention_figures as figures
except ImportError:  # matplotlib is an extra
    figures = None


def config_of(config, system):
    """The config of one system: flags that start with `baseline_` are its own.

    Args:
        config: The recipe's config.
        system: Name of the system; a baseline's starts with `baseline`.
    """
    if not system.startswith("baseline"):
        return config
    return reporting.baseline_config(config)


def train_system(config, system, data, strategy, folder, layer_norm):
    """Builds a system and trains it, or goes on training it.

    Args:
        config: The recipe's config.
        system: One of `models.planner.SYSTEMS`, `_ln` behind it or not.
        data: `common.Data`.
        strategy: Of `tf.distribute`.
        folder: Of the run.
        layer_norm: Whether the decoder's layers are normalised.

    Returns:
        `(translator, results)`; `history` is among the results.
    """
    own = config_of(config, system)
    model = build_model(own, data, system, strategy, layer_norm)
    print(f"{reporting.num_parameters(model):,} parameters")
    translator = copynet_steps.build_translator(own, model, data)
    results = train(own, system, model, translator, data, folder)
    log_dir = os.path.join(folder, system)
    results["history"] = learning_curves.history(log_dir, data.validation)
    return translator, results


def build_model(config, data, system, strategy, layer_norm):
    """The system's model, the same at each start."""
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        return planner(
            *(words.size for words in data.vocabularies),
            system=system.removesuffix("_ln"),
            decoder=config.decoder,
            head=config.head,
            embedding_dim=config.embedding_dim,
            units=config.units,
            encoder_units=config.encoder_units,
            query=config.query,
            plan_steps=config.plan_steps,
            summary_units=config.summary_units,
            use_gate=config.update_gate,
            switch=config.switch,
            resample=config.resample,
            always_replan=config.always_replan,
            layer_norm=layer_norm,
            planner_layer_norm=config.planner_layer_norm,
            dropout=config.dropout,
            initializers=config.initializers,
            seed=config.seed,
        )


# Flags that a run may not change half-way; the sizes show in the weights.
FIXED = (*copynet_steps.FIXED, "switch", "resample", "always_replan")
FIXED += ("commitment_penalty", "query")


def train(config, system, model, translator, data, folder):
    """Trains a system, or goes on training it; returns its results."""
    plans = system != "baseline"
    penalty = None
    if plans and config.commitment_penalty:
        penalty = losses.CommitmentPenalty(config.commitment_penalty)
    return copynet_steps.train(
        config,
        system,
        model,
        translator,
        data,
        folder,
        head=config.head,
        metrics=plan_metrics if plans else None,
        penalty=penalty,
        fixed=FIXED,
    )


def plan_metrics(batch, distribution):
    """The share of steps that plan anew, and the mean deviation."""
    mask = tf.cast(batch["target_ids"] != tokens.PAD, tf.float32)
    total = tf.reduce_sum(mask)
    return {
        "replan_share": tf.reduce_sum(distribution.replan * mask) / total,
        "commitment_deviation": tf.reduce_sum(
            distribution.commitment_deviation * mask
        )
        / total,
    }


def plans_of(model, data, pair, append_eos=True):
    """Where a model looks, and when it plans, while it says a target.

    Args:
        model: A `Seq2Seq`.
        data: `common.Data`.
        pair: Source and target, texts.
        append_eos: Whether a source ends with a mark.

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
        append_eos=append_eos,
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
        source + end * append_eos,
        target + end,
        np.exp(distribution.attention[0]),
        replan,
    )


def draw_plans(models, data, pair, folder, append_eos=True):
    """Draws the plans of all systems side by side: `plans.png`.

    Also to TensorBoard.

    Args:
        models: System to its model.
        data, pair, append_eos: As of `plans_of`.
        folder: Of the run.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087), Figure 3.
    """
    if figures is None:
        return
    picture = figures.plans_figure(
        {
            system: plans_of(model, data, pair, append_eos)
            for system, model in models.items()
        }
    )
    path = os.path.join(folder, "plans.png")
    reporting.keep_picture(picture, path)


def export(translators, config, results, metric, words):
    """Exports the best system; returns its name and the path."""
    best = max(results, key=lambda system: results[system][metric])
    path = restoring.export(
        restoring.servable(best, translators[best], words),
        config.savedmodel_dir,
        **{metric: results[best][metric]},
    )
    return best, path


def restore(config, system, folder, checkpoint, words, layer_norm):
    """A trained system as `export` exports it.

    Args:
        config: The recipe's config.
        system: Its name.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.
        words: `Words`.
        layer_norm: As of `train_system`.

    Returns:
        `restored.Servable`.
    """
    own = config_of(config, system)
    strategy = tf.distribute.get_strategy()
    model = build_model(own, words, system, strategy, layer_norm)
    restoring.load_weights(
        model, os.path.join(folder, system), checkpoint, words.identity
    )
    translator = copynet_steps.build_translator(own, model, words)
    return restoring.servable(system, translator, words)
