"""Networks of Marian and M2M-100, in the form of KerasHub.

They are those of OPUS-MT, and of SMaLL-100 and NLLB-200.

Shapes: B batch, S source steps, T target steps, N any rows, D hidden size.
"""

import keras
import keras_hub
import numpy as np
from keras import ops

from tfcopy.layers.configured import Configured


class FixedPositions(Configured, keras.layers.Layer):
    """Layer that scales embedded tokens, and adds sinusoids to them.

    The first half of the columns are sines, the second half cosines of the same
    angles, `(position + offset) / 10000 ** (column / (half - shortened))`.

    Args:
        length: Number of positions; all later ones are equal to the last.
        scale: Factor of the embedded tokens.
        offset: Number of the first position.
        shortened: Whether the last column, rather than the one after it, has
            the longest wave.

    Call arguments:
        inputs: `(B, N, D)`.
        positions: int32, `(B, N)`, `(1, N)` or `(N,)`; by default 0 to N - 1.

    Returns:
        `(B, N, D)`.
    """

    def __init__(self, length, scale=1.0, offset=0, shortened=False, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())

    def build(self, inputs_shape):
        size = inputs_shape[-1]
        half = -(-size // 2)
        places = np.arange(self.length)[:, None] + self.offset
        waves = np.arange(half) / (size / 2 - self.shortened)
        angles = places / 10000.0**waves
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        table = table[:, :size].astype("float32")
        self.table = self.add_weight(
            name="table",
            shape=table.shape,
            initializer=lambda shape, dtype: ops.convert_to_tensor(
                table, dtype
            ),
            trainable=False,
        )

    def call(self, inputs, positions=None):
        if positions is None:
            positions = ops.arange(ops.shape(inputs)[1], dtype="int32")
        places = ops.minimum(positions, self.length - 1)
        table = ops.cast(ops.take(self.table, places, axis=0), inputs.dtype)
        return inputs * self.scale + table

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


@keras.saving.register_keras_serializable(package="tfcopy")
class MarianBackbone(Configured, keras_hub.models.Backbone):
    """Encoder-decoder network of Marian, such as OPUS-MT's.

    Its positions are sinusoids. The output layer of a translator is the table
    of the target tokens, or with `tie_weights=False` a matrix of its own.

    ```python
    backbone = models.MarianBackbone(**small)
    model = models.from_backbone(backbone, head="softmax")
    ```

    Args:
        vocabulary_size: Number of tokens, of both sides or of the source.
        num_layers: Number of layers of the encoder.
        num_heads: Number of heads of each attention; a divisor of the size.
        hidden_dim: Size of the states, D.
        intermediate_dim: Size inside the feed-forward networks.
        num_decoder_layers: Number of layers of the decoder; by default as many
            as in the encoder.
        decoder_vocabulary_size: Number of target tokens; `None` if both sides
            share a table.
        tie_weights: Whether the output layer is the table of the target.
        activation: Activation of the feed-forward networks.
        normalize_first: Whether sublayers normalise their inputs instead of
            their outputs. Encoder and decoder then also normalise their last
            outputs.
        scale_embedding: Whether embedded tokens are multiplied by `sqrt(D)`.
        dropout: Dropout rate.
        max_sequence_length: Number of positions.
        dtype: Data type or policy of the layers.

    Inputs:
        Dict of `encoder_token_ids` and `encoder_padding_mask`, `(B, S)`, and
        `decoder_token_ids` and `decoder_padding_mask`, `(B, T)`.

    Outputs:
        Dict of `encoder_sequence_output`, `(B, S, D)`, and
        `decoder_sequence_output`, `(B, T, D)`.

    Reference:
        [Junczys-Dowmunt et al., 2018](https://arxiv.org/abs/1804.00344);
        [Tiedemann and Thottingal, 2020](https://aclanthology.org/2020.eamt-1.61)
        for OPUS-MT.
    """

    # Of `FixedPositions`.
    _positions = {"offset": 0, "shortened": False}

    def __init__(
        self,
        vocabulary_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        intermediate_dim: int,
        num_decoder_layers: int | None = None,
        decoder_vocabulary_size: int | None = None,
        tie_weights: bool = True,
        activation: str = "silu",
        normalize_first: bool = False,
        scale_embedding: bool = True,
        dropout: float = 0.1,
        max_sequence_length: int = 512,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs,
    ):
        # === Config ===
        self.keep_arguments(locals(), "dtype")

        # === Layers ===
        is_shared = decoder_vocabulary_size is None

        def embed(rows, is_output, name):
            tied = tie_weights or not is_output
            return keras_hub.layers.ReversibleEmbedding(
                rows, hidden_dim, tied, dtype=dtype, name=name
            )

        table = embed(vocabulary_size, is_shared, "token_embedding")
        self.token_embedding = self.decoder_token_embedding = table
        if not is_shared:
            self.decoder_token_embedding = embed(
                decoder_vocabulary_size, True, "decoder_token_embedding"
            )
        scale = hidden_dim**0.5 if scale_embedding else 1.0
        options = {
            "num_heads": num_heads,
            "intermediate_dim": intermediate_dim,
            "activation": activation,
            "dropout": dropout,
            "layer_norm_epsilon": 1e-5,
            "normalize_first": normalize_first,
            "dtype": dtype,
        }
        sides = {
            "encoder": (keras_hub.layers.TransformerEncoder, num_layers),
            "decoder": (
                keras_hub.layers.TransformerDecoder,
                num_decoder_layers or num_layers,
            ),
        }
        for side, (block, count) in sides.items():
            name = f"{side}_position_embedding"
            positions = FixedPositions(
                max_sequence_length,
                scale,
                **self._positions,
                dtype=dtype,
                name=name,
            )
            setattr(self, name, positions)
            name = f"{side}_embeddings_dropout"
            drop = keras.layers.Dropout(dropout, dtype=dtype, name=name)
            setattr(self, name, drop)
            blocks = [
                block(**options, name=f"transformer_{side}_layer_{i}")
                for i in range(count)
            ]
            setattr(self, f"{side}_transformer_layers", blocks)
            name = f"{side}_layer_norm"
            norm = keras.layers.LayerNormalization(
                epsilon=1e-5, dtype=dtype, name=name
            )
            setattr(self, name, norm if normalize_first else None)

        # === Functional Model ===
        inputs = {
            f"{side}_{name}": keras.Input(
                (None,), dtype="int32", name=f"{side}_{name}"
            )
            for side in sides
            for name in ("token_ids", "padding_mask")
        }
        x = self.token_embedding(inputs["encoder_token_ids"])
        x = self.encoder_position_embedding(x)
        x = self.encoder_embeddings_dropout(x)
        for block in self.encoder_transformer_layers:
            x = block(x, padding_mask=inputs["encoder_padding_mask"])
        read = self.encoder_layer_norm(x) if normalize_first else x
        x = self.decoder_token_embedding(inputs["decoder_token_ids"])
        x = self.decoder_position_embedding(x)
        x = self.decoder_embeddings_dropout(x)
        for block in self.decoder_transformer_layers:
            x = block(
                decoder_sequence=x,
                encoder_sequence=read,
                decoder_padding_mask=inputs["decoder_padding_mask"],
                encoder_padding_mask=inputs["encoder_padding_mask"],
            )
        x = self.decoder_layer_norm(x) if normalize_first else x
        super().__init__(
            inputs=inputs,
            outputs={
                "encoder_sequence_output": read,
                "decoder_sequence_output": x,
            },
            dtype=dtype,
            **kwargs,
        )


@keras.saving.register_keras_serializable(package="tfcopy")
class M2M100Backbone(MarianBackbone):
    """Encoder-decoder network of M2M-100, SMaLL-100 and the dense NLLB-200.

    It differs from `MarianBackbone` in its defaults, and in its sinusoids,
    whose first position is 2.

    ```python
    backbone = models.M2M100Backbone(**small)
    model = models.from_backbone(backbone, head="softmax")
    ```

    Args:
        vocabulary_size: Number of tokens.
        **kwargs: The other arguments of `MarianBackbone`, by name. Defaults
            are the activation `"relu"`, `normalize_first=True` and 1,024
            positions.

    Reference:
        [Fan et al., 2020](https://arxiv.org/abs/2010.11125);
        [Mohammadshahi et al., 2022](https://arxiv.org/abs/2210.11621) for
        SMaLL-100;
        [NLLB Team, 2022](https://arxiv.org/abs/2207.04672) for NLLB-200.
    """

    _positions = {"offset": 2, "shortened": True}

    def __init__(self, vocabulary_size: int, **kwargs):
        defaults = {"activation": "relu", "max_sequence_length": 1024}
        defaults["normalize_first"] = True
        super().__init__(vocabulary_size, **{**defaults, **kwargs})
