"""The search of a `Translator`: among all words or few, compiled or not.

Shapes: B sentences, S source positions, N hypotheses.
"""

import dataclasses
import functools

import tensorflow as tf

from tfcopy import tokens
from tfcopy.decoding import (
    Candidates,
    SearchResult,
    beam_search,
    search_among,
)


class SourceSearch:
    """Searches for the answers to sources that are ids.

    Args:
        model: A `Seq2Seq`, or anything else that `beam_search` takes.
        candidate_ids: Optional `(K,)`, the only words that are generated.
        shortlist: Optional `Shortlist`, whose `always` are the candidates:
            what else a source may become.
        compiled_sizes: The numbers of source positions for which XLA compiles
            the search for a single text; none for no compilation.
    """

    def __init__(self, model, candidate_ids, shortlist, compiled_sizes):
        self.model = model
        self.candidate_ids = candidate_ids
        self.shortlist = shortlist
        self.compiled_sizes = compiled_sizes

    def search(
        self, source_ids, source_copy_ids, options, **more
    ) -> SearchResult:
        """As `beam_search`, among the candidates if there are any."""
        arguments = self.model, source_ids, source_copy_ids
        if self.candidate_ids is None:
            return beam_search(*arguments, options, **more)
        candidates = Candidates(self.candidate_ids)
        if self.shortlist is not None:
            candidates = self.shortlist.candidates(source_ids)
        places = {int(word): i for i, word in enumerate(self.candidate_ids)}
        kept = [places[x] for x in options.source_only if x in places]
        options = dataclasses.replace(options, source_only=tuple(kept))
        return search_among(candidates, *arguments, options, **more)

    def search_sources(self, source, options) -> SearchResult:
        """`search` for `Sources`, by XLA if there is a single text."""

        ids = [source.ids, source.copy_ids]

        def find(options, ids, copy_ids, protected=None, inputs=None):
            return self.search(
                ids,
                copy_ids,
                options,
                source_inputs=inputs,
                protected=protected,
            )

        def plain():
            return find(options, *ids, source.protected, source.inputs)

        if not self.compiled_sizes or options.return_attention:
            return plain()
        static = dataclasses.replace(options, static_shapes=True)
        search = tf.function(
            functools.partial(find, static), jit_compile=True, autograph=False
        )

        def compiled():
            size = tf.shape(source.ids)[1]
            sizes = tf.constant(self.compiled_sizes)
            more = tf.reduce_min(sizes[sizes >= size]) - size
            arrays = list(zip(ids, (tokens.PAD, tokens.NO_COPY)))
            if source.protected is not None:
                arrays.append((source.protected, False))
            padding = [[0, 0], [0, more]]
            result = search(
                *(tf.pad(x, padding, "CONSTANT", value) for x, value in arrays)
            )
            # Its own would be as wide as the program's shape.
            nothing = tf.zeros([1, options.num_hypotheses, 0, size])
            return result._replace(attention=nothing)

        return tf.cond(tf.shape(source.ids)[0] == 1, compiled, plain)
