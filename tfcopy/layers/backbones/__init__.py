"""KerasHub's pretrained networks as encoder and decoder of a copying model."""
