"""Functional models put together from the layers."""

from tfcopy.models.copynet import copynet
from tfcopy.models.gru_translator import gru_translator
from tfcopy.models.planner import planner
from tfcopy.models.pointer_generator import pointer_generator
from tfcopy.models.seq2seq import Seq2Seq

__all__ = [
    "Seq2Seq",
    "copynet",
    "gru_translator",
    "planner",
    "pointer_generator",
]
