"""How translations are scored and shown."""

from tfcopy.evaluation import markup, system_comparison, translations
from tfcopy.experiments import export_choice, reporting
from tfcopy.experiments.export_choice import ExportChoice
from tfcopy.experiments.run import Stopwatch

# Further ways of a system to search, and how tables name them.
_VARIANTS = {"unk_replaced": "UNK replaced", "must_copy": "must copy"}


def answer(translator, data, bleu_tokenize):
    """Translates the test set.

    Args:
        translator: `Translator`.
        data: `PairData`.
        bleu_tokenize: Tokenisation of sacrebleu.

    Returns:
        `(answers, scores)`: a `Translation` for each sentence, and a dict.
    """
    watch = Stopwatch()
    answers = translator.translate_all(source for source, _ in data.test)
    seconds = watch.seconds
    scores = score(answers, data, bleu_tokenize)
    return answers, {**scores, "seconds_translating": seconds}


def score(answers, data, bleu_tokenize) -> dict:
    """The metrics of the test set's translations that `answer` gives.

    Where the tokenizer protects spans, how much of these is kept, too.
    """
    texts = [answer.text for answer in answers]
    references = [target for _, target in data.test]
    bleu = translations.bleu(texts, references, bleu_tokenize)
    scores = {
        "bleu": bleu["score"],
        "chrf": translations.chrf(texts, references)["score"],
        "error_rate": translations.error_rate(texts, references),
        "unk_rate": translations.unk_rate([x.tokens for x in answers]),
        "copy_rate": translations.copy_rate([x.copied_from for x in answers]),
    }
    protect = getattr(data.tokenizers[0], "protect", ())
    if protect:
        kept = markup.kept([x for x, _ in data.test], texts, protect)
        shares = ("spans_kept", "texts_kept", "texts_exact")
        scores |= {name: kept[name] for name in shares}
    compared = system_comparison.compare(
        {"answers": texts}, [references], ["bleu"], bleu_tokenize
    )
    return {
        **{name: round(value, 2) for name, value in scores.items()},
        "bleu_interval": compared["answers"]["bleu"]["interval"],
        "bleu_signature": bleu["signature"],
    }


def best_on_validation(run, data) -> ExportChoice:
    """The system of a `Run` whose validation translations are the best."""
    tokenize = run.config.bleu_tokenize
    return export_choice.best_answers(
        "bleu",
        run.systems,
        data.corpus.validation,
        lambda *texts: translations.bleu(*texts, tokenize)["score"],
    )


def print_examples(data, answers, count=4):
    """Shows translations of sentences with copied words, marked [so]."""
    with_copies = [
        i
        for i in range(len(data.test))
        if any(
            place >= 0
            for some in answers.values()
            for place in some[i].copied_from
        )
    ]
    rows = with_copies[:count] or range(count)
    unit = "pieces" if data.tokenizers[1].cuts_words else "words"
    reporting.print_marked_examples(data.test, answers, rows, unit)


def print_comparison(results, paper, columns, note=""):
    """A table of the systems, and what the paper reports.

    Args:
        results: Dict from a system to its results.
        paper: Dict from a system to the paper's figures.
        columns: As in `reporting.print_table`.
        note: A sentence about the paper's figures.
    """
    rows = dict(results)
    for system, scores in results.items():
        for variant, name in _VARIANTS.items():
            if variant in scores:
                rows[f"{system}, {name}"] = scores[variant]
    reporting.print_table(reporting.with_paper(rows, paper), columns)
    signature = next(iter(results.values()))["bleu_signature"]
    print(f"BLEU: {signature}.{' ' * bool(note)}{note}")


def print_answers(translator, sources):
    """Shows what a translator makes of some sources."""
    answers = translator.translate_all(sources, progress=False)
    for source, found in zip(sources, answers):
        reporting.print_text("\n  ", source)
        reporting.print_text("  ", found.text)
