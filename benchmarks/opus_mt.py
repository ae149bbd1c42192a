"""A published translator by transformers, and by tfcopy: free, and must copy.

    python benchmarks/opus_mt.py generate CHECKPOINT TEXTS ANSWERS
    python -m benchmarks.opus_mt compare CHECKPOINT TEXTS REFERENCES ANSWERS
    python -m benchmarks.opus_mt compare_terms CHECKPOINT TEXTS REFERENCES TERMS

Languages follow, if a checkpoint has several: that of answers, that of texts.

The first command needs transformers, and writes its answers with the
checkpoint's own settings; the second prints a table of BLEU, chrF, the shares
of spans kept and of answers that equal transformers', also with X1X, X2X and so
on in the place of spans. The third has the same of texts with terms, whose
references have their translations. CHECKPOINT is a folder; TEXTS and
REFERENCES are files of lines, TERMS of lines `phrase<TAB>translation`.
"""

import json
import pathlib
import sys
import tempfile

LONGEST = 128
PROTECT = ("links", "html", "placeholders")


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


def translate(checkpoint, texts, protect, languages=(), glossary=None):
    from tfcopy.serving.published_translator import read as read_checkpoint

    with tempfile.TemporaryDirectory() as folder:
        target, source = [*languages, None, None][:2]
        make = read_checkpoint(checkpoint, source, target, protect)
        translator = make(folder).copy(glossary=glossary)
        rows = translator.translate_all(texts, batch_size=16)
        return [x.text for x in rows]


def compare(checkpoint, texts, references, answers, *languages):
    from tfcopy.data.text import span_patterns

    texts, references = read(texts), read(references)
    theirs = json.loads(pathlib.Path(answers).read_text("utf-8"))
    found = {"transformers": theirs}
    for name, protect in (("free", ()), ("must copy", PROTECT)):
        found[name] = translate(checkpoint, texts, protect, languages)
    shown, spans = [*texts], [span_patterns.spans_of(x, PROTECT) for x in texts]
    for i, row in enumerate(spans):
        for number, span in enumerate(row, 1):
            shown[i] = shown[i].replace(span, f"X{number}X", 1)
    for name, protect in (("free", ()), ("must copy", ["X[0-9]+X"])):
        rows = translate(checkpoint, shown, protect, languages)
        for i, row in enumerate(spans):
            for number, span in [*enumerate(row, 1)][::-1]:
                rows[i] = rows[i].replace(f"X{number}X", span)
        found[f"{name}, X1X"] = rows
    print_table(texts, references, found)


def compare_terms(checkpoint, texts, references, terms, *languages):
    from tfcopy.data.text.glossary import Glossary

    glossary = Glossary.load(terms)

    def wanted(text, reference):
        has = [(x in text.split(), y in reference) for x, y in glossary.terms]
        return [y for (_, y), both in zip(glossary.terms, has) if all(both)]

    pairs = [x for x in zip(read(texts), read(references)) if wanted(*x)]
    texts, references = zip(*pairs)
    found = {
        name: translate(checkpoint, texts, PROTECT, languages, x)
        for name, x in (("must copy", None), ("terms", glossary))
    }
    print_table(texts, references, found)
    for name, rows in found.items():
        kept = [y in x for x, pair in zip(rows, pairs) for y in wanted(*pair)]
        print(f"{name}: {sum(kept)} of {len(kept)} terms")


def print_table(texts, references, found):
    from tfcopy.evaluation import translations

    first = [*found.values()][0]
    print("| search | BLEU | chrF | spans kept, % | same |")
    print("|---|---:|---:|---:|---:|")
    for name, rows in found.items():
        scores = [
            translations.bleu(rows, references)["score"],
            translations.chrf(rows, references)["score"],
            translations.score_kept_markup(texts, rows, PROTECT)["spans_kept"],
        ]
        same = sum(x == y for x, y in zip(rows, first))
        cells = " | ".join(f"{x:.2f}" for x in scores)
        print(f"| {name} | {cells} | {same} of {len(rows)} |")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
