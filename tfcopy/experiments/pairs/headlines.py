"""Headlines: flags, corpora, entities, word vectors, systems, scores."""

import dataclasses
import random

import numpy as np

from tfcopy import tokens
from tfcopy.data.corpora import gigaword, text_pairs
from tfcopy.data.corpora.corpus import SPLITS, Split, fingerprint
from tfcopy.data.definitions import word_vectors
from tfcopy.data.generated import newsgen
from tfcopy.data.text.entities import (
    Entities,
    anonymise,
    common_words,
    placeholder_ids,
)
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.evaluation import summaries
from tfcopy.experiments.config import find_given_corpora, head_for_kind
from tfcopy.experiments.pairs import (
    pair_data,
    pair_training,
    pointer_softmax_systems,
    summary_data,
)
from tfcopy.experiments.pairs.corpus_flags import EntitiesConfig
from tfcopy.flags import load_file, name_flags

NO_SPELLING = (
    "pointers to unknown words need their spelling. Give the text before rare "
    "words were replaced, choose --pointers entity, or train the baseline "
    "alone with --systems nmt_lvt"
)


def check(config: EntitiesConfig, points):
    """Raises a ValueError that names a flag which makes no sense.

    Args:
        config: The flags.
        points: Whether a system points at words.
    """
    pointer_softmax_systems.check(config)
    summary_data.check(config)
    if config.preset == "paper" and not find_given_corpora(config, True):
        raise ValueError(
            "The paper's corpus, annotated Gigaword, is licensed (LDC2012T21) "
            "and not fetched. Give first sentences and headlines as --train "
            "a.src a.tgt, or --tfds gigaword."
        )
    name = (config.tfds or "").partition(":")[0]
    if name == gigaword.NAME and points and config.pointers == "unk":
        raise ValueError(
            "--tfds gigaword: its rare words are UNK already, and "
            f"{NO_SPELLING}."
        )
    if name == gigaword.NAME and make_entities(config) == Entities():
        raise ValueError(
            "--tfds gigaword: it is in lower case, so no name has the capital "
            "by which --pointers entity recognises it. Give an "
            "--entity_pattern, or files with --train_tags."
        )
    _check_entity_flags(config)
    make_entities(config)


def _check_entity_flags(config):
    """Raises a ValueError if flags of entity pointers make no sense."""
    tags, rules = (
        [f"--{x}" for x in flags if getattr(config, x) not in (None, False)]
        for flags in (
            [f"{split}_tags" for split in SPLITS],
            ["entity_pattern", "entity_exceptions", "entity_truecase"],
        )
    )
    if config.pointers != "entity" and tags + rules:
        raise ValueError(f"{(tags + rules)[0]} needs --pointers entity.")
    for split in SPLITS:
        files, some = (getattr(config, x) for x in (split, f"{split}_tags"))
        if some is not None and files is None:
            raise ValueError(f"--{split}_tags needs --{split} as well.")
        if config.train_tags is not None and files is not None and some is None:
            raise ValueError(
                f"--{split} needs --{split}_tags, as --train has tags."
            )
        if some is not None and config.train_tags is None:
            raise ValueError(f"--{split}_tags needs --train_tags as well.")
    if config.train_tags is None:
        return
    if config.tokenization != "space":
        raise ValueError(
            "--train_tags needs --tokenization space: tags belong to tokens "
            "between blanks."
        )
    if rules:
        raise ValueError(
            "Entities are either tagged or matched by a pattern. Received: "
            f"--train_tags and {', '.join(rules)}."
        )


def make_entities(config: EntitiesConfig):
    """Returns the `Entities` of the flags; `None` for `--pointers unk`."""
    if config.pointers == "unk":
        return None
    chosen = {"lowercase": config.lowercase}
    if config.entity_pattern is not None:
        chosen["pattern"] = config.entity_pattern
    if config.entity_exceptions is not None:
        chosen["exceptions"] = config.entity_exceptions
    if config.train_tags is not None:
        chosen["pattern"] = None
    with name_flags(pattern="entity_pattern", exceptions="entity_exceptions"):
        return Entities(**chosen)


# How corpora spell words whose identity is lost.
_LOST_WORDS = ("UNK", "unk", "[UNK]", "[unk]", "_UNK", "@unk")


def load_corpus(config):
    """Loads the corpus that the flags name; the demo's without any."""
    if config.train_tags is None:
        corpus = summary_data.load_corpus(config, newsgen)
    else:
        files = [
            text_pairs.file_pair(getattr(config, flag), f"--{flag}")
            for split in SPLITS
            for flag in (split, f"{split}_tags")
        ]
        corpus = gigaword.load_tagged(
            *files, source_language="en", target_language="en", seed=config.seed
        )
    limits = {"validation": config.num_validation, "test": config.num_test}
    some = {
        name: _sample(corpus.splits[name], limit, config.seed)
        for name, limit in limits.items()
    }
    return dataclasses.replace(corpus, splits={**corpus.splits, **some})


def _sample(split, count, seed):
    """Draws a number of pairs of a split at random; all if it has fewer."""
    if count is None or split.num_pairs is None or split.num_pairs <= count:
        return split
    drawn = random.Random(seed).sample(range(split.num_pairs), count)
    drawn = frozenset(drawn)

    def read():
        return (pair for i, pair in enumerate(split) if i in drawn)

    key = fingerprint(split.fingerprint, count, seed)
    return Split(read, key, count, split.num_skipped)


def prepare(config, folder, points):
    """Counts words, and turns the corpus into ids; both are kept.

    Args:
        config: The recipe's config.
        folder: Where vocabularies and ids are kept.
        points: Whether a system points at words.

    Returns:
        `PairData`.
    """
    corpus = load_corpus(config)
    tokenizer = summary_data.make_tokenizer(config, corpus, folder)
    tokenizers = (tokenizer, tokenizer)
    limits = config.max_source_length, config.max_target_length
    entities = make_entities(config)
    if config.entity_truecase:
        common = common_words((source for source, _ in corpus.train), tokenizer)
        entities = dataclasses.replace(entities, common=common)
    counted = {"min_count": config.min_count}
    if entities is not None:
        blanks = (Tokenizer("space"), Tokenizer("space"))

        def load_anonymised():
            return anonymise(corpus.train, entities, tokenizers, limits), blanks

        key = (entities.fingerprint, limits)
        counted |= {"texts": load_anonymised, "texts_key": key}
    data = pair_data.prepare(
        config,
        corpus,
        tokenizers,
        folder,
        counted,
        max_length=None,
        truncate=limits,
        unmatched=config.unmatched,
        entities=entities,
    )
    vectors = _vectors(config, data.vocabularies)
    data = dataclasses.replace(data, vectors=vectors)
    _check_data(config, data, points)
    return data


def pointers_per_100(data) -> dict:
    """Counts the words pointed at, per hundred examples of a split."""
    parts = {"train": data.train, "validation": data.validation}
    return {
        name: round(100 * float(np.sum(part.pointers >= 0)) / len(part), 1)
        for name, part in parts.items()
    }


def _vectors(config, vocabularies):
    loaded = []
    for flag, words in zip(("source_vectors", "target_vectors"), vocabularies):
        path, dim = getattr(config, flag), config.embedding_dim
        vectors = load_file(word_vectors, path, f"--{flag}", words, dim)
        if vectors is not None:
            print(
                f"--{flag}: {vectors.num_found:,} of {vectors.num_words:,} "
                f"words ({vectors.coverage:.1f} %) have a vector"
            )
        loaded.append(vectors)
    return tuple(loaded)


def _check_data(config, data, points):
    """Raises a ValueError if the corpus does not suit the flags."""
    if data.entities is not None:
        for side, words in zip(("source", "target"), data.vocabularies):
            # A headline's first name need not be its source's.
            if not any(f"@{number}" in words for number in range(1, 100)):
                raise ValueError(
                    f"--pointers entity: the {side} vocabulary has no "
                    "placeholders @1, @2, ... Either the training data has "
                    "hardly any entities (--entity_pattern, --train_tags), or "
                    f"--{side}_vocabulary lacks them."
                )
    # Of the subwords of a pretrained network none is unknown.
    if not points or config.backbone is not None:
        return
    if data.entities is None:
        check_spelling(data)
    if not np.any(data.train.pointers >= 0):
        raise ValueError(
            f"--pointers {config.pointers}: no word of the training targets "
            "can be pointed at: none that is outside the target vocabulary, "
            "or an entity, occurs in its source."
        )


def check_spelling(data):
    """Refuses or reports sources whose unknown words are `<unk>` already."""
    ids, copy_ids = data.train.source_ids, data.train.source_copy_ids
    # Each source ends with EOS, which is not copied either.
    literal = np.sum(copy_ids == tokens.NO_COPY) - len(data.train)
    spelt = np.sum(ids == tokens.UNK) - literal
    words = data.vocabularies[0]
    known = [words.id(word) for word in _LOST_WORDS if word in words]
    lost = literal + np.sum(np.isin(ids, known))
    message = (
        f"--pointers unk: {lost:,} words of the training sources are <unk> or "
        f"UNK already, and {spelt:,} unknown ones are spelt out; {NO_SPELLING}"
    )
    if lost > spelt:
        raise ValueError(f"{message}.")
    if lost > 0.05 * spelt:
        print(f"Warning: {message}.")


def build(run, name, data):
    """Builds a system, text in and text out."""
    config = run.config
    placeholders = ()
    if data.entities is not None:
        placeholders = placeholder_ids(data.vocabularies[1])
    search = {
        "min_length": config.min_summary_length,
        "max_length": config.max_summary_length,
        # A placeholder without a source word would be spelt <unk>.
        "source_only": placeholders if config.forbid_unk else (),
    }

    entities = data.entities and dataclasses.asdict(data.entities)
    return pointer_softmax_systems.build(
        run,
        name,
        head_for_kind(config, run.kinds[name]),
        data,
        search,
        {"entities": entities},
        max_source_length=config.max_source_length,
        entities=data.entities,
    )


def train_and_score(system, data, test):
    """Trains a system, or resumes its training, and writes the headlines.

    Returns:
        `(results, answers)`: the system's part of results.json, and a
        `Translation` for each text.
    """
    config = system.config
    head = head_for_kind(config, system.kind)
    options = pointer_softmax_systems.training_options(system, head, data)
    _, trainer_result, trained = pair_training.train(system, data, **options)
    answers, scores = test.answer(system.served)
    length = data.validation.num_target_tokens / len(data.validation)
    results = {
        **trained,
        **scores,
        "nll": round(trainer_result.best_dev_nll * length, 2),
    }
    if data.entities is not None:
        limits = config.max_source_length, config.max_target_length
        results["anonymised"] = score_anonymised_rouge(data, answers, limits)
    if head == "softmax" and not config.replace_unk:
        replaced = system.served.copy(replace_unk=True)
        results["unk_replaced"] = test.answer(replaced)[1]
    return results, answers


def score_anonymised_rouge(data, answers, limits):
    """Computes ROUGE with placeholders for entities, as in Table 2.

    Args:
        data: `PairData` with entities.
        answers: `Translation`s of the test set.
        limits: Most words of a source and of a headline.
    """
    pairs = anonymise(data.test, data.entities, data.tokenizers, limits)
    hypotheses, references = [], []
    for (source, target), answer in zip(pairs, answers):
        known = dict(zip(answer.source_tokens, source.split(" ")))
        words = [known.get(word, word) for word in answer.tokens]
        # ROUGE reads letters and digits only: `@2` is not the number 2.
        for texts, row in ((hypotheses, words), (references, target.split())):
            texts.append(" ".join(row).replace("@", "entity"))
    scores = summaries.rouge(hypotheses, references, split=False)
    return {name: round(score, 2) for name, score in scores.items()}
