"""Translators that point, and their baseline: data, models, answers, scores."""

import dataclasses
import os
import random
import shlex

from tfcopy.data.generated import demo_catalogs
from tfcopy.data.pairs.encoding import SampledCuttings
from tfcopy.evaluation import calibration, translations
from tfcopy.experiments import earlier_run, reporting
from tfcopy.experiments.config import head_for_kind
from tfcopy.experiments.pairs import (
    pair_data,
    pair_training,
    pointer_softmax_systems,
    translation_data,
)
from tfcopy.experiments.pairs.corpus_flags import (
    TranslatorConfig,
    bleu_tokenize,
)
from tfcopy.experiments.run import Run, measure_time
from tfcopy.models.assembly import head_class

_NUM_CALIBRATED = 2_000  # texts at most
# Further ways of a system to search, and how tables name them.
_VARIANTS = {"unk_replaced": "UNK replaced", "must_copy": "must copy"}


def run(config: TranslatorConfig, prepare, columns, *, paper, note, examples):
    """Trains, compares, shows and exports; returns the results.

    Args:
        config: The flags.
        prepare: Function of the flags and of a folder that returns `PairData`.
        columns: As in `reporting.print_table`.
        paper: Dict from a system to the paper's figures.
        note: A sentence about these.
        examples: What is remarkable about some pairs, and these: the system
            that is exported answers them, if the corpus is the demo's.
    """
    check(config)
    run = Run(config)
    data = prepare(config, run.data_folder)
    answers = {}
    for name in run.each(data.identity):
        head = head_for_kind(config, run.kinds[name])
        system = build(run, name, head, data)
        options = pointer_softmax_systems.training_options(system, head, data)
        *_, trained = pair_training.train(system, data, **options)
        for variant, translator in variants(system.served, head).items():
            found, scores = answer(translator, data, bleu_tokenize(config))
            if variant is None:
                answers[name] = found
                run.results[name] = {**trained, **scores}
            else:
                run.results[name][variant] = scores
    print_examples(data, answers)
    beside = reporting.comparable_paper_scores(config, paper)
    print_comparison(run.results, beside, columns, note if beside else "")
    reporting.print_lead(run.results)
    reporting.draw(run.results, run.folder, "nats per sentence")
    best = best_on_validation(run, data)
    if data.corpus.generated:
        title, pairs = examples
        print(f"\n{title}:")
        served = run.systems[best.system].served
        reporting.print_answers(served, [source for source, _ in pairs])
    if config.catalogs is not None:
        calibrate(run, data, best.system)
    score = score_of(run, best.system)
    return run.finish(best, score=score, paper=beside, pairs=data.pairs)


def run_catalogs(config: TranslatorConfig, prepare, columns):
    """Runs a recipe for catalogues; says how to fill some.

    Args:
        config, prepare, columns: As in `run`.
    """
    examples = "Spans that the model has never seen", demo_catalogs.examples()
    results = run(
        config, prepare, columns, paper={}, note="", examples=examples
    )
    model = os.path.dirname(results["savedmodel"])
    files = shlex.join((model, config.catalogs or "FILE.po"))
    print(f"Fill catalogues: python -m tfcopy.serving.translate_po {files}")
    return results


def answer(translator, data, tokenize):
    """Translates the test set.

    Args:
        translator: `Translator`.
        data: `PairData`.
        tokenize: Tokenisation of sacrebleu.

    Returns:
        `(answers, scores)`: a `Translation` for each sentence, and a dict.
    """
    sources = [source for source, _ in data.test]
    answers, seconds = measure_time(translator.translate_all, sources)
    scores = score(answers, data, tokenize)
    return answers, {**scores, "seconds_translating": seconds}


def score(answers, data, tokenize) -> dict:
    """Computes the metrics of the test set's translations.

    Where the tokenizer protects spans, how much of these is kept, too.
    """
    texts = [answer.text for answer in answers]
    references = [target for _, target in data.test]
    bleu = translations.bleu(texts, references, tokenize)
    scores = {
        "bleu": bleu["score"],
        "chrf": translations.chrf(texts, references)["score"],
        "right": translations.exact_match(texts, references),
        "error_rate": translations.error_rate(texts, references),
        "unk_rate": translations.unk_rate([x.tokens for x in answers]),
        "copy_rate": translations.copy_rate([x.copied_from for x in answers]),
    }
    protect = getattr(data.tokenizers[0], "protect", ())
    if protect:
        kept = translations.score_kept_markup(
            [x for x, _ in data.test], texts, protect
        )
        shares = ("spans_kept", "texts_kept", "texts_exact")
        scores |= {name: kept[name] for name in shares}
    compared = translations.compare(
        {"answers": texts}, [references], ["bleu"], tokenize
    )
    return {
        **{name: round(value, 2) for name, value in scores.items()},
        "bleu_interval": compared["answers"]["bleu"]["interval"],
        "bleu_signature": bleu["signature"],
    }


def best_on_validation(run, data) -> reporting.ExportChoice:
    """Returns the system with the best BLEU on the validation set."""
    tokenize = bleu_tokenize(run.config)

    def score(*texts):
        return translations.bleu(*texts, tokenize)["score"]

    return run.best_answers("bleu", data, score)


def calibrate(run, data, system):
    """Adds to a system's results how often answers of a score are right.

    If there are too few texts, the base's curve is kept.

    Args:
        run: The `Run`.
        data: `PairData`.
        system: Name of the system.
    """
    pairs = [*data.corpus.validation]
    # Neighbours are of one program.
    count = min(_NUM_CALIBRATED, len(pairs))
    pairs = random.Random(run.config.seed).sample(pairs, count)
    served = run.systems[system].served
    answers = served.translate_all([source for source, _ in pairs])
    right = [x.text == y for x, (_, y) in zip(answers, pairs)]
    points = calibration.fit([x.score for x in answers], right)
    if not points and run.config.init_from is not None:
        pair = translation_data.languages(run.config)
        base = earlier_run.scores_of(run.config.init_from, system, **pair)
        points = base.get("calibration", [])
    run.results[system] |= {
        "calibration": points,
        "texts": len(data.test),
        "held_out": list(data.corpus.held_out),
    }


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
    """Prints a table of the systems, beside the paper's figures.

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
    reporting.print_table(rows, columns, paper)
    signature = next(iter(results.values()))["bleu_signature"]
    print(f"BLEU: {signature}.{' ' * bool(note)}{note}")


def check(config: TranslatorConfig):
    """Raises an error that names a flag which makes no sense."""
    pointer_softmax_systems.check(config)
    translation_data.load_dictionary(config, "output_dictionary")
    translation_data.check(config)


def prepare(config: TranslatorConfig, corpus, folder) -> pair_data.PairData:
    """Encodes a corpus as words and as ids, kept in a folder.

    Args:
        config: The flags.
        corpus: `TranslationCorpus`.
        folder: Where vocabularies and ids are kept.
    """
    tokenizers = translation_data.make_tokenizers(config, corpus, folder)
    options = {
        "max_length": config.max_length,
        "unmatched": config.unmatched,
        "dictionary": translation_data.load_dictionary(config, "dictionary"),
    }
    counted = translation_data.sample_counted_texts(
        config.sample_pieces, corpus, tokenizers
    )
    data = pair_data.prepare(
        config, corpus, tokenizers, folder, counted, **options
    )
    train = translation_data.add_alignment(config, data.train)
    if config.sample_pieces is not None:
        cuttings = SampledCuttings(
            corpus.train,
            data.vocabularies,
            tokenizers,
            config.sample_pieces,
            **options,
        )
        train = dataclasses.replace(train, sampled=cuttings)
    return dataclasses.replace(data, train=train)


def variants(translator, head) -> dict:
    """Ways of one system to search, by the names of their scores.

    `None` names the search without additions.
    """

    def set_must_copy(must_copy):
        if must_copy == translator.options.must_copy:
            return translator  # With the graphs that it has.
        return translator.copy(
            options=dataclasses.replace(translator.options, must_copy=must_copy)
        )

    found = {None: set_must_copy(must_copy=False)}
    if head == "softmax" and not translator.replace_unk:
        found["unk_replaced"] = found[None].copy(replace_unk=True)
    elif getattr(translator.source_tokenizer, "protect", ()):
        found["must_copy"] = set_must_copy(must_copy=True)
    return found


def score_of(run, system) -> float:
    """Returns the BLEU of a system in the form that is exported."""
    results = run.results[system]
    if run.config.must_copy:
        results = results.get("must_copy", results)
    return results["bleu"]


def build(run, name, head, data):
    """Builds a system, text in and text out."""
    config = run.config
    search = {
        "max_length": config.max_target_length,
        "merge": config.merge or head_class(head).merge,
        # The baseline could not.
        "must_copy": config.must_copy and head != "softmax",
    }

    languages = translation_data.languages(config)
    corpus = data.corpus.unmixed or data.corpus.fingerprint
    return pointer_softmax_systems.build(
        run,
        name,
        head,
        data,
        search,
        {**languages, "corpus": corpus},
        dictionary=translation_data.load_dictionary(
            config, "output_dictionary"
        ),
        glossary=translation_data.glossary(config, head),
    )
