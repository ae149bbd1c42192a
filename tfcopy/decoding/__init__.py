"""Search for the best target sentence, on every Keras backend."""

from tfcopy.decoding.beam_search import SearchResult, beam_search
from tfcopy.decoding.large_vocabulary import search_among
from tfcopy.decoding.options import SearchOptions

__all__ = ["SearchOptions", "SearchResult", "beam_search", "search_among"]
