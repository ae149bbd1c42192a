"""KerasHub tasks with pretrained networks that copy: `fit`, `generate`.

The tasks with encoder-decoder networks copy from the source, those with
decoder-only networks, below them, from the prompt.

Shapes: B batch, S source steps, T target steps, M rows of the network's table,
one per token.
"""

import json
import os

import keras
import keras_hub
import numpy as np
from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding.hypotheses import add_beams
from tfcopy.keras_internals import all_layers, forbid_imports
from tfcopy.layers.backbones import hub_backbone, marian_backbone
from tfcopy.layers.copying import CopyDistribution, word_log_probs
from tfcopy.layers.loop import reserve_room
from tfcopy.layers.products import Product
from tfcopy.models.assembly import get_registered_heads, head_class
from tfcopy.models.backbone_choice import from_backbone
from tfcopy.tokens import NO_COPY

_INPUTS = tuple(
    f"{side}_{name}"
    for side in ("encoder", "decoder")
    for name in ("token_ids", "padding_mask")
)


class _Presets:
    """Class property `presets` of a task, as in KerasHub."""

    def __get__(self, task, cls):
        found = {}
        for network in filter(None, (x.network for x in cls.family())):
            found.update(network.presets)
        return found


class CopyTask:
    """Mixin of `CopySeq2SeqLM` and `CopyCausalLM`, before KerasHub's base.

    For arguments and attributes see `CopySeq2SeqLM`.
    """

    # Backbone class of a subclass. It is not called `backbone_cls`, by which
    # KerasHub would find this task in place of its own one.
    network = None
    presets = _Presets()
    _strips_prompt = False

    def __init__(
        self,
        backbone: keras.Model,
        preprocessor: keras.Layer | None = None,
        head: str | keras.Layer = "pointer_generator",
        pointing: str = "heads",
        coverage: bool = False,
        attention_units: int | None = None,
        num_heads: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        special_ids: tuple | list | None = None,
        normalize: bool = True,
        **kwargs,
    ):
        # === Layers ===
        options = dict(locals())
        for name in ("self", "backbone", "preprocessor", "kwargs", "__class__"):
            del options[name]
        for part in all_layers(preprocessor) if preprocessor else []:
            # KerasHub would write this file, even outside of the preset.
            name = getattr(part, "config_file", "")
            if os.path.basename(name) != name:
                raise ValueError(
                    "The preprocessor's `config_file` must be a file name in "
                    f"the preset's folder. Received: {name!r}."
                )
        if special_ids is None and preprocessor is not None:
            options["special_ids"] = _special_ids(
                preprocessor.tokenizer,
                hub_backbone.parts_of(backbone).target_start,
            )
        seq2seq = from_backbone(backbone, **options)
        embedding = seq2seq.target_embedding
        options["special_ids"] = list(embedding.special_ids)
        if not isinstance(head, keras.Layer):
            # Not MODULE:CLASS, which stored configs may not contain.
            names = {kind: x for x, kind in get_registered_heads().items()}
            options["head"] = names[type(seq2seq.head)]
        rows = np.arange(embedding.table.input_dim)
        # The id of each row; the last one if several share it, so that EOS can
        # be generated.
        words = np.zeros_like(rows, "int32")
        words[embedding.rows] = np.arange(len(embedding.rows))
        by_row = _LogProbsByRow(words, name="log_probs")

        # === Functional Model ===
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in _INPUTS
        }
        source, source_copy_ids = _source_of(inputs, words)
        later = _words_of(inputs["decoder_token_ids"], words)[:, 1:]
        distribution = seq2seq(
            {
                "source_ids": source,
                "source_copy_ids": source_copy_ids,
                "target_ids": ops.pad(later, [[0, 0], [0, 1]]),
            }
        )
        outputs = by_row(tuple(distribution), source_copy_ids)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self._generate_functions = {}
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self.seq2seq = seq2seq
        self._options, self._by_row = options, by_row

    @classmethod
    def family(cls):
        """Returns the class and its subclasses, one for each network."""
        return [cls, *cls.__subclasses__()]

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a task, as in KerasHub, with the subclass for its network.

        Args:
            preset: Name of a preset, or a folder.
            load_weights: Whether to load the preset's weights.
            **kwargs: Arguments of the task that replace the preset's.
        """
        if isinstance(kwargs.get("head"), str):
            kwargs["head"] = head_class(kwargs["head"])
        tasks = [task for task in cls.family() if task.network]
        for task in tasks:
            task.backbone_cls = task.network
        try:
            with forbid_imports():
                return super().from_preset(preset, load_weights, **kwargs)
        finally:
            for task in tasks:
                del task.backbone_cls

    def enable_lora(self, rank, target_layer_names=None):
        """Enables LoRA, so that its matrices are trained, not the backbone.

        The attention that points and the head are trained as before. Call
        `compile` afterwards.

        Args:
            rank: Rank of the matrices.
            target_layer_names: Layers of the backbone that get them; by
                default its queries and values.
        """
        names = target_layer_names or self.seq2seq.cell.parts.lora_layers
        self.backbone.enable_lora(rank, names)

    def generate(
        self, inputs, *arguments, sampler=None, strip_prompt=False, **options
    ):
        """Generates target texts, as any `keras_hub.models.CausalLM` does.

        Args:
            inputs: Source texts; or a dict of `encoder_text`, the source texts,
                and `decoder_text`, prefixes of the targets.
            *arguments: As in KerasHub.
            sampler: A sampler or its name, instead of the one from `compile`.
            strip_prompt: Whether to remove the prefixes from the results.
            **options: As in KerasHub.
        """
        if sampler is None and not strip_prompt:
            return super().generate(inputs, *arguments, **options)
        sampler = keras_hub.samplers.get(sampler or self.sampler)
        key = json.dumps([keras_hub.samplers.serialize(sampler), strip_prompt])
        before = self.sampler, self.generate_function
        # A sampler that was used before keeps its graph and random state.
        self.sampler, self.generate_function = self._generate_functions.get(
            key, (sampler, None)
        )
        self._strips_prompt = strip_prompt
        try:
            return super().generate(inputs, *arguments, **options)
        finally:
            self._generate_functions[key] = self.sampler, self.generate_function
            self.sampler, self.generate_function = before
            self._strips_prompt = False

    def quantize(self, mode=None, **options):
        """Quantizes the backbone, but not the added attention and head.

        Args:
            mode: For instance `"int8"`; by default the mode of a `config`.
            **options: As in `keras.Model.quantize`.
        """
        self.backbone.quantize(mode, **options)
        self.generate_function = None
        self._generate_functions.clear()

    def compile(self, *args, **kwargs):
        super().compile(*args, **kwargs)
        self._generate_functions.clear()

    def generate_step(self, inputs, stop_token_ids=None):
        """Generates targets for a batch; `generate` compiles this function.

        Args:
            inputs: Dict of the model's inputs; the targets contain prefixes.
            stop_token_ids: Ids that end a target; `None` to fill all positions.

        Returns:
            Dict of `decoder_token_ids` and `decoder_padding_mask`, `(B, T)`.
        """
        prompt = ops.convert_to_tensor(inputs["decoder_token_ids"])
        mask = ops.cast(inputs["decoder_padding_mask"], "bool")
        table = self._by_row.words
        source, source_copy_ids = _source_of(inputs, table)
        memory, state = self.seq2seq.encode(source, source_copy_ids)
        state = reserve_room(add_beams(state, 1), ops.shape(prompt)[1])
        # Samplers repeat and gather the cache, which must consist of tensors.
        sentences = tree.flatten(memory.sentences)

        def pack_sentences(tensors):
            token_ids = [
                Product(x) if isinstance(y, Product) else x
                for x, y in zip(tensors, sentences)
            ]
            packed = tree.pack_sequence_as(memory.sentences, token_ids)
            return memory._replace(sentences=packed)

        def step(prompt, cache, place):
            """Scores the next token after the one at `place`, `(B, M)`."""
            state, tensors = cache
            memory = pack_sentences(tensors)
            words = _words_of(ops.take(prompt, place, axis=1), table)
            distribution, _, state = self.seq2seq.decode_step(
                ops.expand_dims(words, 1), state, memory
            )
            log_probs = self._by_row(
                tuple(distribution), memory.sentences["source_copy_ids"]
            )
            return ops.squeeze(log_probs, 1), (state, tensors)

        def next(prompt, cache, index):
            log_probs, cache = step(prompt, cache, index - 1)
            return log_probs, None, cache

        tensors = [getattr(x, "kernel", x) for x in sentences]
        # Up to here, all targets have tokens of their prefixes.
        first = ops.min(ops.sum(ops.cast(mask, "int32"), axis=1))
        _, cache = ops.while_loop(
            lambda place, _: place < first - 1,
            lambda place, cache: (place + 1, step(prompt, cache, place)[1]),
            (ops.zeros_like(first), (state, tensors)),
        )
        token_ids = self.sampler(
            next=next,
            prompt=prompt,
            cache=cache,
            index=first,
            mask=mask,
            stop_token_ids=stop_token_ids,
            model=self,
        )
        there = ops.ones_like(token_ids, dtype="bool")
        if stop_token_ids is not None:
            stops = ops.convert_to_tensor(stop_token_ids, token_ids.dtype)
            ends = ops.any(ops.expand_dims(token_ids, 2) == stops, axis=2)
            ends = ops.cast(
                ops.logical_and(ends, ops.logical_not(mask)), "int32"
            )
            there = ops.cumsum(ends, axis=1) - ends == 0
        if self._strips_prompt:
            there = ops.logical_and(there, ops.logical_not(mask))
        return {"decoder_token_ids": token_ids, "decoder_padding_mask": there}

    def get_config(self):
        backbone = hub_backbone.serialize_backbone(self.backbone)
        del backbone["backbone"]["shared_object_id"]  # Not shared here.
        return {**super().get_config(), **backbone, **self._options}

    @classmethod
    @forbid_imports()
    def from_config(cls, config):
        """Makes a task from its config, without importing modules it names.

        Raises:
            ValueError: If the class of its head is not registered.
        """
        config = dict(config)
        if isinstance(head := config.get("head"), str):
            config["head"] = head_class(head, may_import=False)
        names = ("backbone", "lora", "quantizers")
        stored = {name: config.pop(name, None) for name in names}
        if isinstance(stored["backbone"], dict):
            stored["backbone"] = hub_backbone.deserialize_backbone(stored)
        return super().from_config({**config, "backbone": stored["backbone"]})


class CopySeq2SeqLM(CopyTask, keras_hub.models.Seq2SeqLM):
    """KerasHub task with a pretrained encoder-decoder that copies.

        task = CopySeq2SeqLM.from_preset("bart_base_en")
        task.fit({"encoder_text": sources, "decoder_text": targets})
        task.generate(sources)

    Like any task of KerasHub, it has a `backbone`, a `preprocessor`,
    `from_preset`, `save_to_preset`, `quantize` and samplers. Its output is the
    log-probabilities of all tokens, `(B, T, M)`, whether generated or copied.
    The probabilities sum to 1, so that the loss of `compile` is -log p(token),
    as in See et al. All tokens of the source but special ones can be copied.

    `CopySeq2SeqLM.from_preset` selects the subclass for the preset's network.

    ```python
    backbone = keras_hub.models.BartBackbone(**small)
    task = models.CopySeq2SeqLM(backbone, head="pointer_generator")
    task.seq2seq(batch)  # a `CopyDistribution`
    ```

    Args:
        backbone: A backbone of KerasHub that `from_backbone` supports.
        preprocessor: A `keras_hub.models.Seq2SeqLMPreprocessor`, or `None`.
        head: A name of `tokens.HEADS`, such as `"softmax"` (the backbone
            alone), or a head layer that is `tied`.
        pointing: The attention that points: `"heads"` (the mean of the weights
            of `num_heads` heads) or `"additive"`.
        coverage: Whether this attention has coverage, the sum of its earlier
            weights.
        attention_units: Its size; by default the size of the decoder's states.
        num_heads: Number of its heads; by default as in the decoder.
        dropout: Dropout rate of the embeddings and of the features before the
            output layer, in addition to the backbone's own dropout.
        seed: Optional integer, of dropout and noise.
        special_ids: The rows of PAD, UNK, BOS and EOS in the backbone's table;
            by default from the tokenizer of the preprocessor, if there is one,
            or as in the backbone's published vocabularies.
        normalize: Whether the probabilities of the tokens sum to 1. Positions
            that cannot be copied, such as the end of the source, then get none.
            If tokens share a row of the table, only the last of them gets any.
            Tasks that were stored before this option existed are loaded with
            `False`.

    Attributes:
        seq2seq: A `Seq2Seq` with the same layers, for `Trainer`, `beam_search`
            and exports. Its ids are as in `tfcopy.data.hub_pieces`.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 8-9.
    """

    preprocessor_cls = keras_hub.models.Seq2SeqLMPreprocessor


def make_task(base, name, preprocessor, networks=keras_hub.models):
    """Makes and registers the task for a network of KerasHub.

    Args:
        base: `CopySeq2SeqLM` or `CopyCausalLM`.
        name: Name of the network, such as `"Bart"`.
        preprocessor: Class of its preprocessor.
        networks: Module of the network's class.
    """
    kind = base.__name__.removeprefix("Copy")
    contents = {
        "__doc__": f"A `{base.__name__}` with {name}.",
        "__module__": base.__module__,
        "network": getattr(networks, f"{name}Backbone"),
        "preprocessor_cls": preprocessor,
    }
    task = type(f"Copy{name}{kind}", (base,), contents)
    return keras.saving.register_keras_serializable(package="tfcopy")(task)


for _name in ("Bart", "T5", "T5Gemma", "T5Gemma2"):
    _preprocessor = getattr(keras_hub.models, f"{_name}Seq2SeqLMPreprocessor")
    globals()[f"Copy{_name}Seq2SeqLM"] = make_task(
        CopySeq2SeqLM, _name, _preprocessor
    )
for _name in ("Marian", "M2M100"):
    _preprocessor = keras_hub.models.Seq2SeqLMPreprocessor
    globals()[f"Copy{_name}Seq2SeqLM"] = make_task(
        CopySeq2SeqLM, _name, _preprocessor, marian_backbone
    )


def _special_ids(tokenizer, start):
    """Returns the rows of PAD, UNK, BOS and EOS; `None` if not loaded yet."""
    end, pieces = tokenizer.end_token_id, [*tokenizer.get_vocabulary()]
    if end is None:
        return None
    start = getattr(tokenizer, f"{start}_token_id")
    start = end if start is None else start
    # If the tokenizer has no padding, 0 is the id of another token.
    has_padding = getattr(tokenizer, "pad_token", None) is not None
    padding = tokenizer.pad_token_id if has_padding else end
    unknown = tokens.SPECIAL_TOKENS[tokens.UNK]
    unknown = pieces.index(unknown) if unknown in pieces else padding
    return padding, unknown, start, end


def _words_of(rows, words):
    """Converts rows of the table to ids of this package, of any shape."""
    return ops.take(words, ops.cast(rows, "int32"))


def _source_of(inputs, words):
    """Returns ids and copy ids of the source, both `(B, S)`."""
    ids = _words_of(inputs["encoder_token_ids"], words)
    is_there = ops.cast(inputs["encoder_padding_mask"], "bool")
    ids = ops.where(is_there, ids, tokens.PAD)
    return ids, ops.where(ids > tokens.EOS, ids, NO_COPY)


class _LogProbsByRow(keras.layers.Layer):
    """Layer that computes the log-probability of each row, `(B, T, M)`.

    Args:
        words: The id of each row, `(M,)`.
    """

    def __init__(self, words, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.words = words

    def call(self, distribution, source_copy_ids):
        log_probs = word_log_probs(
            CopyDistribution(*distribution), source_copy_ids
        )
        return hub_backbone.columns(log_probs, self.words)


class PromptPreprocessor(keras_hub.models.Seq2SeqLMPreprocessor):
    """Preprocessor that packs source and target for a decoder-only network.

    Both end with the end token. A target begins with the start token, or with
    the end token if the tokenizer has no start token. The model itself adds the
    same token before the source.

    Args:
        tokenizer: A tokenizer of KerasHub.
        encoder_sequence_length: Length of a packed source.
        decoder_sequence_length: Length of a packed target.
    """

    def build(self, input_shape):
        super().build(input_shape)
        start = self.tokenizer.start_token_id
        if start is None:
            start = self.tokenizer.end_token_id
        self.encoder_packer.start_value = None
        self.decoder_packer.start_value = [start]


class CopyCausalLM(CopyTask, keras_hub.models.CausalLM):
    """KerasHub task with a decoder-only network that copies from its prompt.

        task = CopyCausalLM.from_preset("gemma_2b_en")
        task.fit({"encoder_text": prompts, "decoder_text": answers})
        task.generate(prompts)

    It has the arguments and methods of `CopySeq2SeqLM`. The preprocessor is a
    `PromptPreprocessor`, and tokens are copied from the prompt.

    ```python
    backbone = keras_hub.models.GPT2Backbone(**small)
    task = models.CopyCausalLM(backbone, special_ids=[13] * 4)
    task.seq2seq(batch)  # a `CopyDistribution`
    ```

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 8-9.
    """

    preprocessor_cls = PromptPreprocessor


def _make_preprocessor(name):
    """Makes and registers the preprocessor for a network of KerasHub."""
    contents = {
        "backbone_cls": getattr(keras_hub.models, f"{name}Backbone"),
        "tokenizer_cls": getattr(keras_hub.models, f"{name}Tokenizer"),
    }
    made = type(f"Copy{name}Preprocessor", (PromptPreprocessor,), contents)
    return keras.saving.register_keras_serializable(package="tfcopy")(made)


_NAMES = ("GPT2", "Gemma", "Gemma3", "Llama", "Llama3", "Mistral", "OPT")
for _name in (*_NAMES, "Phi3", "Qwen", "Qwen3"):
    globals()[f"Copy{_name}CausalLM"] = make_task(
        CopyCausalLM, _name, _make_preprocessor(_name)
    )
