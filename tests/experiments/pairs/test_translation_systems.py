"""Calibration of the system that a run exports."""

import types

from tfcopy.checked_files import write_json
from tfcopy.experiments.pairs import translation_systems
from tfcopy.runtime.translation_records import Translation

LANGUAGES = {"source_language": "en", "target_language": "es"}


class Echo:
    """Answers with the source."""

    def translate_all(self, texts):
        return [Translation(text, -1.0) for text in texts]


def calibrated(pairs, init_from=None, **languages):
    corpus = types.SimpleNamespace(validation=iter(pairs), held_out=["git"])
    flags = LANGUAGES | languages | {"seed": 0, "init_from": init_from}
    run = types.SimpleNamespace(
        config=types.SimpleNamespace(**flags),
        systems={"a": types.SimpleNamespace(served=Echo())},
        results={"a": {}},
    )
    data = types.SimpleNamespace(corpus=corpus, test=pairs)
    translation_systems.calibrate(run, data, "a")
    return run.results["a"]["calibration"]


def test_texts_of_all_programs_calibrate_a_system():
    pairs = [(f"{i}", "wrong" if i < 2_500 else f"{i}") for i in range(5_000)]
    ((score, share),) = calibrated(pairs)
    assert score == -1.0 and 0.45 < share < 0.55


def test_too_few_texts_keep_the_curve_of_the_base(tmp_path):
    base = tmp_path / "a"
    base.mkdir()
    write_json(base / "servable.json", {})
    flags = {"format": 1, "recipe": "catalogs_ps", "config": LANGUAGES}
    write_json(tmp_path / "config.json", flags)
    curve = [[-2.0, 0.1], [0.0, 0.5]]
    scores = {"systems": {"a": {"calibration": curve}}}
    write_json(tmp_path / "results.json", flags | scores)
    few = [("a", "a")] * 49
    assert calibrated(few, init_from=str(base)) == curve
    assert calibrated([*few, ("a", "b")], init_from=str(base)) != curve
    assert calibrated(few, init_from=str(base), target_language="fr") == []
    assert calibrated(few, init_from=str(tmp_path / "gone")) == []
