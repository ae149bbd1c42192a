"""Parts of models that are chosen by name: heads, encoders, initializers."""

import functools
import importlib

import keras

from tfcopy import layers
from tfcopy.layers import configured
from tfcopy.tokens import HEADS


def make_embedding(size, embedding_dim, initializer, name, tied=False):
    """Makes an embedding layer whose table stays in float32.

    Mixed precision would cast the whole table at each use.

    Args:
        size: Number of words.
        embedding_dim: Size of an embedding.
        initializer: Initializer of the table.
        name: Name of the layer.
        tied: Whether the table is also the output matrix. Its initializer is
            then a normal distribution that gives the logits of features near 1
            a size near 1 at first.
    """
    if tied:
        deviation = embedding_dim**-0.5
        initializer = keras.initializers.RandomNormal(stddev=deviation)
    return keras.layers.Embedding(
        size,
        embedding_dim,
        embeddings_initializer=initializer,
        dtype="float32",
        name=name,
    )


def make_embeddings(
    source_size, target_size, embedding_dim, initializer, tied, source_embedding
):
    """Returns both embeddings of a `Seq2Seq`, by the names of its arguments.

    Args:
        source_size: Number of words of the source.
        target_size: Number of words of the target.
        embedding_dim: As in `make_embedding`.
        initializer: As in `make_embedding`.
        tied: Whether the target's table is also the output matrix.
        source_embedding: Layer instead of the source's table, or `None`.
    """
    embed = functools.partial(
        make_embedding, embedding_dim=embedding_dim, initializer=initializer
    )
    source = source_embedding or embed(source_size, name="source_embedding")
    target = embed(target_size, name="target_embedding", tied=tied)
    return {"source_embedding": source, "target_embedding": target}


def get_registered_heads():
    """Returns the head classes that stored configs may contain, by name.

    These are `HEADS`, and classes that users registered.
    """
    return {
        name: kind
        for name, kind in keras.saving.get_custom_objects().items()
        if isinstance(kind, type) and issubclass(kind, layers.SoftmaxHead)
    } | {name: getattr(layers, x) for name, x in HEADS.items()}


def head_class(head: str, may_import=True):
    """Returns the class of a head.

    Args:
        head: A name of `HEADS`, the name of a registered subclass of
            `SoftmaxHead`, or `MODULE:CLASS`, which is imported.
        may_import: Whether the name comes from the user. For a name from a
            file, nothing is imported: the class must be registered already.

    Raises:
        ValueError: If there is no such class.
    """
    if (found := get_registered_heads().get(head)) is not None:
        return found
    module, colon, name = str(head).partition(":")
    if not (colon and may_import):
        raise ValueError(
            f"`head` must be one of {sorted(HEADS)}, or MODULE:CLASS"
            + ("" if may_import else ", imported before the file is read")
            + f". Received: {head!r}."
        )
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # The module may do anything.
        raise ValueError(
            f"{head}: cannot be imported ({type(error).__name__}: {error})."
        ) from error
    if not any(found is x for x in get_registered_heads().values()):
        raise ValueError(
            f"{head}: not a head; it must be a subclass of "
            "tfcopy.layers.SoftmaxHead, and it must be registered, so that "
            "stored models can be loaded: "
            "@keras.saving.register_keras_serializable(package=...)."
        )
    return found


def make_head(head, vocabulary_size, defaults={}, **options):
    """Makes a head from its name or class; returns a layer unchanged.

    Args:
        head: Argument or result of `head_class`, or a head layer.
        vocabulary_size: Positive integer.
        defaults: Dict of what the model has for arguments that the head
            `inherits`.
        options: Arguments of the head. An option that is `None` keeps the
            head's default.
    """
    if isinstance(head, keras.Layer):
        return head
    kind = head if isinstance(head, type) else head_class(head)
    options = {k: v for k, v in options.items() if v is not None}
    options = {
        k: defaults[k] for k in kind.inherits & defaults.keys()
    } | options
    return kind(vocabulary_size, name="head", **options)


def make_initializers(name):
    """Returns initializers for models that follow the dl4mt tutorial.

    Args:
        name: `"keras"` (Glorot, orthogonal, embeddings with standard deviation
            1) or `"dl4mt"` (orthogonal if square, otherwise normal with
            standard deviation 0.01; the readout is never orthogonal).

    Returns:
        `(kernel, recurrent, readout, embedding)`.
    """
    configured.check_choice("initializers", name, ("keras", "dl4mt"))
    if name == "keras":
        # With Keras's default, which is small, attention begins to learn only
        # after hundreds of updates.
        embedding = keras.initializers.RandomNormal(stddev=1.0)
        return "glorot_uniform", "orthogonal", "glorot_uniform", embedding
    kernel = configured.SquareOrthogonal()
    readout = keras.initializers.RandomNormal(stddev=0.01)
    embedding = keras.initializers.RandomNormal(stddev=0.01)
    return kernel, kernel, readout, embedding


def lstm_maker(
    units, kernel_initializer, recurrent_initializer, unit_forget_bias
):
    """Returns a function of a class of LSTMs and a name, which makes one.

    Args:
        units: Size of the states, of one direction.
        kernel_initializer: Initializer, of which each LSTM has a copy.
        recurrent_initializer: As `kernel_initializer`.
        unit_forget_bias: Whether the biases of forget gates start at 1.
    """

    def make_lstm(kind, name):
        return kind(
            units,
            configured.clone_initializer(kernel_initializer),
            configured.clone_initializer(recurrent_initializer),
            unit_forget_bias=unit_forget_bias,
            name=name,
        )

    return make_lstm


def make_encoder(encoder, recurrent, *arguments, **options):
    """Returns the chosen encoder; annotations of both have the same size.

    Args:
        encoder: `"transformer"`, or any other name for `recurrent`.
        recurrent: The recurrent encoder; `units` is the size of one direction.
        *arguments: Arguments of `TransformerAnnotations` after `units`.
        **options: More of these arguments, by name.
    """
    if encoder != "transformer":
        return recurrent
    return layers.TransformerAnnotations(
        2 * recurrent.units, *arguments, name="encoder", **options
    )


def transformer_cell(
    units,
    attention_units=None,
    *,
    pointing="heads",
    coverage=False,
    coverage_enabled=True,
    num_heads=4,
    **options,
):
    """Makes a `TransformerCell` with an attention that points.

    Args:
        units: Size of the hidden states, a multiple of `num_heads`.
        attention_units: Size of the attention; `units` if `None`.
        pointing: `"heads"` (the mean of the weights of `num_heads` heads) or
            `"additive"`, which needs memory for target tokens x source tokens x
            `attention_units` numbers.
        coverage: Whether this attention has coverage, the sum of its earlier
            weights.
        coverage_enabled: Whether coverage is on from the start.
        num_heads: Heads of all attentions.
        options: More arguments of `TransformerCell`.
    """
    size = attention_units or units
    attention = make_attention(
        size, num_heads, pointing, coverage, coverage_enabled
    )
    return layers.TransformerCell(
        units, attention, num_heads=num_heads, name="cell", **options
    )


def make_attention(
    units,
    num_heads=None,
    pointing="heads",
    coverage=False,
    coverage_enabled=True,
    **options,
):
    """Makes the attention that points; for arguments see `transformer_cell`.

    Only `"heads"` needs `num_heads`; `options` are arguments of the attention.
    """
    configured.check_choice("pointing", pointing, ("heads", "additive"))
    options["name"] = "attention"
    if coverage:
        options["enabled"] = coverage_enabled
    if pointing == "heads":
        kind = layers.MultiHeadAttention
        if coverage:
            kind = layers.MultiHeadCoverageAttention
        return kind(units, num_heads, **options)
    kind = layers.CoverageAttention if coverage else layers.BahdanauAttention
    return kind(units, use_bias=True, **options)
