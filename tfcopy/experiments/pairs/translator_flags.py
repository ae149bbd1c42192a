"""Flags of recipes that translate with a model that points."""

from typing import Literal

from tfcopy.experiments.config import (
    POINTING,
    PointingHead,
    data,
    file,
    group,
    model,
    search,
    systems,
    training,
)
from tfcopy.experiments.pairs.corpus_flags import CaseConfig, TranslationConfig
from tfcopy.experiments.pairs.model_flags import PointerSoftmaxConfig
from tfcopy.flags import NonNegativeFloat, PositiveFloat, PositiveInt

SYSTEMS = ("nmt", "pointer_softmax")


@group
class TranslatorConfig(PointerSoftmaxConfig, TranslationConfig, CaseConfig):
    """Words or pieces, the baseline (nmt) and a model that points."""

    tokenization: Literal["moses", "space", "sentencepiece"] = data(
        "moses",
        "moses; space for text that is already tokenised; or sentencepiece "
        "for the pieces of --sentencepiece_model, which are then what other "
        "flags call words.",
    )
    sentencepiece_model: list[str] | None = file(
        "One model file for both languages, or two: en.model fr.model; "
        "tfcopy.data.train_sentencepiece trains them."
    )
    pieces: PositiveInt | None = data(
        None,
        "Learn a model of this many pieces, one for both languages, where "
        "--tokenization sentencepiece has no --sentencepiece_model.",
    )
    sample_pieces: PositiveFloat | None = data(
        None,
        "Cut training texts anew in each epoch, into pieces that are drawn: "
        "each of the 64 most probable ways to cut a text by its probability "
        "to this power (0.1 to 0.5; Kudo, 2018). Needs a unigram model.",
    )
    protect: list[str] | None = data(
        None,
        "Spans that are one word each, copied as they are: links, rst, "
        "markdown, html, placeholders, printf, brace, a format of gettext "
        "(qt-format), or a regular expression (RE2), such as rst html.",
    )
    dictionary: str | None = file(
        "TSV file of target words and their source translations, for pointer "
        "labels."
    )
    guided_alignment: str | None = file(
        "File with a line 0-0 1-2 ... (Pharaoh's format) for each line of "
        "--train: which source and target words are linked. Training draws the "
        "attention to them; tfcopy.data.build_dictionary --write_alignment "
        "writes one."
    )
    guided_alignment_weight: NonNegativeFloat = training(
        0.1, "Weight of --guided_alignment's cost relative to the loss."
    )
    output_dictionary: str | None = file(
        "TSV file of source words and their translations; words pointed at "
        "are translated by it where it has them.",
        topic="search",
    )
    must_copy: bool = search(
        False,
        "With --protect: an answer has every protected span of its source "
        "exactly as often as the source, and no other.",
    )
    glossary: str | None = file(
        "With --protect: TSV file of phrases and their translations; where a "
        "phrase stands in a source, the answer has the translation.",
        topic="search",
    )
    max_length: PositiveInt = data(
        50,
        "Maximum length in words of training sentences; longer pairs are "
        "left out.",
    )
    systems: list[Literal[SYSTEMS]] = systems(
        list(SYSTEMS), "Systems to train, any of nmt and pointer_softmax."
    )
    head: PointingHead = model(
        "pointer_softmax",
        "Output head of the system that points, which is named after it: "
        f"{POINTING}",
    )
    max_target_length: PositiveInt = search(
        60, "Maximum length of a translation, in words."
    )
    merge: Literal["max", "sum"] | None = search(
        None,
        "How search combines several ways to produce a word (generating, "
        "copying): max (the paper's) or sum; if not given, max with the "
        "pointer softmax and sum with other heads.",
    )
