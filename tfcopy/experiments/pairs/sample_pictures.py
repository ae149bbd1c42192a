"""What TensorBoard shows after each score on the validation set."""

import itertools

import tensorflow as tf

from tfcopy import training
from tfcopy.experiments.pairs.pair_data import as_text
from tfcopy.experiments.reporting import figures
from tfcopy.serving.client_library.answer_lines import Shown, join_pieces


class SamplePictures:
    """Draws the attention of a few answers, and writes them as text.

    Args:
        translator: The `Translator` of the model that trains.
        pairs: Where the sentences come from.
        count: Number of sentences.
    """

    def __init__(self, translator, pairs, count=4):
        self.translator = translator
        self.pairs = list(itertools.islice(pairs, count))

    def __call__(self, update, writer):
        texts = [as_text(pair[0]) for pair in self.pairs]
        analysis = self.translator.analyse(tf.constant(texts))
        analysis = {name: value.numpy() for name, value in analysis.items()}
        examples = []
        for i, (source, reference) in enumerate(self.pairs):
            words = _words(analysis["tokens"][i, 0])
            copied = analysis["copied_from"][i, 0, : len(words)]
            examples.append(
                (
                    as_text(source).split(),
                    words,
                    [place >= 0 for place in copied],
                    as_text(reference).split(),
                )
            )
            if figures is not None and words:
                picture = _picture(
                    analysis, i, words, copied, self.translator.config["pieces"]
                )
                with writer.as_default(update):
                    tf.summary.image(f"attention/{i}", picture)
        training.log_examples(writer, update, examples)


def _picture(analysis, i, words, copied, pieces):
    source = _words(analysis["source_tokens"][i])
    shown = join_pieces(
        Shown(
            words,
            source,
            copied.tolist(),
            analysis["generate_probability"][i, 0, : len(words)],
            analysis["attention"][i, 0, : len(words), : len(source)],
        ),
        pieces,
    )
    return figures.attention_figure(
        shown.source,
        shown.words,
        shown.attention,
        shown.copied_from,
        # It is 1 in a model without a switch.
        generate_probability=(
            shown.generate if min(shown.generate) < 1 else None
        ),
    )


def _words(row):
    return [word.decode("utf-8") for word in row if word]
