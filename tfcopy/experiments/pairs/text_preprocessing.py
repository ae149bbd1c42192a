"""What makes words of texts and ids of words, kept in a run's folder.

A run can then be exported where its corpus is not.
"""

import dataclasses
import hashlib
import json
import os
import shutil

from tfcopy.data import chunks
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary

FILE_NAME = "words.json"
_SIDES = ("source", "target")


@dataclasses.dataclass(frozen=True)
class Words:
    """The words of a run's source and target.

    Attributes:
        tokenizers: Of the source and of the target.
        vocabularies: The same, files of the folder that they are kept in.
        entities: `Entities`, or `None`.
        examples: A few sources of the test set.
    """

    tokenizers: tuple
    vocabularies: tuple
    entities: Entities | None = None
    examples: tuple = ()

    @property
    def identity(self):
        """What must not change between a run and its resumption."""
        return {
            f"vocabulary of the {side}": hashlib.sha256(
                "\n".join(words.words).encode()
            ).hexdigest()[:16]
            for side, words in zip(_SIDES, self.vocabularies)
        }

    def save(self, folder):
        """Writes all but the vocabularies, which are there already."""
        settings = {
            "tokenizers": [
                _settings(tokenizer, folder, side)
                for side, tokenizer in zip(_SIDES, self.tokenizers)
            ],
            "vocabularies": [
                os.path.basename(words.path) for words in self.vocabularies
            ],
            "entities": self.entities and dataclasses.asdict(self.entities),
            "examples": list(self.examples),
        }
        text = json.dumps(settings, ensure_ascii=False, indent=2)
        chunks.write_atomically(
            os.path.join(folder, FILE_NAME),
            lambda file: file.write(f"{text}\n".encode()),
        )

    @classmethod
    def load(cls, folder):
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: If it was never called.
            OSError, ValueError: If a file is missing or damaged.
        """
        path = os.path.join(folder, FILE_NAME)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            settings = json.loads(text)
            tokenizers = [
                _tokenizer(one, folder) for one in settings["tokenizers"]
            ]
            entities = settings["entities"]
            if entities is not None:
                common = tuple(entities.pop("common"))
                entities = Entities(**entities, common=common)
            names, examples = settings["vocabularies"], settings["examples"]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error}).") from error
        known = {
            name: Vocabulary.load(os.path.join(folder, name))
            for name in dict.fromkeys(names)
        }
        return cls(
            tuple(tokenizers),
            tuple(known[name] for name in names),
            entities,
            tuple(examples),
        )


def kept(folder, prepare):
    """`Words` of a folder.

    Args:
        folder: Where `Words.save` wrote to.
        prepare: Called without arguments if it never did, as in runs of
            earlier releases; gives `common.Data` from the corpus.
    """
    if os.path.exists(os.path.join(folder, FILE_NAME)):
        return Words.load(folder)
    try:
        return prepare().words
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{folder} has no {FILE_NAME}, so that the corpus is needed: "
            f"{error}"
        ) from error


def _settings(tokenizer, folder, side):
    """What a tokenizer is made of; a model's file is copied to the folder."""
    settings = dataclasses.asdict(tokenizer)
    file = settings.get("model_file")
    if file is not None:
        if os.path.dirname(os.path.abspath(file)) != os.path.abspath(folder):
            name = f"tokenizer.{side}.model"
            shutil.copyfile(file, os.path.join(folder, name))
            file = name
        settings["model_file"] = os.path.basename(file)
    return settings


def _tokenizer(settings, folder):
    if "model_file" in settings:
        path = os.path.join(folder, settings["model_file"])
        return SentencepieceTokenizer(path)
    return Tokenizer(**settings)
