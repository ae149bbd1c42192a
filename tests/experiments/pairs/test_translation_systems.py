"""Calibration of the system that a run exports."""

import types

from tfcopy.experiments.pairs import translation_systems
from tfcopy.runtime.answer_lines import Translation


class Echo:
    """Answers with the source."""

    def translate_all(self, texts):
        return [Translation(text, -1.0) for text in texts]


def test_texts_of_all_programs_calibrate_a_system():
    pairs = [(f"{i}", "wrong" if i < 2_500 else f"{i}") for i in range(5_000)]
    corpus = types.SimpleNamespace(validation=iter(pairs), held_out=["git"])
    data = types.SimpleNamespace(corpus=corpus, test=pairs)
    run = types.SimpleNamespace(
        config=types.SimpleNamespace(seed=0),
        systems={"a": types.SimpleNamespace(served=Echo())},
        results={"a": {}},
    )
    translation_systems.calibrate(run, data, "a")
    ((score, share),) = run.results["a"]["calibration"]
    assert score == -1.0 and 0.45 < share < 0.55
