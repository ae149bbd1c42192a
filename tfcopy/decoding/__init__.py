"""Beam search, sampling and best spans, on every Keras backend."""

from tfcopy.decoding.beam_search import SearchResult, beam_search
from tfcopy.decoding.options import SearchOptions
from tfcopy.decoding.search_models import Candidates, Ensemble, search_among
from tfcopy.layers.heads.span_head import independent_spans, joint_spans

__all__ = [
    "Candidates",
    "Ensemble",
    "SearchOptions",
    "SearchResult",
    "beam_search",
    "independent_spans",
    "joint_spans",
    "search_among",
]
