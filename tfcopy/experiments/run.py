"""A run of a recipe, from its first check to its last line.

<log_dir>/<run>/config.json        the recipe and its flags
                results.json       flags and scores
                data/              vocabularies, the corpus as ids
                <system>/          logs, checkpoints, servable.json
"""

import contextlib
import dataclasses
import json
import math
import os
import random
import shlex
import tempfile
import time
import typing
from collections.abc import Sequence
from typing import Any

import keras

from tfcopy import atomic_files, filesystem, training
from tfcopy.checked_files import write_json
from tfcopy.experiments import earlier_run, reporting
from tfcopy.experiments.config import (
    ENDLESS_SCHEDULES,
    RunConfig,
    config_for_system,
    estimate_minutes,
    from_flags,
    identity,
    locate_changed,
    name_of,
    origin,
    run_name,
)
from tfcopy.experiments.training_choices import Batching
from tfcopy.models.assembly import head_class
from tfcopy.runtime.ask_texts import to_json
from tfcopy.runtime.versions import read_config
from tfcopy.serving.run_folder import RESULTS_NAME, checkpoints_of
from tfcopy.serving.saved_model import export, shorten_path
from tfcopy.serving.servables import storage
from tfcopy.terminal import quantify
from tfcopy.training.distribution import worker_position


@dataclasses.dataclass(frozen=True)
class System:
    """A system of a run: a model, and how it is served.

    Attributes:
        name: The system's name, as in results.json.
        kind: Its name in `--systems`.
        folder: The folder of its logs and checkpoints.
        is_chief: Whether this process writes there.
        config: The recipe's config, with the flags of this system.
        identity: What must stay the same when its training is resumed.
        model: The Keras model.
        trained: The model that is trained: the same, or one of its weights.
        served: What is exported: a `Translator` or a `TextModel`.
        warmup_texts: Texts that an export is asked first.
        pairs: Texts of the test set and their references.
        details: Dict of what else an export remembers.
    """

    name: str
    kind: str
    folder: str
    is_chief: bool
    config: RunConfig
    identity: dict
    model: Any
    trained: Any
    served: Any
    warmup_texts: list
    pairs: Sequence
    details: dict

    @property
    def num_parameters(self) -> int:
        """Returns the number of trainable parameters."""
        return sum(math.prod(w.shape) for w in self.model.trainable_weights)


class Run:
    """A run under way, whose folder no other process can use.

    An earlier run of the folder is resumed, or, if this one differs from it,
    refused before anything there has changed.

    Args:
        config: The recipe's config.
        name: The run's name; by default `--run`, or `run_name`.

    Several workers each make the run; the first one, the chief, alone writes
    and prints. What the others have to write goes to a temporary folder; they
    resume from the chief's checkpoints, so --log_dir must be shared.

    Attributes:
        config: The recipe's config.
        kinds: Dict from the systems' names to their names in `--systems`.
        folder: Where this worker writes: the run's folder, if it is the chief.
        is_chief: Whether this process is the first worker.
        strategy: The `tf.distribute` strategy that models are built under.
        systems: Dict from the systems' names to `System`s, as they are built.
        results: Dict from the systems' names to their part of results.json.

    Raises:
        OSError: naming the flag, if results cannot be written.
        RunError: If another process uses the folder, or it is of another
            recipe or release.
        CheckpointError: naming a flag that must not change.
    """

    def __init__(self, config: RunConfig, name: str | None = None):
        self.config = config
        name = name or config.run or run_name(config)
        folder = self.folder = os.path.join(config.log_dir, name)
        _check_systems(config.systems, type(config))
        _check_schedule(config.schedule, config.warmup, config.updates)
        for kind in config.systems if config.init_from else ():
            own = name_of(config, kind)
            earlier_run.check_sizes(
                config.init_from, own, config_for_system(config, own)
            )
        if "head" in vars(config):
            _check_head(config.head)
        earlier_run.check_place(folder, config.log_dir)
        self.strategy = training.choose_strategy(config.devices)
        batching = from_flags(Batching, config)
        batching.check_devices(self.strategy.num_replicas_in_sync)
        self.is_chief = worker_position(self.strategy)[0] == 0
        self._own = contextlib.ExitStack()
        if self.is_chief:
            check_writable(folder, "--log_dir")
            check_writable(config.savedmodel_dir, "--savedmodel_dir")
            earlier_run.lock(folder)
        else:
            self.folder = self._own.enter_context(
                tempfile.TemporaryDirectory(prefix="tfcopy-")
            )
            nowhere = self._own.enter_context(open(os.devnull, "w"))
            self._own.enter_context(contextlib.redirect_stdout(nowhere))
        self.kinds = {name_of(config, kind): kind for kind in config.systems}
        self._own_folder = earlier_run.OwnFolder(folder, self.kinds)
        if not config.fresh:
            self._own_folder.check(
                config.recipe,
                lambda name: identity(config_for_system(config, name)),
            )
        # The chief may be there before others.
        if self.is_chief:
            self._own_folder.check_folders(self.kinds)
        keras.config.set_dtype_policy(config.precision)
        self._start = time.monotonic()
        print(_describe_duration(len(config.systems), estimate_minutes(config)))
        self._data_identity: dict = {}
        self.systems: dict[str, System] = {}
        self.results: dict[str, dict] = {}

    @property
    def data_folder(self) -> str:
        """Returns the folder of vocabularies and encoded corpora."""
        return os.path.join(self.folder, "data")

    def best_answers(self, metric, data, score, part: str = ""):
        """Chooses the system with the best answers on the validation set.

        Args:
            metric, score: As in `reporting.best_answers`.
            data: `PairData`.
            part: Subfolder of the run that the systems belong to.

        Returns:
            `ExportChoice`.
        """
        systems = {
            key: system
            for key, system in self.systems.items()
            if os.path.dirname(key) == part
        }
        validation = data.corpus.validation
        return reporting.best_answers(metric, systems, validation, score)

    def each(self, data_identity: dict, part: str = ""):
        """Yields the names of the systems to train, and announces each.

        The data must be ready. If an earlier run had the same data, this run
        takes over its folder.

        Args:
            data_identity: What must stay the same of the data.
            part: Subfolder of the run that the systems belong to.

        Raises:
            CheckpointError: If a system there was trained on other data.
        """
        self._data_identity = data_identity
        self._begin(part)
        names = list(self.kinds)
        begun = time.monotonic()
        for done, name in enumerate(names):
            where = " ".join(filter(None, [part, f"{done + 1}/{len(names)}"]))
            left = (time.monotonic() - begun) / max(done, 1)
            left *= len(names) - done
            # Systems that an earlier run has trained take no time.
            left = f" (about {_minutes(left)} left)" if left > 60 else ""
            print(f"\n[{where}] {name}{left}")
            yield name

    def _begin(self, part):
        """Checks the data of a part, and records that its systems begin."""
        folder, config = self._own_folder, self.config
        if not config.fresh:
            for system in folder.begun:
                if os.path.dirname(system) == part:
                    earlier_run.check_system(
                        folder.path(system), self._data_identity
                    )
        if self.is_chief:
            systems = [os.path.join(part, name) for name in self.kinds]
            folder.check_folders(systems)
            flags = json.loads(json.dumps(dataclasses.asdict(config)))
            folder.take(config.recipe, flags, systems)

    def build(
        self,
        name,
        make_model,
        make_served,
        warmup_texts,
        *,
        pairs=(),
        part="",
        make_trained=None,
        more_identity={},
        **details,
    ) -> System:
        """Builds a system, whose model always starts with the same weights.

        What is needed to rebuild it is written into its folder, so that it can
        be exported as soon as there is a checkpoint.

        Args:
            name: The name of the system and of its folder.
            make_model: Function without arguments that returns the model.
            make_served: Function of the model that returns its servable.
            warmup_texts: Texts that an export is asked first.
            pairs: Texts of the test set and their references.
            part: Subfolder of the run that the system belongs to.
            make_trained: Function of the model that returns the model to
                train, which has the same weights; by default itself.
            more_identity: What else must stay the same when its training is
                resumed, beside flags and data.
            **details: What else an export remembers.
        """
        # Layers and initialisers draw their seeds from Python's generator. A
        # seed for TensorFlow would throw away all that it has compiled.
        random.seed(self.config.seed)
        with self.strategy.scope():
            model = make_model()
            trained = make_trained(model) if make_trained else model
        folder = os.path.join(self.folder, part, name)
        shared = self._own_folder.path(os.path.join(part, name))
        config = config_for_system(self.config, name)
        own_identity = {
            **self._data_identity,
            **more_identity,
            "kind of system": self.kinds[name],
            **identity(config),
        }
        if self.is_chief or not self.config.fresh:
            earlier_run.check_system(shared, own_identity)
        served = make_served(model)
        flags = {"flags": locate_changed(config), "origin": origin(config)}
        recipe = self.config.recipe
        details = {"recipe": recipe, "system": name, **flags, **details}
        # Best weights alone, without a checkpoint, are not resumed from.
        is_resumed = checkpoints_of(shared).paths() and not config.fresh
        if config.init_from and not is_resumed:
            print(
                earlier_run.take_weights(config.init_from, name, model, served)
            )
        system = System(
            name=name,
            kind=self.kinds[name],
            folder=shared,
            is_chief=self.is_chief,
            config=config,
            identity=own_identity,
            model=model,
            trained=trained,
            # So that its graphs serve the pictures, the scores and the export.
            served=served.with_files(folder),
            warmup_texts=warmup_texts,
            pairs=pairs,
            details=details,
        )
        self._store(system, served, folder)
        print(f"{system.num_parameters:,} parameters")
        self.systems[f"{part}/{name}" if part else name] = system
        return system

    def finish(self, choice=None, *, paper, score=None, **more) -> dict:
        """Exports a system, writes the results, prints the next steps.

        Args:
            choice: `ExportChoice` of one of the `systems`; `None` if there is
                nothing to export.
            paper: The paper's figures, by system; see
                `reporting.comparable_paper_scores`.
            score: The chosen system's score on the test set, which the export
                remembers; by default the figure that chose it.
            **more: What else results.json holds. `of_dev`, if given, names
                the figures of the validation set; see `run_events`.

        Returns:
            What results.json holds.
        """
        of_dev = more.pop("of_dev", ("perplexity", "nll"))
        if not self.is_chief:
            self._own.close()
            return {"systems": self.results, **more}
        path = None
        if choice is not None:
            system = self.systems[choice.system]
            if score is None:
                scores = self.results[system.details["system"]]
                part = os.path.dirname(choice.system)
                score = (scores[part] if part else scores)[choice.metric]
            path = shorten_path(
                export(
                    system.served,
                    self.config.savedmodel_dir,
                    warmup_texts=system.warmup_texts,
                    details={
                        **system.details,
                        choice.metric: score,
                        "parameters": system.num_parameters,
                        "scores": self.results.get(choice.system, {}),
                    },
                    pairs=system.pairs,
                )
            )
            exported = read_config(path)
            print(f"\nEngines: {exported.get('engines', 'TensorFlow.')}")
            programs = exported.get("litert", {}).get("precision")
            if programs and programs != system.served.litert:
                # So that `tfcopy export` makes the same.
                served = system.served.copy(litert=programs)
                self._store(system, served, system.folder)
            more = {
                "savedmodel": path,
                "exported": choice.system,
                "exported_by": {
                    "split": "validation",
                    "metric": choice.metric,
                    "scores": choice.scores,
                },
                **more,
            }
        claims = reporting.judge(self.config, self.results)
        seconds = round(time.monotonic() - self._start, 1)
        report = {
            "recipe": self.config.recipe,
            "preset": self.config.preset,
            "seed": self.config.seed,
            "seconds": seconds,
            "config": dataclasses.asdict(self.config),
            "systems": self.results,
            "paper": paper,
            "claims": claims,
            **more,
        }
        write_json(self._own_folder.path(RESULTS_NAME), report)
        reporting.log_scores(self.folder, self.results, of_dev)
        earlier_run.unlock(self.folder)
        if choice is not None:
            self._print_next_steps(system, path, seconds)
        print("\n".join(["", *(claim["sentence"] for claim in claims)]))
        return report

    def _store(self, system, served, folder):
        """Stores all that rebuilds a system, but its weights."""
        storage.save(
            served,
            folder,
            warmup_texts=system.warmup_texts,
            details=system.details,
            model=system.trained,
            identity=system.identity,
        )

    def _print_next_steps(self, system, path, seconds):
        recipe = self.config.recipe
        served = os.path.dirname(filesystem.abspath(path))
        shown_path = os.path.dirname(path)
        example = system.warmup_texts[0]
        if isinstance(example, dict) and len(example) == 1:
            (example,) = example.values()
        request = to_json({"instances": [example]}).decode()
        flags = [f"-v {shlex.quote(f'{served}:/models/{recipe}')}"]
        flags.append(f"-e MODEL_NAME={recipe} tensorflow/serving:2.19.1")
        if filesystem.is_url(served):  # The server reads it itself.
            flags = [flags[1], f"--model_base_path={shlex.quote(served)}"]
        serve = " \\\n                   ".join(flags)
        request, folder, shown_path = map(
            shlex.quote, [request, self.folder, shown_path]
        )
        print(
            f"""
{system.details["system"]} was exported to {path};
all scores are in {self.folder}/results.json.
({seconds / 60:.1f} minutes)

Ask it:          python -m tfcopy.serving.ask {shown_path}
Demo page:       python -m tfcopy.serving.demo {shown_path}
TensorBoard:     tensorboard --logdir {folder}
Serve it:        docker run -p 127.0.0.1:8501:8501 \\
                   {serve}
                 curl -d {request} \\
                   localhost:8501/v1/models/{recipe}:predict"""
        )


def _check_systems(systems, kind):
    """Raises a ValueError if `--systems` names none of the recipe's.

    Args:
        systems: The value of the flag.
        kind: The recipe's `Config`.
    """
    if not systems:
        names = typing.get_args(
            *typing.get_args(typing.get_type_hints(kind)["systems"])
        )
        raise ValueError(
            f"--systems must name some of {', '.join(names)}. "
            f"Received: {systems}."
        )


def _check_schedule(schedule, warmup, updates):
    """Raises a ValueError if the learning rate never gets where it should.

    Args:
        schedule, warmup, updates: The values of these flags.
    """
    if updates is None and schedule not in ENDLESS_SCHEDULES:
        raise ValueError(f"--schedule {schedule} needs --updates.")
    if schedule == "inverse_sqrt" and not warmup:
        raise ValueError(
            "--schedule inverse_sqrt needs --warmup, the updates after which "
            "the learning rate falls. Received: 0."
        )
    if updates is not None and warmup >= updates:
        raise ValueError(
            f"--warmup must be below --updates, {updates}. Received: {warmup}."
        )


def _check_head(name):
    """Raises a ValueError if `--head` names no class of a head."""
    try:
        head_class(name)
    except ValueError as error:
        raise ValueError(f"--head {error}") from error


def _describe_duration(number, minutes):
    """Returns the number of systems, and how long they take if known."""
    systems = quantify(number, "system")
    if minutes is None:
        return systems
    return f"{systems}, about {_minutes(60 * minutes)} on two cores"


def _minutes(seconds):
    return quantify(max(1, round(seconds / 60)), "minute")


def measure_time(function, *arguments) -> tuple:
    """Returns the result of a function, and the seconds that it took."""
    start = time.monotonic()
    return function(*arguments), round(time.monotonic() - start, 1)


def check_writable(folder, flag):
    """Makes a folder; an OSError names the flag if nothing can be written."""
    try:
        filesystem.check_utf8(folder)
        atomic_files.check_writable(folder)
    except OSError as error:
        raise OSError(
            f"{flag}: cannot write to {folder} ({error.strerror or error})."
        ) from error
