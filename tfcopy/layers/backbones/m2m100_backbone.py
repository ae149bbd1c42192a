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
