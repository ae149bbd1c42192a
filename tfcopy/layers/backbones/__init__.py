"""KerasHub's pretrained encoder-decoder networks as parts of a model."""
