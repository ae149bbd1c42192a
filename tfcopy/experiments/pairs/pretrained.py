"""A pretrained network of KerasHub or a published translator: `--backbone`."""

import functools
import os
from typing import NamedTuple

from tfcopy import checked_files, models
from tfcopy.data.text.byte_pair_tokenizer import hub_pieces
from tfcopy.experiments.config import from_flags
from tfcopy.experiments.pairs.model_flags import BackboneConfig
from tfcopy.flags import name_flags
from tfcopy.keras_internals import forbid_imports
from tfcopy.serving import published_network, published_tokens


class Pieces(NamedTuple):
    """Subwords of a pretrained network.

    Attributes:
        tokenizers: Of source and target.
        vocabularies: The same.
        special_ids: As in `from_backbone`.
    """

    tokenizers: tuple
    vocabularies: tuple
    special_ids: tuple


def check(config: BackboneConfig):
    """Raises a ValueError that names flags which do not go together."""
    for name in ("freeze", "lora_rank"):
        value = getattr(config, name)
        if config.backbone is None and value not in (None, "none"):
            raise ValueError(f"--{name} needs --backbone.")
    if config.lora_rank is not None and config.freeze != "none":
        raise ValueError(
            "--lora_rank freezes the network itself already: leave out "
            f"--freeze. Received: --freeze {config.freeze}."
        )


@functools.lru_cache(maxsize=1)
def pieces(backbone: str, folder) -> Pieces:
    """Returns the tokenizers and the vocabularies of the network.

    Args:
        backbone: The value of the flag.
        folder: Where its tokenizers' files are kept, in a folder of their own.

    Raises:
        ValueError: In one line that names the flag or a file.
    """
    folder = os.path.join(folder, "pieces")
    if _is_published(backbone):
        config = published_network.read_config(backbone)
        try:
            tokens = published_tokens.read(backbone, config)
        except published_tokens.SeveralLanguages:
            raise ValueError(
                f"--backbone: {backbone} has several languages. Only a "
                "translator of one pair can be trained on."
            ) from None
        os.makedirs(folder, exist_ok=True)
        return Pieces(*tokens.make(folder), tokens.special_ids)
    tokenizer = _from_preset("tokenizers", "Tokenizer", backbone)
    hub = hub_pieces(tokenizer, folder)
    return Pieces((hub.tokenizer,) * 2, (hub.vocabulary,) * 2, hub.special_ids)


def _is_published(backbone):
    """Returns whether it is a translator's folder, as `import` reads it."""
    path = os.path.join(backbone, "config.json")
    return os.path.isfile(path) and "model_type" in checked_files.read_json(
        path
    )


def make_model(config, head, pieces, **coverage):
    """Builds the network with pointing on top.

    Args:
        config: The flags of a `BackboneConfig`, and `precision`,
            `pointing`, `attention_units`, `dropout`, `seed` and `coverage`.
        head: Name of the output head.
        pieces: `Pieces` of the network.
        **coverage: `coverage` and `coverage_enabled` of `from_backbone`, where
            no flag says so.
    """
    bias = None
    if _is_published(config.backbone):
        backbone, bias, _ = published_network.load(
            config.backbone, config.precision
        )
    else:
        backbone = _from_preset(
            "models", "Backbone", config.backbone, dtype=config.precision
        )
    with name_flags():
        model = from_flags(
            models.from_backbone,
            config,
            backbone=backbone,
            head=head,
            vocabulary_size=pieces.vocabularies[1].size,
            special_ids=pieces.special_ids,
            trainable=False if config.freeze == "all" else None,
            **coverage,
        )
    if bias is not None:
        model.head.bias.assign(bias[model.target_embedding.rows])
        if config.pointing == "heads" and config.attention_units is None:
            published_network.point_as_network(model)
    if config.freeze == "encoder":
        frozen = [*model.encoder.encoder_layers]
        if frozen[0] in model.encoder.parts.decoder_layers:
            raise ValueError(
                f"--freeze encoder: {config.backbone} is a decoder alone. Give "
                "--freeze all, or --lora_rank."
            )
        if model.source_embedding is not model.target_embedding:
            frozen.append(model.source_embedding.table)
        for layer in frozen:
            layer.trainable = False
    return model


def _from_preset(module, name, preset, **options):
    """Loads a part of a preset; an error names the flag."""
    import keras_hub  # takes a second

    try:
        kind = getattr(getattr(keras_hub, module), name)
        with forbid_imports():
            return kind.from_preset(preset, **options)
    # KerasHub's and its downloaders' own kinds, one of which is no `OSError`.
    except Exception as error:
        raise ValueError(
            f"--backbone: cannot read {preset} "
            f"({type(error).__name__}: {error})."
        ) from error
