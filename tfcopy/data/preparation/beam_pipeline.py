"""The steps of a preparation as one pipeline of Apache Beam.

    hash pairs -> find duplicates -> count words -> merge counts
        -> make vocabularies -> encode -> write the manifest

Each element is the number of a shard. Runners that keep what passes between
steps in memory (Beam's own on one machine does) thus keep a few bytes a shard;
their workers need the folder under the same path.
"""

import apache_beam as beam

from tfcopy.data import beam_runners
from tfcopy.data.preparation.preparation_steps import Preparation


def run(preparation: Preparation, runner: str, flags: list[str]) -> None:
    """Runs all steps, and waits for their end.

    Args:
        preparation: What to prepare.
        runner: Name of a runner of Beam.
        flags: Its options, such as `--direct_num_workers=2`.
    """
    steps = preparation
    numbers = list(range(steps.num_train))
    sections = list(range(steps.num_sections))
    with beam_runners.pipeline(runner, flags) as pipeline:
        before = []
        if steps.settings.remove_duplicates:
            done = _step(pipeline, "HashPairs", numbers, steps.hash_pairs)
            before = [
                _step(
                    pipeline,
                    "FindDuplicates",
                    numbers,
                    steps.find_duplicates,
                    done,
                )
            ]
        done = _step(
            pipeline, "CountWords", numbers, steps.count_words, *before
        )
        done = _step(
            pipeline, "MergeCounts", sections, steps.merge_counts, done
        )
        done = _step(
            pipeline,
            "MakeVocabularies",
            [0],
            _once(steps.make_vocabularies),
            done,
        )
        done = _step(
            pipeline, "Encode", steps.shards, _of_pair(steps.encode), done
        )
        _step(pipeline, "WriteManifest", [0], _once(steps.write_manifest), done)


def _step(pipeline, name, items, function, *before):
    """Applies a function to items, after all of the steps before."""

    def apply(item, *_):
        function(item)
        return item

    return (
        pipeline
        | f"{name}Items" >> beam.Create(items)
        | f"{name}Spread" >> beam.Reshuffle()
        | name >> beam.Map(apply, *map(beam.pvalue.AsList, before))
    )


def _once(function):
    return lambda _: function()


def _of_pair(function):
    return lambda pair: function(*pair)
