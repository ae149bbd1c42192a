"""The dev losses of several runs in one picture.

    python -m benchmarks.dev_curves docs/backbone_dev.png \\
        "random=tensorboard_logs/pydocs_ps/random_5k" \\
        "pretrained=tensorboard_logs/pydocs_ps/bart_5k"

Each run is a folder with results.json, and NAME= is what its curve is called;
of several systems, each has a curve.
"""

import argparse
import json
import pathlib

from tfcopy import figures


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("picture", help="PNG to write")
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    options = parser.parse_args()
    curves = {}
    for run in options.runs:
        name, folder = run.split("=", 1)
        results = pathlib.Path(folder, "results.json").read_text("utf-8")
        systems = json.loads(results)["systems"]
        for system, scores in systems.items():
            curve = scores["history"]
            label = name if len(systems) == 1 else f"{name}, {system}"
            curves[label] = curve["updates"], curve["nll"]
    picture = figures.curves_figure(
        curves, "Validation set", "updates", "nats per sentence"
    )
    figures.save_png(options.picture, picture)


if __name__ == "__main__":
    main()
