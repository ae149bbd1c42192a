"""Models of the pointer softmax paper: how they are built and trained."""

import operator

import numpy as np

from tfcopy import losses, models
from tfcopy.data.alignment import likely_translations
from tfcopy.data.pairs import sampled_vocabulary
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.experiments.config import check_corpus
from tfcopy.experiments.pairs import model_flags, pair_training, pretrained
from tfcopy.flags import load_file
from tfcopy.models.assembly import head_class


def check(config: model_flags.PointerSoftmaxConfig):
    """Raises a ValueError that names a flag which makes no sense."""
    check_corpus(config)
    pretrained.check(config)
    model_flags.check(
        config,
        encoder_units=config.encoder_units,
        attention_units=config.attention_units,
        features={"--output_units": config.output_units},
    )


def make_model(config: model_flags.PointerSoftmaxConfig, data, head):
    """Builds the model of a system.

    Args:
        config: The flags.
        data: `PairData`.
        head: Name of its output head.
    """
    inherited = head_class(head).inherits & vars(config).keys()
    options = {name: getattr(config, name) for name in inherited}
    return model_flags.build_model(
        models.translator, config, data, head=head, **options
    )


def build(run, name, head, data, search, details, **more):
    """Builds a system, text in and text out.

    Args:
        run: `Run` of a `PointerSoftmaxConfig`.
        name: The name of the system and of its folder.
        head: Name of its output head.
        data: `PairData`.
        search: As in `make_translator`.
        details: Dict of what else an export remembers.
        **more: More arguments of `make_translator`.
    """
    config: model_flags.PointerSoftmaxConfig = run.config

    def own():
        count, candidates = config.search_candidates, {}
        if count is not None:
            count = min(count, data.vocabularies[1].size)
            candidates["candidate_ids"] = np.arange(count, dtype="int32")
        learnt = shortlist(config.shortlist, data)
        return {"shortlist": learnt, **more, **candidates}

    def model(config):
        if config.backbone is not None:
            pieces = pretrained.pieces(config.backbone, run.data_folder)
            return pretrained.make_model(config, head, pieces)
        made = make_model(config, data, head)
        layers = made.source_embedding, made.target_embedding
        for layer, vectors in zip(layers, data.vectors):
            if vectors is not None:
                layer.embeddings.assign(vectors.matrix)
        return made

    if config.candidates is not None:
        trained = operator.methodcaller("with_candidates")
        details = {"make_trained": trained, **details}
    return pair_training.build(run, name, data, model, search, own, **details)


def shortlist(flag, data):
    """Loads or learns the words that search generates; `None` for all."""
    if flag != "dictionary":
        return load_file(Dictionary, flag, "--shortlist")
    return likely_translations.learn(
        data.train, *data.vocabularies, progress=True
    )


def training_options(system, head, data) -> dict:
    """Returns arguments of `pair_training.train` for a system.

    The baseline, which cannot point, generates UNK for every unknown word.
    With `--candidates` the output layer of an update knows some words only.

    Args:
        system: `System`.
        head: Name of its output head.
        data: `PairData`.
    """
    config: model_flags.PointerSoftmaxConfig = system.config
    options = {"loss": losses.of_head(system.model.head)}
    if head != "softmax":
        options["metrics"] = pair_training.measure_labelled_copies
    if config.candidates is None:
        return options
    size = data.vocabularies[1].size

    def add_candidates(dataset):
        return sampled_vocabulary.add_candidates(
            dataset, size, config.candidates, config.candidates_from
        )

    def add_all(dataset):
        return sampled_vocabulary.add_candidates(dataset, size)

    change = {"train": add_candidates, "dev": add_all}
    return {**options, "restricted": size, "change": change}
