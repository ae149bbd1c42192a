"""KerasHub tasks with decoder-only networks that copy from their prompts."""

import keras
import keras_hub

from tfcopy.models.copy_seq2seq_lm import CopyTask, make_task


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


def _preprocessor(name):
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
        CopyCausalLM, _name, _preprocessor(_name)
    )
