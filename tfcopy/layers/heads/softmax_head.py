"""Softmax head, the base of the heads that copy.

Shapes: B batch, T target steps, S source steps, H attention heads, D size of
the features, C value size, K candidates, V vocabulary.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers import copying
from tfcopy.layers.attention.pointing_attention import masked_log_softmax
from tfcopy.layers.backbones.hub_backbone import BackboneEmbedding
from tfcopy.layers.configured import Configured, Initializer
from tfcopy.layers.products import apply_to_rows
from tfcopy.layers.tensors import argmax, or_all, take


@keras.saving.register_keras_serializable(package="tfcopy")
class SoftmaxHead(Configured, keras.layers.Layer):
    """Head with a softmax over the target vocabulary; the baseline, no copying.

    ```python
    head = layers.SoftmaxHead(9)
    distribution = head(features, decoded, annotations, mask)
    ```

    Args:
        vocabulary_size: Positive integer.
        kernel_initializer: Initializer of the output matrix.
        tied: Whether the output matrix is the transposed table of an embedding.
            The owner of both layers calls `tie`, also after the head was made
            from its config. Any head takes this argument by name.
        normalize: Whether to give probability only to tokens that can be
            produced. Source positions that cannot be copied get none. If
            several tokens share a row of a backbone's table, only the last of
            them gets any. Any head takes this argument by name.

    Call arguments:
        features: The features that predict the tokens (a deep output),
            `(B, T, F)`.
        decoded: Dict of `decoder_outputs`, for heads that point. Outputs of any
            other decoder can be passed by name instead: `attention` or
            `attention_logits`, and optionally `context` and `inputs`; see
            `make_decoder_outputs`.
        annotations: `(B, S, C)`.
        source_mask: Boolean, `(B, S)`; `None` for no padding.
        candidate_ids: Optional `(K,)`: only these words get a logit, in this
            order (the large vocabulary trick).
        candidate_log_weights: Optional `(K,)`, or `(B, 1, K)`, the log of the
            number of words that each candidate represents.
        source_copy_ids: `(B, S)`, by name. With `normalize`, positions where
            they are negative get no probability.

    Class attributes:
        inherits: Arguments that a model sets where they are not given, or a
            recipe by flags of the same names.
        merge: How a search combines the ways to produce a word, by default:
            `"max"` or `"sum"`.

    Returns:
        `CopyDistribution` with all of the mass on generated tokens.

    Reference:
        [Press and Wolf, 2017](https://arxiv.org/abs/1608.05859) for `tied`.
    """

    inherits = frozenset()
    merge = "sum"

    def __init__(
        self,
        vocabulary_size: int,
        kernel_initializer: Initializer = "glorot_uniform",
        tied: bool = False,
        normalize: bool = False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        self._tied_product = None
        self._word_bias = None
        self._size = None

    def tie(self, embedding):
        """Ties the output matrix of the head to the table of an embedding.

        Args:
            embedding: `keras.layers.Embedding` of the vocabulary, or a
                `BackboneEmbedding`.
        """
        is_table = isinstance(embedding, keras.layers.Embedding)
        if not is_table and not isinstance(embedding, BackboneEmbedding):
            raise ValueError(
                "`embedding` must be a `keras.layers.Embedding` or a "
                f"`BackboneEmbedding`. Received: {embedding}."
            )

        def product(rows, candidate_ids):
            if not is_table:
                return embedding.logits(rows, candidate_ids)
            table = ops.cast(embedding.embeddings, rows.dtype)
            if candidate_ids is not None:
                table = take(table, candidate_ids)
            return ops.matmul(rows, ops.transpose(table))

        # A function, so that the embedding does not become a sublayer.
        self._tied_product = product
        if self.normalize and not is_table:
            self._word_bias = embedding.shared_row_bias
        self._check_sizes(self._size, embedding.output_dim)

    def __call__(
        self,
        features,
        decoded=None,
        annotations=None,
        source_mask=None,
        *,
        attention=None,
        attention_logits=None,
        context=None,
        inputs=None,
        source_copy_ids=None,
        **kwargs,
    ):
        is_read = decoded is not None or context is not None
        if annotations is None and (source_mask is None or not is_read):
            raise ValueError(
                "A head needs `annotations`, or a `source_mask` and `decoded` "
                "or `context`."
            )
        source_mask = or_all(source_mask, annotations)
        if decoded is None:
            decoded = make_decoder_outputs(
                features,
                annotations,
                source_mask,
                attention,
                attention_logits,
                context,
                inputs,
            )
        distribution = super().__call__(
            features,
            decoded=decoded,
            annotations=annotations,
            source_mask=source_mask,
            **kwargs,
        )
        if not self.normalize or source_copy_ids is None:
            return distribution
        return copying.remove_uncopyable(distribution, source_copy_ids)

    def build(self, features_shape, decoded_shape, annotations_shape=None):
        self._check_sizes(features_shape[-1], self._size)
        if not self.tied:
            self.kernel = self.add_weight(
                name="kernel",
                shape=(features_shape[-1], self.vocabulary_size),
                initializer=self.kernel_initializer,
            )
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros"
        )

    def _check_sizes(self, features, table):
        """Raises a ValueError if a table cannot multiply the features."""
        if self.tied and None not in (features, table) and features != table:
            raise ValueError(
                "Tied embeddings must have the size of the features, "
                f"{features}. Received: embeddings of size {table}."
            )
        self._size = features or table

    def logits(self, features, candidate_ids=None, candidate_log_weights=None):
        """Computes the logits of the vocabulary or candidates, `(B, T, V)`."""
        bias = self._cast(self.bias)
        if self._word_bias is not None:
            bias = bias + ops.cast(self._word_bias, bias.dtype)
        if candidate_ids is not None:
            bias = take(bias, candidate_ids)
        multiply = self._tied_product if self.tied else self._product
        of_each = None
        if candidate_log_weights is not None:
            log_weights = ops.cast(candidate_log_weights, bias.dtype)
            if len(log_weights.shape) == 1:
                bias = bias + log_weights
            else:
                of_each = log_weights

        def product(rows):
            product = multiply(ops.cast(rows, bias.dtype), candidate_ids)
            return ops.add(product, bias)  # fused, unlike `+`

        logits = apply_to_rows(product, features)
        return logits if of_each is None else logits + of_each

    def _product(self, rows, candidate_ids):
        kernel = ops.cast(self.kernel, rows.dtype)
        if candidate_ids is not None:
            kernel = take(kernel, candidate_ids, axis=1)
        return ops.matmul(rows, kernel)

    def call(
        self,
        features,
        decoded,
        annotations,
        source_mask,
        candidate_ids=None,
        candidate_log_weights=None,
        training=False,
    ):
        logits = self.logits(features, candidate_ids, candidate_log_weights)
        log_generate, copy_log_probs = self.mix(
            logits, decoded, annotations, source_mask, training
        )
        return copying.CopyDistribution(
            generate_logits=logits,
            log_generate=log_generate,
            copy_log_probs=copy_log_probs,
            attention=decoded["attention"],
        )

    def mix(self, logits, decoded, annotations, source_mask, training=False):
        """Divides the mass between generated tokens and source positions.

        Args:
            logits: From `logits`, `(B, T, V)`.
            decoded: As in a call.
            annotations: As in a call.
            source_mask: Boolean, `(B, S)`.
            training: Whether the head is trained.

        Returns:
            `log_generate` and `copy_log_probs` of a `CopyDistribution`.
        """
        return (
            ops.zeros_like(logits[..., 0], dtype="float32"),
            ops.full_like(
                decoded["attention"], copying.MASKED, dtype="float32"
            ),
        )

    def log_likelihood(self, batch, distribution):
        """Computes `log p` of the target tokens, the objective of training.

        Each head has the objective of its paper. Here OOV words count as UNK.

        Args:
            batch: Dict of `target_ids`, extended ids, `(B, T)`, and any other
                labels of the objective.
            distribution: The head's `CopyDistribution`.

        Returns:
            `(B, T)`.
        """
        return copying.generate_log_probs(distribution, batch["target_ids"])


def make_decoder_outputs(
    features,
    annotations,
    source_mask,
    attention=None,
    attention_logits=None,
    context=None,
    inputs=None,
):
    """Converts the outputs of any other decoder to `decoder_outputs`.

    Args:
        features: Outputs of the decoder, `(B, T, D)`; also used as its state.
        annotations: `(B, S, C)`.
        source_mask: Boolean, `(B, S)`.
        attention: Attention weights, `(B, T, S)`, or `(B, H, T, S)` of several
            heads, whose mean is taken.
        attention_logits: Instead, the scores before the softmax, `(B, T, S)`.
        context: `(B, T, C)`; if `None`, the sum of the annotations with the
            attention weights.
        inputs: Inputs of the decoder, `(B, T, E)`; the features if `None`.

    Raises:
        ValueError: If neither or both of the attentions are given.
    """
    if (attention is None) == (attention_logits is None):
        raise ValueError(
            "A head needs `decoded`, or either `attention` (probabilities) or "
            "`attention_logits`. Received: "
            + ("neither." if attention is None else "both.")
        )
    hides = ops.expand_dims(ops.logical_not(source_mask), 1)
    if attention is None:
        logits = ops.cast(attention_logits, "float32")
        log_weights = masked_log_softmax(
            logits, ops.where(hides, copying.MASKED, 0.0)
        )
    else:
        attention = ops.cast(attention, "float32")
        if len(attention.shape) == 4:
            attention = ops.mean(attention, axis=1)
        is_seen = ops.logical_and(ops.logical_not(hides), attention > 0.0)
        # A weight of 0 has no log, and gets no gradient.
        log_weights = ops.log(ops.where(is_seen, attention, 1.0))
        log_weights = ops.where(is_seen, log_weights, copying.MASKED)
    if context is None:
        weights = ops.exp(log_weights)
        context = ops.matmul(weights, ops.cast(annotations, "float32"))
    features = ops.cast(features, "float32")
    return {
        "hidden": features,
        "state": features,
        "inputs": features if inputs is None else inputs,
        "context": context,
        "attention": log_weights,
    }


def restrict(ids, source_copy_ids, candidate_ids, vocabulary_size):
    """Converts extended ids to the vocabulary of the candidates.

    With `candidate_ids`, a head has logits for these words only (the large
    vocabulary trick). If the ids of a batch refer to this smaller vocabulary,
    the loss of any head works unchanged.

    The new id of a word is its index among the candidates; otherwise K plus the
    first source position that holds it; otherwise UNK.

    Args:
        ids: Extended ids, `(B, T)`; negative ones are unchanged.
        source_copy_ids: `(B, S)`.
        candidate_ids: `(K,)`, without repetition; the special tokens must
            come first, in their own order.
        vocabulary_size: V.

    Returns:
        `(B, T)`, int32.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 5.1.
    """
    count = ops.shape(candidate_ids)[0]
    places = ops.scatter_update(
        ops.full((vocabulary_size,), -1, dtype="int32"),
        ops.expand_dims(candidate_ids, 1),
        ops.arange(count, dtype="int32"),
    )
    place = ops.take(places, ops.clip(ids, 0, vocabulary_size - 1))
    is_candidate = ops.logical_and(ids < vocabulary_size, place >= 0)
    is_at = copying.matches(ids, source_copy_ids)  # (B, T, S)
    first = argmax(ops.cast(is_at, "int8"))
    copied = ops.where(ops.any(is_at, axis=-1), count + first, tokens.UNK)
    return ops.where(ids < 0, ids, ops.where(is_candidate, place, copied))
