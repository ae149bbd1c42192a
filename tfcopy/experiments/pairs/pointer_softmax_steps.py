"""Models of the pointer softmax paper: how they are built and trained."""

from tfcopy import losses, models
from tfcopy.data.pairs import sampled_vocabulary
from tfcopy.experiments import flag_checks
from tfcopy.experiments.pairs import model_flags, pair_training
from tfcopy.experiments.pairs.model_flags import PointerSoftmaxConfig


def check(config: PointerSoftmaxConfig):
    """Raises a ValueError that names a flag which makes no sense."""
    flag_checks.check_vocabulary_sizes(
        config,
        "source_vocabulary_size",
        "target_vocabulary_size",
        "candidates",
        "search_candidates",
    )
    flag_checks.check_activation(config.switch_activation, "switch_activation")
    flag_checks.check_files(config)
    model_flags.check(
        config,
        encoder_units=config.encoder_units,
        attention_units=config.attention_units,
        features={"--output_units": config.output_units},
    )


def make_model(config: PointerSoftmaxConfig, data, head):
    """The model of a system.

    Args:
        config: The flags.
        data: `PairData`.
        head: Name of its output head.
    """
    options = model_flags.model_options(config)
    if head == "pointer_softmax":
        options |= {
            "switch_activation": config.switch_activation,
            "switch_bias": config.switch_bias,
        }
    return models.gru_translator(
        data.vocabularies[0].size,
        data.vocabularies[1].size,
        head=head,
        embedding_dim=config.embedding_dim,
        units=config.units,
        encoder_units=config.encoder_units,
        attention_units=config.attention_units,
        output_units=config.output_units,
        coverage=config.coverage,
        dropout=config.dropout,
        initializers=config.initializers,
        seed=config.seed,
        **options,
    )


def make_trained(config: PointerSoftmaxConfig, model):
    """The model that is trained: with `--candidates` it takes those, too."""
    return model if config.candidates is None else model.with_candidates()


def train(system, head, data):
    """Trains a system, or resumes its training.

    The baseline, which cannot point, generates UNK for every unknown word.
    With `--candidates` the output layer of an update knows some words only.

    Returns:
        `(result, results)`: the trainer's, and the system's part of
        results.json.
    """
    config: PointerSoftmaxConfig = system.config
    loss, options = losses.of_head(system.model.head), {}
    if config.candidates is not None:
        size = data.vocabularies[1].size
        options["restricted"] = size

        def add_candidates(dataset):
            return sampled_vocabulary.with_candidates(
                dataset, size, config.candidates, config.candidates_from
            )

        def add_all(dataset):
            return sampled_vocabulary.with_candidates(dataset, size)

        options["change"] = {"train": add_candidates, "dev": add_all}
    metrics = None if head == "softmax" else pair_training.labelled_copies
    _, result, results = pair_training.train(
        system,
        data,
        loss,
        metrics=metrics,
        normalize=config.normalize,
        **options,
    )
    return result, results
