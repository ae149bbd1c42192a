"""The steps of the headline recipe: corpora, entities, vectors, scores."""

import dataclasses
import os
import random

import numpy as np

from tfcopy import tokens
from tfcopy.data.corpora import gigaword, tagged_pairs
from tfcopy.data.corpora.corpus import Split, fingerprint
from tfcopy.data.definitions import word_vectors
from tfcopy.data.generated import demo_headlines
from tfcopy.data.pairs import encoding
from tfcopy.data.text import vocabulary
from tfcopy.data.text.entities import (
    EXCEPTIONS,
    PATTERN,
    Entities,
    anonymise,
    common_words,
)
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.evaluation import summaries as summaries
from tfcopy.experiments import learning_curves
from tfcopy.experiments import reporting as common
from tfcopy.experiments.pairs import summarization, translation_steps

# The head of each system.
HEADS = {"nmt_lvt": "softmax", "pointer_softmax_lvt": "pointer_softmax"}

# How corpora spell words whose identity is lost.
_LOST_WORDS = ("UNK", "unk", "[UNK]", "[unk]", "_UNK", "@unk")
_NO_SPELLING = (
    "pointers to unknown words need their spelling. Give the text before rare "
    "words were replaced, choose --pointers entity, or train the baseline "
    "alone with --systems '[nmt_lvt]'"
)


@dataclasses.dataclass(frozen=True)
class Data(common.Data):
    """Headlines made ready.

    Attributes:
        vectors: `WordVectors` of both sides, `None` for random ones.
        choices: What else must not change between a run and its resumption.
    """

    vectors: tuple = (None, None)
    choices: dict = dataclasses.field(default_factory=dict)

    @property
    def identity(self):
        return super().identity | self.choices

    @property
    def pointers_per_100(self):
        """Words pointed at in a hundred examples of each part."""
        parts = {"train": self.train, "validation": self.validation}
        return {
            name: round(100 * float(np.sum(part.pointers >= 0)) / len(part), 1)
            for name, part in parts.items()
        }


def check(config):
    """Raises a ValueError that names a flag which makes no sense."""
    translation_steps.check(config, HEADS)
    translation_steps.check_pointing(config)
    summarization.check_shared(config)
    if config.preset == "paper" and not (config.train or config.tfds):
        raise ValueError(
            "The paper's corpus, annotated Gigaword, is licensed (LDC2012T21) "
            "and not fetched. Give first sentences and headlines as --train "
            "'[a.src, a.tgt]', or --tfds gigaword."
        )
    points = "pointer_softmax_lvt" in config.systems
    name = (config.tfds or "").partition(":")[0]
    if name == gigaword.NAME and points and config.pointers == "unk":
        raise ValueError(
            "--tfds gigaword: its rare words are UNK already, and "
            f"{_NO_SPELLING}."
        )
    if name == gigaword.NAME and make_entities(config) == Entities():
        raise ValueError(
            "--tfds gigaword: it is in lower case, so that no name has the "
            "capital by which --pointers entity knows it. Give an "
            "--entity_pattern, or files with --train_tags."
        )
    tags = [f"{split}_tags" for split in ("train", "validation", "test")]
    for flag in (*tags, "entity_pattern", "entity_exceptions"):
        if getattr(config, flag) is not None and config.pointers != "entity":
            raise ValueError(f"--{flag} needs --pointers entity.")
    if config.entity_truecase and config.pointers != "entity":
        raise ValueError("--entity_truecase needs --pointers entity.")
    for flag in tags:
        files = flag.removesuffix("_tags")
        has_tags = getattr(config, flag) is not None
        if has_tags and getattr(config, files) is None:
            raise ValueError(f"--{flag} needs --{files} as well.")
        has_files = getattr(config, files) is not None
        if config.train_tags is not None and has_files and not has_tags:
            raise ValueError(f"--{files} needs --{flag}, as --train has tags.")
        if has_tags and config.train_tags is None:
            raise ValueError(f"--{flag} needs --train_tags as well.")
    if config.train_tags is not None:
        if config.tokenization != "space":
            raise ValueError(
                "--train_tags needs --tokenization space: tags are those of "
                "tokens between blanks."
            )
        rules = ("entity_pattern", "entity_exceptions", "entity_truecase")
        given = [
            f"--{rule}"
            for rule in rules
            if getattr(config, rule) not in (None, False)
        ]
        if given:
            raise ValueError(
                "Entities are either tagged or matched by a pattern. Received: "
                f"--train_tags and {', '.join(given)}."
            )
    make_entities(config)


def make_entities(config):
    """`Entities` as the flags ask for, or `None`."""
    if config.pointers == "unk":
        return None
    given = {
        "pattern": (config.entity_pattern, PATTERN),
        "exceptions": (config.entity_exceptions, EXCEPTIONS),
    }
    chosen = {
        k: default if x is None else x for k, (x, default) in given.items()
    }
    if config.train_tags is not None:
        chosen["pattern"] = None
    try:
        return Entities(**chosen, lowercase=config.lowercase)
    except ValueError as error:
        message = str(error)
        for name in given:
            message = message.replace(f"`{name}`", f"--entity_{name}")
        raise ValueError(message) from error


def load_corpus(config):
    """The corpus that the flags ask for; the demo's without any."""
    if config.train_tags is None:
        corpus = summarization.load_corpus(config, demo_headlines)
    else:
        files = [
            common.file_pair(getattr(config, flag), f"--{flag}")
            for split in ("train", "validation", "test")
            for flag in (split, f"{split}_tags")
        ]
        corpus = tagged_pairs.load(
            *files, source_language="en", target_language="en", seed=config.seed
        )
    limits = {"validation": config.num_validation, "test": config.num_test}
    some = {
        name: _sample(corpus.splits[name], limit, config.seed)
        for name, limit in limits.items()
    }
    return dataclasses.replace(corpus, splits={**corpus.splits, **some})


def _sample(split, count, seed):
    """So many pairs of a split, drawn at random; all if there are fewer."""
    if count is None or split.num_pairs is None or split.num_pairs <= count:
        return split
    drawn = random.Random(seed).sample(range(split.num_pairs), count)
    drawn = frozenset(drawn)

    def read():
        return (pair for i, pair in enumerate(split) if i in drawn)

    key = fingerprint(split.fingerprint, count, seed)
    return Split(read, key, count, split.num_skipped)


def prepare(config, folder):
    """Counts words, and turns the corpus into ids; both are remembered.

    Args:
        config: The recipe's config.
        folder: Where vocabularies and ids are kept.

    Returns:
        `Data`.
    """
    corpus = load_corpus(config)
    tokenizer = Tokenizer(
        mode="space" if corpus.tokenized else config.tokenization,
        language="en",
        lowercase=config.lowercase,
    )
    entities = make_entities(config)
    if config.entity_truecase:
        sources = (source for source, _ in corpus.train)
        common = common_words(sources, tokenizer)
        entities = dataclasses.replace(entities, common=common)
    words = _vocabularies(config, corpus, tokenizer, entities, folder)
    encoded = {
        name: encoding.encode(
            corpus.splits[name],
            *words,
            source_tokenizer=tokenizer,
            target_tokenizer=tokenizer,
            max_length=None,
            truncate=_limits(config),
            unmatched=config.unmatched,
            entities=entities,
            cache_dir=folder,
            name=name,
        )
        for name in ("train", "validation")
    }
    flags = ("pointers", "source_vectors", "target_vectors")
    data = Data(
        corpus=corpus,
        tokenizers=(tokenizer, tokenizer),
        vocabularies=words,
        **encoded,
        test=[pair for pair in corpus.test if pair[0].strip()],
        entities=entities,
        vectors=_vectors(config, words),
        choices={f"--{flag}": getattr(config, flag) for flag in flags},
    )
    data.words.save(folder)
    print(
        f"{corpus.name}: {len(data.train):,} pairs to train on"
        f" ({data.train.num_empty:,} left out, a side being empty),"
        f" {len(data.validation):,} to validate, {len(data.test):,} to test;"
        f" {words[0].size:,} and {words[1].size:,} words"
    )
    _check_data(config, data)
    return data


def _limits(config):
    return config.max_source_length, config.max_target_length


def _vocabularies(config, corpus, tokenizer, entities, folder):
    sides = ("source", "target")
    files = [getattr(config, f"{side}_vocabulary") for side in sides]
    sizes = [getattr(config, f"{side}_vocabulary_size") for side in sides]
    given = [
        path
        and common.load_file(
            vocabulary.Vocabulary, path, f"--{side}_vocabulary"
        )
        for side, path in zip(sides, files)
    ]

    def make():
        pairs, tokenizers = corpus.train, (tokenizer, tokenizer)
        if all(given):
            return given
        if entities is not None:
            pairs = anonymise(pairs, entities, tokenizers, _limits(config))
            tokenizers = (Tokenizer("space"), Tokenizer("space"))
        counts = vocabulary.count_words(
            pairs, tokenizers, total=corpus.train.num_pairs
        )
        return [
            words or vocabulary.Vocabulary.build(count, size, config.min_count)
            for words, count, size in zip(given, counts, sizes)
        ]

    return common.make_once(
        [os.path.join(folder, f"vocabulary.{side}.txt") for side in sides],
        [
            corpus.fingerprint,
            tokenizer.fingerprint,
            entities and (entities.fingerprint, _limits(config)),
            sizes,
            config.min_count,
            [words and words.words for words in given],
        ],
        make,
    )


def _vectors(config, vocabularies):
    found = []
    for number, (side, words) in enumerate(
        zip(("source", "target"), vocabularies)
    ):
        flag = f"{side}_vectors"
        vectors = path = getattr(config, flag)
        if path is not None:
            vectors = common.load_file(
                word_vectors, path, f"--{flag}", words, config.embedding_dim
            )
            print(
                f"--{flag}: {vectors.num_found:,} of {vectors.num_words:,} "
                f"words ({vectors.coverage:.1f} %) have a vector"
            )
        found.append(vectors)
    return tuple(found)


def _check_data(config, data):
    """Raises a ValueError where the corpus does not do for the flags."""
    if len(data.train) < config.batch_size:
        raise ValueError(
            f"--batch_size must be at most {len(data.train)}, the number of "
            f"pairs to train on. Received: {config.batch_size}."
        )
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
    if "pointer_softmax_lvt" not in config.systems:
        return
    if data.entities is None:
        _check_spelling(data)
    if not np.any(data.train.pointers >= 0):
        raise ValueError(
            f"--pointers {config.pointers}: no word of the training targets "
            "can be pointed at: there is none outside of the target "
            "vocabulary, or among the entities, that its source has."
        )


def _check_spelling(data):
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
        f"UNK already, and {spelt:,} unknown ones are spelt out; {_NO_SPELLING}"
    )
    if lost > spelt:
        raise ValueError(f"{message}.")
    if lost > 0.05 * spelt:
        print(f"Warning: {message}.")


def set_vectors(model, data):
    """Starts the embeddings of a model from the word vectors, if any."""
    layers = (model.source_embedding, model.target_embedding)
    for layer, vectors in zip(layers, data.vectors):
        if vectors is not None:
            layer.embeddings.assign(vectors.matrix)


def train_and_score(config, system, model, translator, data, test, folder):
    """Trains a system, or goes on training it, and writes the headlines.

    Args:
        config: The recipe's config.
        system: Its name.
        model: Its model.
        translator: Of that model.
        data: `Data`.
        test: `summarization.TestSet`.
        folder: Of the run.

    Returns:
        `(results, answers)`: the system's part of results.json, and a
        `Translation` for each text.
    """
    log_dir = os.path.join(folder, system)
    trained = translation_steps.train(
        config,
        system,
        HEADS[system],
        model,
        data,
        log_dir,
        common.Pictures(translator, data.corpus.splits["validation"]),
    )
    common.log_embeddings(model, data, log_dir)
    answers, scores = test.answer(translator)
    dev = data.validation
    tokens_per_sentence = dev.num_target_tokens / len(dev)
    results = {
        "parameters": common.num_parameters(model),
        "updates": trained.updates,
        **scores,
        "perplexity": trained.best_dev_perplexity,
        "nll": round(trained.best_dev_nll * tokens_per_sentence, 2),
        "seconds_training": round(trained.seconds, 1),
        "target_tokens_per_second": round(trained.target_tokens_per_second),
        "history": learning_curves.history(log_dir, dev),
    }
    if data.entities is not None:
        results["anonymised"] = anonymised_rouge(config, data, answers)
    if HEADS[system] == "softmax":
        replaced = translator.copy(replace_unk=True)
        results["unk_replaced"] = test.answer(replaced)[1]
    return results, answers


def anonymised_rouge(config, data, answers):
    """ROUGE with placeholders for the entities, as in the paper's Table 2."""
    pairs = anonymise(
        data.test, data.entities, data.tokenizers, _limits(config)
    )
    hypotheses, references = [], []
    for (source, target), answer in zip(pairs, answers):
        known = dict(zip(answer.source_tokens, source.split()))
        words = [known.get(word, word) for word in answer.tokens]
        # ROUGE sees letters and figures alone: `@2` is not the number 2.
        for texts, some in ((hypotheses, words), (references, target.split())):
            texts.append(" ".join(some).replace("@", "entity"))
    scores = summaries.rouge(hypotheses, references, split=False)
    return {name: round(score, 2) for name, score in scores.items()}


_COLUMNS = {
    "R-1": "rouge1",
    "R-2": "rouge2",
    "R-L": "rougeL",
    "R-1 rec.": "rouge1_recall",
    "R-2 rec.": "rouge2_recall",
    "R-L rec.": "rougeL_recall",
    "% UNK": "unk_rate",
    "% pointed": "copy_rate",
    "dev nll": "nll",
    "updates": "updates",
    "seconds": "seconds_training",
}


def print_comparison(results, paper, data, paper_pointers):
    """A table of the systems beside the paper's."""
    rows = {}
    for system, scores in results.items():
        rows[system] = scores
        for part in ("unk_replaced", "anonymised"):
            if part in scores:
                title = part.replace("unk_replaced", "UNK replaced")
                rows[f"{system}, {title}"] = scores[part]
    rows |= {f"{system}, paper": scores for system, scores in paper.items()}
    common.print_table(rows, _COLUMNS)
    found = data.pointers_per_100
    print(
        "ROUGE: F1 and recall of whole headlines, stemmed. dev nll: nats a "
        "headline, not of the\nsame events: the baseline does not say where an "
        "unknown word comes from. Words pointed\nat in 100 examples: "
        f"{found['train']:g} in training, {found['validation']:g} in "
        f"validation; the paper's {paper_pointers['train']:g} and "
        f"{paper_pointers['validation']:g}."
    )
