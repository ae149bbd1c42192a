"""Network of M2M-100, SMaLL-100 and NLLB-200, in the form of KerasHub."""

import keras

from tfcopy.layers.backbones.marian_backbone import MarianBackbone


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
        vocabulary_size: As in `MarianBackbone`, like all others.
        num_layers: Number of layers of the encoder.
        num_heads: Number of heads of each attention.
        hidden_dim: Size of the states, D.
        intermediate_dim: Size inside the feed-forward networks.
        activation: Activation of the feed-forward networks.
        normalize_first: Whether sublayers normalise their inputs.
        max_sequence_length: Number of positions.
        **kwargs: Other arguments.

    Reference:
        [Fan et al., 2020](https://arxiv.org/abs/2010.11125);
        [Mohammadshahi et al., 2022](https://arxiv.org/abs/2210.11621) for
        SMaLL-100;
        [NLLB Team, 2022](https://arxiv.org/abs/2207.04672) for NLLB-200.
    """

    _positions = {"offset": 2, "shortened": True}

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        activation="relu",
        normalize_first=True,
        max_sequence_length=1024,
        **kwargs,
    ):
        super().__init__(
            vocabulary_size,
            num_layers,
            num_heads,
            hidden_dim,
            intermediate_dim,
            activation=activation,
            normalize_first=normalize_first,
            max_sequence_length=max_sequence_length,
            **kwargs,
        )
