"""Batches a second from arrays in memory, from shards, and from ArrayRecord.

    python -m benchmarks.shard_reading --pairs 200000 --shards 20

All give the same batches of one epoch, drawn over the whole corpus. ArrayRecord
(with groups of one record, its fastest for such reads) comes with TensorFlow
Datasets; its records are a pair's four rows of ids one after the other.
"""

import os
import sys
import tempfile
import time

import numpy as np
from array_record.python import array_record_data_source, array_record_module

from benchmarks import flags
from tfcopy.data.pairs import pipeline
from tfcopy.data.pairs.encoding import EncodedCorpus
from tfcopy.data.preparation import shard_files
from tfcopy.terminal import tolerant_output

_SIDES = (("source_ids", "source_copy_ids"), ("target_ids", "pointers"))


def random_arrays(rng, num_pairs):
    """The arrays of pairs of 5 to 40 words."""
    arrays = {}
    for names, side in zip(_SIDES, ("source", "target")):
        splits = np.cumsum([0, *rng.integers(5, 41, num_pairs)])
        arrays[f"{side}_splits"] = splits
        for name in names:
            arrays[name] = rng.integers(0, 30_000, splits[-1], np.int32)
    arrays["indices"] = np.arange(num_pairs)
    return arrays


def some_pairs(arrays, start, end):
    """The arrays of some of the pairs."""
    found = {
        "indices": arrays["indices"][: end - start],
        "counts": [end - start, 0, 0],
    }
    for names, side in zip(_SIDES, ("source", "target")):
        splits = arrays[f"{side}_splits"][start : end + 1]
        found[f"{side}_splits"] = splits - splits[0]
        for name in names:
            found[name] = arrays[name][splits[0] : splits[-1]]
    return found


def write_array_records(folder, arrays, shards):
    """Writes one record a pair; returns the files."""
    paths = []
    sides = [arrays[f"{x}_splits"].tolist() for x in ("source", "target")]
    numbers = np.array_split(np.arange(len(arrays["indices"])), shards)
    for number, rows in enumerate(numbers):
        path = os.path.join(folder, f"{number:05d}.array_record")
        writer = array_record_module.ArrayRecordWriter(path, "group_size:1")
        for i in rows.tolist():
            parts = [[splits[i + 1] - splits[i] for splits in sides]]
            for names, splits in zip(_SIDES, sides):
                parts += [arrays[x][splits[i] : splits[i + 1]] for x in names]
            writer.write(np.concatenate(parts).astype(np.int32).tobytes())
        writer.close()
        paths.append(path)
    return paths


def array_record_batches(source, encoded, size, count):
    """Yields the padded arrays of batches, as the pipeline's."""
    for own in pipeline.training_rows(encoded, size, seed=1)[:count]:
        records = source.__getitems__(own.tolist())
        records = [np.frombuffer(x, np.int32) for x in records]
        lengths = np.array([x[:2] for x in records])
        batch = {}
        starts = np.full(len(records), 2)
        for side, names in enumerate(_SIDES):
            steps = np.arange(lengths[:, side].max())
            for name in names:
                padded = np.full(
                    (len(own), len(steps)), pipeline.PADDING[name], np.int32
                )
                for i, record in enumerate(records):
                    length = lengths[i, side]
                    start = starts[i]
                    padded[i, :length] = record[start : start + length]
                starts = starts + lengths[:, side]
                batch[name] = padded
        yield batch


def pipeline_batches(encoded, size, count):
    dataset = pipeline.batches(encoded, size, shuffle_seed=1).take(count)
    return dataset.as_numpy_iterator()


def main():
    options = flags.parse(
        __doc__,
        ("pairs", 200_000, "pairs of the corpus"),
        ("shards", 20, "files"),
        ("batch_size", 64, "pairs of a batch"),
        ("batches", 500, "batches read"),
        ("rounds", 3, "rounds, of which the best counts"),
    )
    arrays = random_arrays(np.random.default_rng(0), options.pairs)
    with tempfile.TemporaryDirectory() as folder:
        edges = np.linspace(0, options.pairs, options.shards + 1, dtype=int)
        shards = [
            shard_files.write(folder, f"{i}.npy", some_pairs(arrays, *own))
            for i, own in enumerate(zip(edges[:-1], edges[1:]))
        ]
        checksum = shard_files.corpus_checksum(folder, shards)
        memory = EncodedCorpus(**arrays, num_read=options.pairs)
        mapped = shard_files.load(folder, shards, checksum)
        source = array_record_data_source.ArrayRecordDataSource(
            write_array_records(folder, arrays, options.shards)
        )
        more = options.batch_size, options.batches
        makers = {
            "memory": lambda: pipeline_batches(memory, *more),
            "shards": lambda: pipeline_batches(mapped, *more),
            "ArrayRecord": lambda: array_record_batches(source, memory, *more),
        }
        best, last = dict.fromkeys(makers, 1e9), {}
        for _ in range(options.rounds):
            for name, make in makers.items():
                batches = make()
                next(batches)
                start = time.perf_counter()
                for batch in batches:
                    last[name] = batch
                best[name] = min(best[name], time.perf_counter() - start)
        is_same = checksum == memory.checksum and all(
            np.array_equal(batch[x], last["memory"][x])
            for batch in last.values()
            for x in batch
        )
    print("the same batches" if is_same else "NOT the same batches")
    print("| from        | batches/s | ms a batch |")
    print("|-------------|----------:|-----------:|")
    for name, seconds in best.items():
        rate = (options.batches - 1) / seconds
        print(f"| {name:11} | {rate:9.0f} | {1000 / rate:10.2f} |")
    return 0 if is_same else 1


if __name__ == "__main__":
    with tolerant_output():
        sys.exit(main())
