"""The way of a recipe's flags, and how deep its calls go.

    python -m benchmarks.config_walk            counts
    python -m benchmarks.config_walk --frames   and the frames

Trains and compares europarl_ps on 60 pairs, tiny, and watches every call of
tfcopy's code. Rooms are the functions that are given the flags as an argument.
A stay in a room begins when it is called and when a call from it to another
room ends; returns are the stays in rooms that had one before. Frames are the
open calls of functions of tfcopy where the first gradient is taken, and where
the first step of a search is traced, both from the command on.
"""

import argparse
import importlib
import os
import sys
import tempfile

import tfcopy

_TINY = """--units 8 --encoder_units 8 --embedding_dim 8 --updates 2
--eval_every 2 --batch_size 8 --max_target_length 6 --num_beams 2""".split()
_RECIPE = "tfcopy.recipes.europarl_ps"
_PACKAGE = os.path.dirname(tfcopy.__file__) + os.sep


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--frames", action="store_true", help="Show rooms and frames, too."
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk()
        walk.follow(folder)
    rooms = dict.fromkeys(walk.stays)
    print(f"rooms {len(rooms)}")
    print(f"returns {len(walk.stays) - len(rooms)}")
    for name, frames in walk.frames.items():
        print(f"frames to {name} {len(frames)}")
    if options.frames:
        for name, lines in {"rooms": rooms, **walk.frames}.items():
            print(f"\n{name}", *lines, sep="\n    ")


class Walk:
    """What has been seen of a run.

    Attributes:
        stays: The rooms, one after the other.
        frames: Names of functions, from the outermost on, by what the last of
            them does.
    """

    def __init__(self):
        self.stays, self.frames = [], {}
        self._open = []

    def follow(self, folder):
        """Runs the recipe in an empty folder."""
        import tensorflow as tf

        from tfcopy.experiments import command_line

        recipe = importlib.import_module(_RECIPE)
        gradient = tf.GradientTape.gradient

        def taken(*arguments, **options):
            self.frames.setdefault("a gradient", _frames(sys._getframe(1)))
            return gradient(*arguments, **options)

        tf.GradientTape.gradient = taken
        files = [os.path.join(folder, name) for name in ("a.en", "a.fr")]
        for path in files:
            with open(path, "w") as file:
                file.writelines(f"name{i} is {i % 7} .\n" for i in range(60))
        arguments = [*_TINY, "--train", *files]
        arguments += [
            f"--log_dir={folder}",
            f"--savedmodel_dir={folder}/served",
        ]
        sys.argv = [_RECIPE, *arguments]
        sys.setprofile(self._watch)
        try:
            command_line.main(recipe.Config, recipe.run)
        finally:
            sys.setprofile(None)
            tf.GradientTape.gradient = gradient

    def _watch(self, frame, event, _):
        if event == "return" and self._open and self._open[-1] is frame:
            self._open.pop()
            if self._open:
                self._enter(self._open[-1])
        if event != "call" or not frame.f_code.co_filename.startswith(_PACKAGE):
            return
        code = frame.f_code
        if code.co_qualname == "_Search.step":
            self.frames.setdefault("a step of a search", _frames(frame))
        count = code.co_argcount + code.co_kwonlyargcount
        given = [frame.f_locals.get(x) for x in code.co_varnames[:count]]
        # By name: the flags' module may move.
        if any(_is_config(type(x)) for x in given):
            self._open.append(frame)
            self._enter(frame)

    def _enter(self, frame):
        room = _name(frame)
        if not self.stays or self.stays[-1] != room:
            self.stays.append(room)


def _is_config(kind):
    return any(x.__name__ == "RunConfig" for x in kind.__mro__)


def _frames(frame):
    """The open functions of the package, the outermost first."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            found.append(_name(frame))
        frame = frame.f_back
    return found[::-1]


def _name(frame):
    code = frame.f_code
    path = code.co_filename.removeprefix(_PACKAGE)
    return f"{path} {code.co_qualname}"


if __name__ == "__main__":
    main()
