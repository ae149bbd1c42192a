"""Answers of models that do not translate, and forms of input and output."""

import json

from tfcopy import file_formats
from tfcopy.file_formats import FormError, parse_json
from tfcopy.flags import name_flag
from tfcopy.runtime.signatures import ModelError, encode_text
from tfcopy.terminal import to_one_line

# Outputs that are printed as plain text: the first that a model has.
ANSWERS = ("text", "label", "next_words")
# Not escaped by JSON, though they control terminals or end lines.
_ESCAPED = {
    point: f"\\u{point:04x}" for point in (*range(127, 160), 0x2028, 0x2029)
}
# Beginnings of comments in a file of `Definitions`.
_NO_DEFINITIONS = (b"# ", b"#lemma\t", b"#tokenized")


def make_answer_function(model, options):
    """Returns the function that answers examples of other tasks."""
    for flag in ("n_best", "glossary"):
        if getattr(options, flag):
            raise ModelError(
                f"{model.name}: --{flag} is for models that translate."
            )
    has_dictionary = "with_dictionary" in model.signatures
    dictionary = []
    if options.dictionary is not None:
        if not has_dictionary:
            raise ModelError(f"{model.name}: the model reads no --dictionary.")
        dictionary = read_dictionary(options.dictionary)
    signature = "with_dictionary" if has_dictionary else "serving_default"
    form = _sort_outputs if options.json else _to_text

    def answer(examples):
        inputs = {name: [x[name] for x in examples] for name in model.inputs}
        if has_dictionary:
            rows = [[*dictionary, *x["dictionary"]] for x in examples]
            inputs["dictionary"] = pad_rows(rows)
        return model.rows(signature, inputs, lambda row: form(to_python(row)))

    return answer


def pad_rows(rows) -> list[list[bytes]]:
    """Returns rows of texts, padded to the longest."""
    width = max(map(len, rows), default=0)
    return [row + [b""] * (width - len(row)) for row in rows]


def read_dictionary(path, flag="--dictionary", form="headword<TAB>definition"):
    """Reads the lines of a dictionary or a glossary.

    Args:
        path: Path of the file.
        flag: Name of the flag, for messages.
        form: Expected form of a line, for messages.

    Returns:
        List of `bytes`.
    """
    with (
        name_flag(flag, path, ModelError),
        file_formats.open_plain(path) as file,
    ):
        lines = file.read().splitlines()
    definitions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith(_NO_DEFINITIONS):
            continue
        if not all(field.strip() for field in (line + b"\t").split(b"\t")[:2]):
            raise ModelError(
                f"{flag}: {path}, line {number}: expected {form}. "
                f"Received: {line[:80]!r}."
            )
        definitions.append(line)
    return definitions


def read_glossary(model, path) -> list[bytes]:
    """Reads a glossary, lines `phrase<TAB>translation` or CSV, for a model.

    Returns:
        The lines, as `bytes`.

    Raises:
        ModelError: If the model reads no glossary, or the file is not one.
    """
    if "with_glossary" not in model.signatures:
        raise ModelError(
            f"{model.name}: the model was trained without --protect, and "
            "reads no --glossary."
        )
    if not file_formats.plain_name(path).lower().endswith(".csv"):
        return read_dictionary(path, "--glossary", "phrase<TAB>translation")
    pair = tuple(map(model.config.get, ("source_language", "target_language")))
    lines = []
    with name_flag("--glossary", path, ModelError):
        for place, *fields in file_formats.read_csv_terms(path, pair):
            # Bytes are split at ASCII's blanks alone.
            term = [b" ".join(x.encode().split()) for x in fields]
            if not all(term):
                raise ValueError(f"{place}: a blank phrase or translation.")
            lines.append(b"\t".join(term))
    return lines


def parse_line(line: bytes, number: int, texts) -> dict:
    """Parses a line of standard input.

    Args:
        line: A text, or a JSON object if the model reads several.
        number: Number of the line, for messages.
        texts: Names of the texts that the model reads.

    Raises:
        ModelError: If the line has another form.
    """
    if len(texts) == 1:
        return {texts[0]: line, "dictionary": []}
    try:
        example = parse_json(line)
    except FormError:
        example = None
    if not isinstance(example, dict) or not all(
        isinstance(example.get(name), str) for name in texts
    ):
        names = " and ".join(f'"{name}"' for name in texts)
        raise ModelError(
            f"standard input, line {number}: expected a JSON object with "
            f"texts for {names}. Received: {line[:80].decode(errors='replace')}"
        )
    place = f"standard input, line {number}: "
    dictionary = encode_definitions(example.get("dictionary", []), place)
    encoded = {name: encode_text(example[name]) for name in texts}
    return {"dictionary": dictionary, **encoded}


def encode_definitions(lines, place: str = "") -> list[bytes]:
    """Encodes an example's own dictionary.

    Args:
        lines: Lines `headword<TAB>definition`.
        place: Where it stands, for the error.

    Raises:
        ModelError: If it is no list of texts.
    """
    is_list = isinstance(lines, list)
    if not is_list or not all(isinstance(x, str) for x in lines):
        raise ModelError(f'{place}"dictionary" must be a list of texts.')
    return [encode_text(x) for x in lines]


def to_python(x, digits: int | None = 6):
    """Converts NumPy arrays to Python's types, and decodes texts.

    Args:
        x: An array, or a dict or list of such.
        digits: Decimals that numbers are rounded to; `None` for all.
    """
    if isinstance(x, dict):
        return {name: to_python(y, digits) for name, y in x.items()}
    if hasattr(x, "tolist"):
        x = x.tolist()
    if isinstance(x, bytes):
        return x.decode(errors="replace")
    if isinstance(x, float) and digits is not None:
        return round(x, digits)
    return [to_python(y, digits) for y in x] if isinstance(x, list) else x


def _to_text(row):
    answer = next(row[name] for name in ANSWERS if name in row)
    # Models may extract line ends from a context.
    return to_one_line(" ".join(answer) if isinstance(answer, list) else answer)


def _sort_outputs(row):
    first = [name for name in ANSWERS if name in row]
    return {name: row[name] for name in (*first, *sorted(set(row) - {*first}))}


def to_line(answer: str | dict) -> bytes:
    """Returns the printed form of an answer of `make_answer_function`."""
    if isinstance(answer, dict):
        return to_json(answer)
    return answer.encode("utf-8", "replace")


def to_json(answer) -> bytes:
    """Returns an answer as a line of JSON, control characters escaped."""
    text = json.dumps(answer, ensure_ascii=False)
    return text.translate(_ESCAPED).encode("utf-8", "replace")
