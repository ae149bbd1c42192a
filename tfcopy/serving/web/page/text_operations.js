// Operations of texts, which are strings of bytes; see
// tfcopy/runtime/text_operations.py for what each computes.

import { fromText, toText, toValidText } from "./byte_strings.js";
import { splitsOf } from "./number_operations.js";
import { compiled } from "./regular_expressions.js";
import {
  ProgramError,
  Tensor,
  broadcastShape,
  dataOf,
  elementwise,
  range,
  shapeOf,
  sizeOf,
  tensor,
  value,
  vector,
} from "./tensors.js";

export const TEXTS = {};

const CHARACTERS = /[^][\x80-\xbf]*/g;
const BLANKS = /[ \t\n\v\f\r]+/;
// All but letters with a case that are younger than TensorFlow's ICU, as in Python.
const LOWERED =
  /[^\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7e2\uab6c\uab6d\u{10570}-\u{105bc}\u{10d50}-\u{10d85}\u{16ea0}-\u{16ed3}\u{1d6a6}\u{1df00}-\u{1df96}]+/gu;
const lowered = (x) => x.toLowerCase();
const SPACE = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;
const charactersOf = (text) => text.match(CHARACTERS) ?? [];

TEXTS.StringLength = ({ unit = "BYTE" }, x) =>
  elementwise(
    (text) => (unit === "BYTE" ? text : charactersOf(text)).length,
    x,
  );

TEXTS.Substr = ({ unit = "BYTE" }, x, begins, lengths) =>
  elementwise(
    (text, begin, length) => {
      const units = unit === "BYTE" ? text : charactersOf(text);
      if (begin < 0) begin = Math.max(0, begin + units.length);
      const part = units.slice(begin, begin + length);
      return unit === "BYTE" ? part : part.join("");
    },
    x,
    begins,
    lengths,
  );

const eachText = (f) => (attributes, x) =>
  elementwise((text) => f(text, attributes), x);
TEXTS.StringStrip = eachText((text) => text.replace(SPACE, ""));
TEXTS.UnicodeTranscode = eachText((text) => fromText(toValidText(text)));
TEXTS.AsString = eachText(String);
TEXTS.StringToNumber = eachText(Number);
TEXTS.StringLower = eachText((text, { encoding }) =>
  encoding
    ? fromText(toValidText(text).split("\0")[0].replace(LOWERED, lowered))
    : text.replace(/[A-Z]+/g, (found) => found.toLowerCase()),
);

TEXTS.UnicodeDecode = (_, x) => {
  const rows = x.data.map((text) => [...toValidText(text)]);
  const codes = rows.flat().map((character) => character.codePointAt(0));
  return [vector(splitsOf(rows.map((row) => row.length))), vector(codes)];
};

TEXTS.UnicodeEncode = (_, codes, splits) => {
  const isHalf = (n) => n >= 0xd800 && n < 0xe000;
  const all = codes.data.map((n) =>
    String.fromCodePoint(isHalf(n) ? 0xfffd : n),
  );
  return joinedRows(all, splits.data, (row) => fromText(row.join("")));
};

const joinedRows = (values, splits, join) =>
  vector(
    splits.slice(1).map((end, i) => join(values.slice(splits[i], end))),
    "string",
  );

TEXTS.StringSplitV2 = (_, x, separator) => {
  const rows = x.data.map((text) =>
    separator ? text.split(separator) : text.split(BLANKS).filter(Boolean),
  );
  return sparse(rows);
};

TEXTS.StringSplit = (_, x, delimiter) => {
  if (delimiter)
    throw new ProgramError("it splits texts at several characters");
  return sparse(x.data.map((text) => text.split("")));
};

function sparse(rows) {
  const at = rows.flatMap((row, i) => row.flatMap((_, j) => [i, j]));
  const widest = Math.max(0, ...rows.map((row) => row.length));
  const words = vector(rows.flat(), "string");
  const places = new Tensor([words.data.length, 2], at, "number");
  return [places, words, vector([rows.length, widest])];
}

TEXTS.DecodePaddedRaw = (_, x, length) => {
  const data = dataOf(x).flatMap((text) =>
    range(length).map((i) => text.charCodeAt(i) || 0),
  );
  return new Tensor([...shapeOf(x), length], data, "number");
};

TEXTS.StringJoin = ({ separator = "" }, ...values) =>
  elementwise((...parts) => parts.join(fromText(separator)), ...values);

TEXTS.ReduceJoin = ({ keep_dims, separator = "" }, x, axes) => {
  const [axis, ...more] = dataOf(axes);
  const last = x.shape.length - 1;
  if (more.length || (axis !== last && axis !== -1))
    throw new ProgramError("it joins texts along an axis that no export does");
  const width = x.shape[last];
  const shape = x.shape.slice(0, last);
  const data = range(sizeOf(shape)).map((i) =>
    x.data.slice(i * width, (i + 1) * width).join(fromText(separator)),
  );
  return value(new Tensor(keep_dims ? [...shape, 1] : shape, data, "string"));
};

TEXTS.UnsortedSegmentJoin = ({ separator = "" }, x, segments, count) => {
  const rows = range(count).map(() => []);
  dataOf(x).forEach((text, i) => {
    const row = rows[dataOf(segments)[i]];
    // TensorFlow writes no separator after nothing.
    if (row && (text || row.length)) row.push(text);
  });
  return vector(
    rows.map((row) => row.join(fromText(separator))),
    "string",
  );
};

/** Hashes texts, unlike TensorFlow; rounds as JSON does in JavaScript. */
TEXTS.StringToHashBucketFast = eachText((text, { num_buckets }) => {
  let found = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++)
    found = BigInt.asUintN(
      64,
      (found ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n,
    );
  return Number(found % BigInt(num_buckets));
});

TEXTS.LookupTableFindV2 = (_, table, keys, missing) =>
  elementwise((key) => table.get(key) ?? missing, keys);

// Regular expressions.

const matches = (x, pattern) => {
  const expression = compiled(toText(pattern), true);
  return elementwise((text) => {
    expression.lastIndex = 0;
    return expression.test(toText(text));
  }, x);
};
const replace = (x, pattern, rewrite, everywhere) => {
  const expression = compiled(toText(pattern), false);
  const write = rewriting(toText(rewrite));
  return elementwise((text) => {
    const decoded = toText(text);
    const found = substituted(expression, write, decoded, everywhere);
    return found === decoded ? text : fromText(found);
  }, x);
};
TEXTS.RegexFullMatch = (_, x, pattern) => matches(x, pattern);
TEXTS.StaticRegexFullMatch = ({ pattern }, x) => matches(x, fromText(pattern));
TEXTS.RegexReplace = ({ replace_global = true }, ...given) =>
  replace(...given, replace_global);
TEXTS.StaticRegexReplace = ({ pattern, rewrite, replace_global = true }, x) =>
  replace(x, fromText(pattern), fromText(rewrite), replace_global);

/** Returns the function of a match that returns its replacement. */
const rewriting = (rewrite) => (match) =>
  rewrite.replace(/\\([0-9\\])/g, (_, x) =>
    x === "\\" ? x : (match[x] ?? ""),
  );

/** Replaces matches as RE2 does: none is empty at the end of the last one. */
function substituted(expression, write, text, everywhere) {
  let [found, place, last] = ["", 0, -1];
  while (place <= text.length) {
    expression.lastIndex = place;
    const match = expression.exec(text);
    if (!match) break;
    const end = match.index + match[0].length;
    found += text.slice(place, match.index);
    place = end;
    if (!match[0] && end === last) {
      const character = String.fromCodePoint(text.codePointAt(end) ?? 0);
      place = end + character.length;
      found += text.slice(end, place);
      continue;
    }
    found += write(match);
    last = end;
    if (!everywhere) break;
  }
  return found + text.slice(place);
}

// Subwords: a model of SentencePiece is a value.

TEXTS.SentencepieceTokenizeOp = ({ out_type }, model, x, ...options) => {
  const [nbest, , ...marks] = options;
  if (nbest > 1 || nbest < 0 || marks.some(Boolean) || out_type !== "string")
    throw new ProgramError("it samples pieces, numbers them, or adds marks");
  const rows = x.data.map((text) => model.encode(toValidText(text)));
  const splits = vector(splitsOf(rows.map((row) => row.length)));
  return [vector(rows.flat().map(fromText), "string"), splits];
};

TEXTS.SentencepieceDetokenizeOp = (_, model, values, splits) =>
  joinedRows(values.data.map(toText), splits.data, (row) =>
    fromText(model.decode(row)),
  );
