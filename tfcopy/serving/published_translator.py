"""Translators of published checkpoints: network, tokens, search.

The head is a softmax: a required span is a run of subwords that the search has
the network generate, so that nothing is trained.
"""

import os
import re
from collections.abc import Callable, Sequence

from tfcopy import checked_files
from tfcopy.serving import published_network, published_tokens
from tfcopy.tokens import BOS, PAD

# Of a translation by default; searches get slower with them.
_LONGEST = 128
# Subwords of a source above which all share a program of LiteRT.
_USUAL = 48
# Settings of a search that ours lacks, and the values that change nothing.
_UNUSED = {
    **{"do_sample": False, "num_beam_groups": 1, "repetition_penalty": 1.0},
    **{"diversity_penalty": 0.0, "encoder_repetition_penalty": 1.0},
    **{"encoder_no_repeat_ngram_size": 0, "guidance_scale": 1.0},
    **dict.fromkeys(("exponential_decay_length_penalty", "sequence_bias")),
    **dict.fromkeys(("force_words_ids", "constraints", "stop_strings")),
    **dict.fromkeys(("suppress_tokens", "begin_suppress_tokens", "max_time")),
    **dict.fromkeys(("penalty_alpha", "watermarking_config")),
}
_SETTINGS = {
    **dict.fromkeys(("num_beams", "no_repeat_ngram_size", "min_length"), int),
    **dict.fromkeys(("max_length", "max_new_tokens", "min_new_tokens"), int),
    **dict.fromkeys(("renormalize_logits", "early_stopping"), bool),
    **{"length_penalty": float, "bad_words_ids": [[int]]},
}
# In the part of a model card that is YAML.
_LICENSE = re.compile(r"""(?sm)\A---$.*?^license: *["']?([^"'#\n]*[^"'#\s])""")


def read(
    folder,
    source_language: str | None = None,
    target_language: str | None = None,
    protect: Sequence[str] = (),
) -> Callable:
    """Reads all of a checkpoint in Hugging Face's format but its weights.

    It takes a moment, while TensorFlow and the network take seconds to load.

    Args:
        folder: Folder of the checkpoint.
        source_language: As in `published_tokens.read`.
        target_language: As in `published_tokens.read`.
        protect: As in `ProtectedTokenizer`; answers then must copy the spans.

    Returns:
        Function of a folder of the files of tokenizers, which must stay there,
        and optionally of `litert`, as in `Translator`. It builds the network
        and returns the `Translator`, whose search is that of `transformers`
        with the checkpoint's own settings, but without `<unk>`, and up to 128
        tokens.

    Raises:
        ValueError: In one line that names the file and the field. The function
            raises it, too.
    """
    config = published_network.read_config(folder)
    path, search, normalizes = read_search(folder, config, bool(protect))
    languages = source_language, target_language
    tokens = published_tokens.read(folder, config, *languages)
    if tokens.start is not None:  # BOS counts, as the first token.
        search |= {"length_offset": 1, "max_length": search["max_length"] - 1}
        search["min_length"] = max(search["min_length"] - 1, 0)
    longest = min(_LONGEST, config["max_position_embeddings"])

    def make(write_to, litert=None):
        from tfcopy import decoding, models
        from tfcopy.serving.servables.translator import Translator

        try:
            options = decoding.SearchOptions(**search)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        checkpoint = published_network.load(folder)
        model = models.from_backbone(
            checkpoint.backbone,
            head="softmax",
            special_ids=tokens.special_ids,
            start=tokens.start,
            normalize=True,
        )
        published_network.point_as_network(model)
        checkpoint.logit_bias[list(tokens.never)] = -1e3
        bias = checkpoint.logit_bias[model.target_embedding.rows]
        if normalizes:
            bias[[PAD, BOS]] = -1e3
        model.head.bias.assign(bias)
        tokenizers, vocabularies = tokens.make(write_to, protect)
        return Translator(
            model,
            *vocabularies,
            source_tokenizer=tokenizers[0],
            target_tokenizer=tokenizers[1],
            options=options,
            max_source_length=longest - 1,
            usual_length=_USUAL,
            litert=litert,
        )

    return make


def read_search(folder, config: dict, must_copy: bool):
    """Reads the settings of a checkpoint's searches.

    Args:
        folder: Folder that may have a "generation_config.json".
        config: From `published_network.read_config`; older checkpoints have
            these settings there.
        must_copy: As in `SearchOptions`.

    Returns:
        `(path, options, normalizes)`: the file, arguments of `SearchOptions`,
        and whether padding, which is forbidden, leaves its probability to the
        other tokens.

    Raises:
        ValueError: In one line that names the file and the setting.
    """
    path = os.path.join(folder, "generation_config.json")
    is_there = os.path.isfile(path)
    values = checked_files.read_json(path) if is_there else config
    path = path if is_there else os.path.join(folder, "config.json")
    checked_files.check_fields(path, values, {}, _SETTINGS)
    special = {PAD: "pad_token_id", BOS: "decoder_start_token_id"}
    never = {config[name] for name in special.values()}
    never = [[row] for row in never - {config["eos_token_id"]}]
    for words in values.get("bad_words_ids") or []:
        if words not in never:
            raise ValueError(
                f"{path}, bad_words_ids: only the padding can be forbidden. "
                f"Received: {words}."
            )
    own = {x: config[x] for x in ("eos_token_id", *special.values())}
    own["forced_eos_token_id"] = config["eos_token_id"]
    if config["model_type"] == "marian":  # A language takes its place.
        own["forced_bos_token_id"] = None
    for name, value in (_UNUSED | own).items():
        if (given := values.get(name)) not in (value, None, []):
            raise ValueError(
                f"{path}, {name}: expected {value}. Received: {given}."
            )

    def get(name, default):
        return default if values.get(name) is None else values[name]

    # Transformers counts the start.
    longest = get("max_new_tokens", get("max_length", _LONGEST + 1) - 1)
    longest = min(_LONGEST, longest, config["max_position_embeddings"])
    options = dict(
        num_beams=get("num_beams", 1),
        max_length=longest,
        min_length=max(get("min_length", 1) - 1, get("min_new_tokens", 0)),
        length_penalty=get("length_penalty", 1.0),
        no_repeat_ngram=get("no_repeat_ngram_size", 0),
        refill=True,
        # Only a patient search has a place for what must be copied.
        patient=must_copy or not get("early_stopping", False),
        forbid_unk=True,
        must_copy=must_copy,
    )
    return path, options, bool(values.get("renormalize_logits"))


def read_facts(folder, source_language=None, target_language=None) -> dict:
    """Reads the languages and the licence of a checkpoint, if it has them.

    Args:
        folder: Folder of the checkpoint.
        source_language: Code that replaces the checkpoint's, if any.
        target_language: The same.

    Returns:
        Dict of `source_language`, `target_language` and `license`.
    """
    values, facts = published_tokens.read_settings(folder), {}
    given = {"source": source_language, "target": target_language}
    for side, language in given.items():
        if isinstance(language := language or values.get(f"{side}_lang"), str):
            facts[f"{side}_language"] = language
    path = os.path.join(folder, "README.md")
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(1 << 16).split("\n---", 1)[0]
        if found := _LICENSE.match(head):
            facts["license"] = found[1].strip()
        # As OPUS-MT names them, if it is one.
        pattern = r"^\* (source|target) language\(s\): *([\w-]+)$"
        for side, code in re.findall(pattern, head, re.MULTILINE):
            facts.setdefault(f"{side}_language", code)
    path = os.path.join(folder, "LICENSE")
    if os.path.isfile(path) and "license" not in facts:
        with open(path, encoding="utf-8", errors="replace") as file:
            facts["license"] = file.readline(80).strip()
    return facts
