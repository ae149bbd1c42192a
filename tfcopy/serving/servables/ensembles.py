"""Several translators as one, which averages what their models say."""

from collections.abc import Mapping

from tfcopy.decoding.ensemble import Ensemble
from tfcopy.serving.servables.translator import Translator


class EnsembleError(ValueError):
    """Translators do not fit together; the message says which, and why."""


def together(translators: Mapping[str, Translator]) -> Translator:
    """The first of some translators, with the models of all.

    Args:
        translators: What they are called in errors, and the translators.

    Raises:
        EnsembleError: naming the first that does not fit.
    """
    (name, first), *others = translators.items()
    for other, translator in [(name, first), *others]:
        if not isinstance(translator, Translator):
            raise EnsembleError(f"{other} does not translate.")
        for part, of_both in _parts(first).items():
            if _parts(translator)[part] != of_both:
                raise EnsembleError(
                    f"{other} has {part} other than {name}. Train both on the "
                    "same data."
                )
    try:
        model = Ensemble([x.model for x in translators.values()])
    except ValueError as error:
        raise EnsembleError(str(error)) from error
    if first.constants:
        raise EnsembleError("constants=true is for a single model.")
    return first.copy(model=model)


def _parts(translator):
    """What models that search together must have in common."""
    return {
        "a source vocabulary": translator.source_vocabulary.words,
        "a target vocabulary": translator.target_vocabulary.words,
        "a source tokenizer": translator.source_tokenizer.fingerprint,
        "a target tokenizer": translator.target_tokenizer.fingerprint,
        "an end of sources": translator.append_eos,
        "entities": translator.entities,
    }
