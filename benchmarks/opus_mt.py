"""A published translator by transformers, and by tfcopy: free, and must copy.

    python benchmarks/opus_mt.py generate CHECKPOINT TEXTS ANSWERS
    python -m benchmarks.opus_mt compare CHECKPOINT TEXTS REFERENCES ANSWERS

Languages follow, if a checkpoint has several: that of answers, that of texts.

The first command needs transformers, and writes its answers with the
checkpoint's own settings; the second prints a table of BLEU, chrF, the shares
of spans kept and of answers that equal transformers'. CHECKPOINT is a folder;
TEXTS and REFERENCES are files of lines.
"""

import json
import pathlib
import sys
import tempfile

LONGEST = 128


def read(path):
    return pathlib.Path(path).read_text("utf-8").splitlines()


def generate(checkpoint, texts, answers, target=None, source=None):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    languages = {"src_lang": source, "tgt_lang": target}
    tokenizer = AutoTokenizer.from_pretrained(checkpoint, **languages)
    first = tokenizer(text_target="").input_ids[0] if source else None
    tensors = {"return_tensors": "pt", "padding": True}
    options = {"max_length": LONGEST, "forced_bos_token_id": first}
    model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint).eval()
    texts, found = read(texts), []
    for start in range(0, len(texts), 16):
        batch = texts[start : start + 16]
        batch = tokenizer(batch, truncation=True, max_length=LONGEST, **tensors)
        with torch.no_grad():
            ids = model.generate(**batch, **options)
        # Without the start and the language, which some tokenizers keep.
        ids = ids[:, 1 if first is None else 2 :]
        found += tokenizer.batch_decode(ids, skip_special_tokens=True)
    pathlib.Path(answers).write_text(json.dumps(found), "utf-8")


def compare(checkpoint, texts, references, answers, target=None, source=None):
    from tfcopy.evaluation import translations
    from tfcopy.serving.import_model import PROTECT
    from tfcopy.serving.published_translator import read as read_checkpoint

    texts, references = read(texts), read(references)
    theirs = json.loads(pathlib.Path(answers).read_text("utf-8"))
    found = {"transformers": theirs}
    with tempfile.TemporaryDirectory() as folder:
        for name, protect in (("free", ()), ("must copy", PROTECT)):
            make = read_checkpoint(checkpoint, source, target, protect)
            rows = make(folder).translate_all(texts, batch_size=16)
            found[name] = [x.text for x in rows]
    print("| search | BLEU | chrF | spans kept, % | same |")
    print("|---|---:|---:|---:|---:|")
    for name, rows in found.items():
        scores = [
            translations.bleu(rows, references)["score"],
            translations.chrf(rows, references)["score"],
            translations.score_kept_markup(texts, rows, PROTECT)["spans_kept"],
        ]
        same = sum(x == y for x, y in zip(rows, theirs))
        cells = " | ".join(f"{x:.2f}" for x in scores)
        print(f"| {name} | {cells} | {same} of {len(rows)} |")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
