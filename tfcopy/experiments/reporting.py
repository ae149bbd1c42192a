"""What every recipe does: flags that name files, batches, pictures, results.

Functions, not a base class: a recipe calls those it needs.
"""

import dataclasses
import itertools
import json
import math
import os
import tempfile
import time

import keras
import tensorflow as tf

from tfcopy import training
from tfcopy.data import chunks
from tfcopy.data.corpora import corpus as corpora
from tfcopy.data.pairs import encoding, pipeline
from tfcopy.data.text import vocabulary
from tfcopy.data.text.entities import Entities
from tfcopy.experiments import run_events
from tfcopy.experiments.pairs.text_preprocessing import Words

try:
    from tfcopy.figures import attention_figures as figures
except ImportError:  # matplotlib is an extra
    figures = None


# What a loss needs of a batch.
BATCH = ("source_ids", "source_copy_ids", "target_ids", "pointers")


@dataclasses.dataclass(frozen=True)
class Data:
    """A corpus made ready: vocabularies, and ids of its three parts."""

    corpus: object
    tokenizers: tuple
    vocabularies: tuple
    train: encoding.EncodedCorpus
    validation: encoding.EncodedCorpus
    test: list
    entities: Entities | None = None

    @property
    def words(self):
        """What a model of these words is served with."""
        examples = [as_text(pair[0]) for pair in self.test[:8]]
        return Words(
            self.tokenizers, self.vocabularies, self.entities, tuple(examples)
        )

    @property
    def identity(self):
        """What must not change between a run and its resumption."""
        return self.words.identity | {"training data": self.train.checksum}


def check_systems(config, systems):
    """Raises a ValueError if `--systems` does not name some of them."""
    unknown = sorted(set(config.systems) - set(systems))
    if unknown or not config.systems:
        raise ValueError(
            f"--systems must name some of {', '.join(systems)}. "
            f"Received: {config.systems}."
        )


def baseline_config(config):
    """The config with flags `baseline_X` in the place of X, where given."""
    own = {
        field.name.removeprefix("baseline_"): getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name.startswith("baseline_")
    }
    given = {flag: value for flag, value in own.items() if value is not None}
    return dataclasses.replace(config, **given)


def check_writable(folder, flag):
    """Makes a folder; an OSError names the flag if nothing can be written."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"{flag}: cannot write to {folder} ({error.strerror or error})."
        ) from error


def file_pair(files, flag):
    """Two file names as a tuple; `None` if the flag was not given."""
    if files is None:
        return None
    if len(files) != 2:
        raise ValueError(
            f"{flag} takes two files, source and target: "
            f"{flag} '[a.en, a.fr]'. Received: {files}."
        )
    return tuple(files)


def load_file(kind, path, flag, *arguments):
    """A vocabulary, dictionary or the like from the file that a flag names.

    Args:
        kind: A class or module with `load`.
        path: The file.
        flag: Named in the message of an OSError or ValueError.
        arguments: More arguments of `load`.
    """
    try:
        return kind.load(path, *arguments)
    except OSError as error:
        raise OSError(
            f"{flag}: cannot read {path} ({error.strerror or error})."
        ) from error
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from error


def make_once(paths, parts, make, load=vocabulary.Vocabulary.load):
    """Files that are made once, such as vocabularies, and read from then on.

    Args:
        paths: Where each is kept; beside the first a `.key` says for what.
        parts: All that they depend on, plain values.
        make: Called without arguments if they are not there; gives what is
            to be saved, each with a `save`.
        load: Called with each path.

    Returns:
        What `load` gives, or `save` where it was made.
    """
    key = corpora.fingerprint(*parts)
    try:
        with open(f"{paths[0]}.key", encoding="utf-8") as file:
            if file.read() == key:
                return tuple(map(load, paths))
    except (OSError, ValueError):
        pass  # Not there, or damaged.
    made = tuple(words.save(path) for words, path in zip(make(), paths))
    chunks.write_atomically(
        f"{paths[0]}.key", lambda file: file.write(key.encode())
    )
    return made


def batches(config, encoded, seed, change=lambda dataset: dataset):
    """The training data as `Trainer` wants it.

    Args:
        config: The recipe's config.
        encoded: `EncodedCorpus`.
        seed: Of the order.
        change: Of a dataset of batches to another.
    """

    def train_data(epoch, start_batch, context):
        replicas = context.num_replicas_in_sync
        dataset = pipeline.batches(
            encoded,
            config.batch_size,
            shuffle_seed=seed,
            epoch=epoch,
            start_batch=start_batch // replicas,
            pad_multiple=config.pad_multiple,
            replicas=range(replicas),
            num_replicas=replicas,
        )
        return change(dataset)

    return train_data


def num_parameters(model):
    """The number of numbers that are trained."""
    return sum(math.prod(w.shape) for w in model.trainable_weights)


def optimizer(config, steps=None):
    """The optimizer that the flags ask for.

    Args:
        config: The recipe's config; with a `schedule` of "linear" the
            learning rate falls to zero.
        steps: After so many updates.
    """
    rate = config.learning_rate
    if getattr(config, "schedule", "constant") == "linear":
        rate = keras.optimizers.schedules.PolynomialDecay(rate, steps, 0.0)
    if config.optimizer == "adam":
        return training.Adam(rate)
    if config.optimizer == "adagrad":
        return keras.optimizers.Adagrad(rate, initial_accumulator_value=0.1)
    return keras.optimizers.Adadelta(rate, rho=0.95, epsilon=1e-6)


def log_embeddings(model, data, log_dir):
    """Writes the embeddings for TensorBoard's projector."""
    sides = {"source": model.source_embedding, "target": model.target_embedding}
    if model.source_embedding is model.target_embedding:
        sides = {"words": model.source_embedding}
    tables = {
        side: (keras.ops.convert_to_numpy(layer.embeddings), known.words)
        for (side, layer), known in zip(sides.items(), data.vocabularies)
    }
    write_embeddings(log_dir, tables)


def write_embeddings(log_dir, tables):
    """Writes tables for the projector; a failure is only reported.

    Args:
        log_dir: Where to.
        tables: Dict from a name to `(array, words)`.
    """
    try:
        training.log_embeddings(log_dir, tables)
    except (OSError, tf.errors.OpError) as error:  # only to be looked at
        reason = str(error).splitlines()[0].rpartition("; ")[2]
        print(f"Warning: {log_dir}: embeddings are not written ({reason}).")


class Pictures:
    """What TensorBoard shows after each dev score: answers and attention.

    Args:
        translator: Of the model that trains.
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
            source_words = _words(analysis["source_tokens"][i])
            copied = analysis["copied_from"][i, 0, : len(words)]
            examples.append(
                (
                    as_text(source).split(),
                    words,
                    [place >= 0 for place in copied],
                    as_text(reference).split(),
                )
            )
            if figures is None or not words:
                continue
            generated = analysis["generate_probability"][i, 0, : len(words)]
            picture = figures.attention_figure(
                source_words,
                words,
                analysis["attention"][i, 0],
                copied,
                # That of a model without a switch is 1.
                generate_probability=generated if min(generated) < 1 else None,
            )
            with writer.as_default(update):
                tf.summary.image(f"attention/{i}", picture)
        training.log_examples(writer, update, examples)


def as_text(text):
    """Text, for corpora that give bytes."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def plain_text(text, entities=None):
    """Text without the marks of its entities, if `entities` are marked."""
    if entities is None or entities.pattern is not None:
        return as_text(text)
    words = tf.constant(as_text(text).split(), tf.string)
    words = entities.surfaces(words).numpy().tolist()
    return " ".join(word.decode() for word in words)


def _words(row):
    return [word.decode("utf-8") for word in row if word]


def mark_copied(translation, characters=False):
    """The words of a translation, those that were copied in brackets.

    Args:
        translation: `Translation`.
        characters: Whether its tokens are characters, which are then joined;
            those copied one after another share their brackets.
    """
    pairs = zip(translation.tokens, translation.copied_from)
    if not characters:
        return " ".join(f"[{x}]" if place >= 0 else x for x, place in pairs)
    text = ""
    for copied, run in itertools.groupby(pairs, lambda pair: pair[1] >= 0):
        joined = "".join(token for token, _ in run).replace("▁", " ")
        text += f"[{joined}]" if copied else joined
    return text


def print_marked_examples(pairs, answers, rows=range(4), unit="tokens"):
    """Shows answers, with copied tokens marked [so].

    Args:
        pairs: Sources and targets.
        answers: Dict from a system's name to its `Translation`s.
        rows: Which pairs; those that do not exist are left out.
        unit: What tokens are called.
    """
    print(f"\nExamples from the test set ({unit} [copied] from the source):")
    width = max(map(len, [*answers, "reference"])) + 2
    for i in rows:
        if i >= len(pairs):
            break
        source, target = map(as_text, pairs[i][:2])
        print(f"\n{'source':{width}}{source}")
        for system, translations in answers.items():
            marked = mark_copied(translations[i], unit == "characters")
            print(f"{system:{width}}{marked}")
        print(f"{'reference':{width}}{target}")


def print_table(rows, columns):
    """Prints figures.

    Args:
        rows: Dict from a title to a dict of figures; some may be missing.
        columns: Dict from a title to the name of a figure.
    """
    width = max(map(len, rows))
    table = [list(columns)]
    for scores in rows.values():
        table.append([_figure(scores.get(name)) for name in columns.values()])
    widths = [max(map(len, cells)) + 2 for cells in zip(*table)]
    print()
    for title, cells in zip(["", *rows], table):
        line = "".join(f"{x:>{size}}" for x, size in zip(cells, widths))
        print(f"{title:{width}}{line}")


def _figure(value):
    """Integers in full, others to six digits, nothing of `None`."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def shown(path):
    """A path as users would write it: from here, if it lies below."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def print_next_steps(recipe, folder, path, system, example, seconds):
    """Says what to do with the outcome.

    Args:
        recipe: Its name.
        folder: Of the run.
        path: Of the SavedModel.
        system: What was exported.
        example: A text to send; or several, a dict by name.
        seconds: What the run took.
    """
    served = os.path.dirname(os.path.abspath(path))
    path = shown(path)
    request = json.dumps({"instances": [example]}, ensure_ascii=False)
    request = request.replace("'", "'\\''")
    print(
        f"""
{system} is in {path}; all figures are in {folder}/results.json.
({seconds / 60:.1f} minutes)

Ask it:          python -m tfcopy.serving.ask {os.path.dirname(path)}
See it:          python -m tfcopy.serving.demo {os.path.dirname(path)}
Look at it:      tensorboard --logdir {folder}
Serve it:        docker run -p 8501:8501 \\
                   -v "{served}:/models/{recipe}" \\
                   -e MODEL_NAME={recipe} tensorflow/serving
                 curl -d '{request}' \\
                   localhost:8501/v1/models/{recipe}:predict"""
    )


def keep_picture(picture, path):
    """Writes a picture of a whole run as PNG, and to TensorBoard.

    Args:
        picture: As `figures` give it.
        path: The PNG in the folder of the run; its name is that of the
            picture.
    """
    folder, file = os.path.split(path)
    name = os.path.splitext(file)[0]
    log = run_events.open_log(folder, name)
    with log.tolerating():
        figures.save_png(path, picture)
        with log.writer.as_default(0):
            tf.summary.image(name, picture)
    log.close()


def write_results(path, results, of_dev=("perplexity", "nll")):
    """Writes results.json, whole or not at all; scores to TensorBoard, too.

    Args:
        path: The file, in the folder of the run.
        results: What it is to hold.
        of_dev: As of `all_systems.log_scores`.
    """
    text = json.dumps(results, ensure_ascii=False, indent=2)
    chunks.write_atomically(path, lambda file: file.write(f"{text}\n".encode()))
    if "systems" in results:
        run_events.log_scores(os.path.dirname(path), results["systems"], of_dev)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self):
        self._start = time.monotonic()

    @property
    def seconds(self):
        return round(time.monotonic() - self._start, 1)
