// Models of SentencePiece: texts to subwords and back, to the letter as in
// Google's library, whose file format and rules of rounding these are.

import { bytesOf } from "./text_rules.js";

const [UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [2, 3, 4, 5, 6];
const [UNIGRAM, BPE] = [1, 2];
const SPACE = "▁";
const UNKNOWN_PENALTY = 10;

/** Yields the number and the value of each field of a protocol buffer. */
function* fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let place = 0;
  const number = () => {
    let [found, shift, byte] = [0, 1, 0];
    do {
      byte = bytes[place++];
      found += (byte & 127) * shift;
      shift *= 128;
    } while (byte & 128);
    return found;
  };
  while (place < bytes.length) {
    const key = number();
    const kind = key & 7;
    if (kind === 0) yield [key >> 3, number()];
    else if (kind === 1 || kind === 5) {
      yield [key >> 3, kind === 5 ? view.getFloat32(place, true) : null];
      place += kind === 5 ? 4 : 8;
    } else {
      const size = number();
      yield [key >> 3, bytes.subarray(place, place + size)];
      place += size;
    }
  }
}

const message = (bytes = new Uint8Array()) => Object.fromEntries(fields(bytes));
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const whole = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const text = (bytes) => decoder.decode(bytes);

/** Replaces characters by the rules of a model, and blanks by `▁`. */
class Normalizer {
  constructor(bytes, symbols, isSuffix) {
    const found = message(bytes);
    this.prefix = found[3] ?? 1;
    this.removes = found[4] ?? 1;
    this.space = (found[5] ?? 1) ? SPACE : " ";
    this.symbols = symbols;
    this.isSuffix = isSuffix;
    this.units = new Uint32Array();
    const rules = found[2];
    if (!rules?.length) return;
    const view = new DataView(rules.buffer, rules.byteOffset);
    const size = view.getUint32(0, true);
    this.units = new Uint32Array(rules.slice(4, 4 + size).buffer);
    this.texts = rules.subarray(4 + size);
  }

  /** Fills `places` with the place in the input of each of its characters. */
  normalize(input, places = []) {
    const parts = this.parts(input);
    if (this.removes) while (parts[0]?.part === " ") parts.shift();
    if (!parts.length) return "";
    let found = "";
    const add = (text, place) => {
      found += text;
      for (let i = 0; i < text.length; i++) places.push(place);
    };
    if (this.prefix && !this.isSuffix) add(this.space, parts[0].place);
    let isAfterBlank = this.removes;
    for (const { part, place } of parts) {
      const kept = isAfterBlank ? part.replace(/^ +/, "") : part;
      add(kept.replaceAll(" ", this.space), place);
      if (kept && this.removes) isAfterBlank = kept.endsWith(" ");
    }
    let end = input.length;
    while (this.removes && found.endsWith(this.space)) {
      found = found.slice(0, -this.space.length);
      end = places[found.length];
      places.length = found.length;
    }
    if (this.prefix && this.isSuffix) add(this.space, end);
    places.push(end);
    return found;
  }

  /** Returns the texts for the parts that rules replace, or characters. */
  parts(input) {
    const found = [];
    for (let place = 0; place < input.length;) {
      const symbol = longest(this.symbols, input, place);
      const [size, part] = symbol
        ? [symbol.length, symbol]
        : this.rule(input, place);
      found.push({ part, place });
      place += size;
    }
    return found;
  }

  /** Walks the double array: the longest rule, or a character itself. */
  rule(input, place) {
    const character = characterAt(input, place);
    let [node, length, found] = [offset(this.units[0] ?? 0), 0, null];
    let isGoing = this.units.length > 0;
    for (let end = place; isGoing && end < input.length;) {
      const next = characterAt(input, end);
      end += next.length;
      let unit = 0;
      for (const byte of bytesOf(next)) {
        node ^= byte;
        unit = this.units[node];
        isGoing = (unit & 0x800000ff) >>> 0 === byte;
        if (!isGoing) break;
        node ^= offset(unit);
      }
      if (isGoing && (unit >>> 8) & 1) {
        length = end - place;
        found = this.units[node] & 0x7fffffff;
      }
    }
    if (found === null) return [character.length, character];
    const stop = this.texts.indexOf(0, found);
    return [length, text(this.texts.subarray(found, stop))];
  }
}

const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);

const characterAt = (input, place) =>
  String.fromCodePoint(input.codePointAt(place));

/** Returns the longest of some texts at a place of another. */
const longest = (symbols, input, place) =>
  symbols.find((symbol) => input.startsWith(symbol, place));

export class SentencePiece {
  /** @param {Uint8Array} bytes The file. */
  constructor(bytes) {
    const all = [...fields(bytes)];
    const only = (number) => all.find(([x]) => x === number)?.[1];
    const trainer = message(only(2));
    this.model = trainer[3] ?? UNIGRAM;
    this.falls = trainer[35];
    this.unknown = trainer[44] ? text(trainer[44]) : " \u2047 ";
    if (![UNIGRAM, BPE].includes(this.model))
      throw new Error("its SentencePiece model is no unigram or BPE");
    const pieces = all.filter(([x]) => x === 1).map(([, x]) => message(x));
    this.pieces = new Map();
    this.kinds = new Map();
    let [lowest, highest] = [Infinity, -Infinity];
    this.longest = 0;
    for (const { 1: bytes, 2: score = 0, 3: kind = 1 } of pieces) {
      const name = text(bytes);
      this.kinds.set(name, kind);
      if (![1, USER_DEFINED, UNUSED].includes(kind)) continue;
      this.pieces.set(name, { score, kind });
      this.longest = Math.max(this.longest, name.length);
      if (kind !== 1) continue;
      lowest = Math.min(lowest, score);
      highest = Math.max(highest, score);
    }
    this.symbols = [...this.pieces.keys()]
      .filter((x) => this.kinds.get(x) === USER_DEFINED)
      .sort((x, y) => y.length - x.length);
    this.unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
    this.highest = highest;
    this.normalizer = new Normalizer(only(3), this.symbols, trainer[24]);
    const back = only(5);
    this.denormalizer = back?.length ? new Normalizer(back, [], 0) : null;
    if (!this.denormalizer?.units.length) this.denormalizer = null;
  }

  /** Returns the subwords of a text; `places` as in `normalize`. */
  encode(input, places) {
    const normalized = this.normalizer.normalize(input, places);
    const cut =
      this.model === BPE ? this.merged(normalized) : this.best(normalized);
    const found = [];
    let isAfterUnknown = false;
    for (const piece of cut) {
      const isUnknown = !this.pieces.has(piece);
      if (isUnknown && this.falls)
        for (const byte of bytesOf(piece)) found.push(byteName(byte));
      else if (isUnknown && isAfterUnknown) found.push(found.pop() + piece);
      else found.push(piece);
      isAfterUnknown = isUnknown;
    }
    return found;
  }

  /** Returns the most probable pieces, by a unigram model. */
  best(input) {
    const ends = new Array(input.length + 1).fill(null);
    ends[0] = { score: 0 };
    const reach = (start, end, score) => {
      const candidate = score + ends[start].score;
      if (ends[end] === null || candidate > ends[end].score)
        ends[end] = { score: Math.fround(candidate), start };
    };
    for (let start = 0; start < input.length;) {
      const first = start + characterAt(input, start).length;
      const last = Math.min(input.length, start + this.longest);
      let isKnown = false;
      for (let end = first; end <= last; end++) {
        const name = input.slice(start, end);
        const piece = this.pieces.get(name);
        if (!piece || piece.kind === UNUSED) continue;
        isKnown ||= end === first;
        const size = bytesOf(name).length;
        const bonus = Math.fround(size * this.highest) - 0.1;
        reach(start, end, piece.kind === USER_DEFINED ? bonus : piece.score);
      }
      if (!isKnown) reach(start, first, this.unknownScore);
      start = first;
    }
    const found = [];
    for (let end = input.length; end > 0; end = ends[end].start)
      found.push(input.slice(ends[end].start, end));
    return found.reverse();
  }

  /** Returns the pieces of merged pairs, by BPE. */
  merged(input) {
    const symbols = [];
    for (let place = 0; place < input.length;) {
      const symbol = longest(this.symbols, input, place);
      const piece = symbol ?? characterAt(input, place);
      place += piece.length;
      const [before, after] = [symbols.length - 1, symbols.length + 1];
      symbols.push({ piece, before, after, isWhole: Boolean(symbol) });
    }
    if (symbols.length) symbols.at(-1).after = -1;
    let heap;
    const made = new Map();
    const add = (left, right) => {
      const [a, b] = [symbols[left], symbols[right]];
      if (!a || !b || a.isWhole || b.isWhole) return;
      const name = a.piece + b.piece;
      const piece = this.pieces.get(name);
      if (!piece) return;
      heap = join(heap, { left, right, name, score: piece.score, below: [] });
      if (piece.kind === UNUSED) made.set(name, [a.piece, b.piece]);
    };
    for (let i = 1; i < symbols.length; i++) add(i - 1, i);
    while (heap) {
      const { left, right, name } = heap;
      heap = rest(heap);
      const [a, b] = [symbols[left], symbols[right]];
      if (!a.piece || !b.piece || a.piece + b.piece !== name) continue;
      a.piece = name;
      a.after = b.after;
      if (b.after >= 0) symbols[b.after].before = left;
      b.piece = "";
      add(a.before, left);
      add(left, a.after);
    }
    const cut = (name) =>
      made.has(name) ? made.get(name).flatMap(cut) : [name];
    return symbols.filter((x) => x.piece).flatMap((x) => cut(x.piece));
  }

  /** Returns the text of subwords. */
  decode(pieces) {
    let [found, bytes, isStart, hasBlank] = ["", [], true, false];
    const { prefix, removes } = this.normalizer;
    const flush = () => {
      found += decoded(Uint8Array.from(bytes));
      bytes = [];
    };
    for (let piece of pieces) {
      const kind = this.kinds.get(piece);
      if (kind === BYTE) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      flush();
      if (hasBlank || found) isStart = false;
      hasBlank = false;
      if (kind === CONTROL) continue;
      if (kind === UNKNOWN) found += this.unknown;
      else if (kind === undefined) found += piece;
      else {
        if (isStart && (prefix || removes) && piece.startsWith(SPACE)) {
          piece = piece.slice(1);
          hasBlank = !removes;
        }
        found += piece.replaceAll(SPACE, " ");
      }
    }
    flush();
    return this.denormalizer ? this.denormalizer.normalize(found) : found;
  }
}

const byteName = (byte) =>
  `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

/** Decodes UTF-8; each other byte becomes U+FFFD. */
function decoded(bytes) {
  let found = "";
  for (let i = 0; i < bytes.length;) {
    let size = Math.min(4, bytes.length - i);
    let part = null;
    for (; size && part === null; size -= part === null)
      try {
        part = whole.decode(bytes.subarray(i, i + size));
      } catch {
        // Not a whole number of characters.
      }
    found += part ?? "\ufffd";
    i += size || 1;
  }
  return found;
}

/** Joins two heaps of pairs: the highest score is first, leftmost of equals. */
function join(x, y) {
  if (!x || !y) return x ?? y;
  const isFirst = (x.score - y.score || y.left - x.left) > 0;
  const [first, second] = isFirst ? [x, y] : [y, x];
  first.below.push(second);
  return first;
}

/** Returns a heap without its first pair. */
function rest({ below }) {
  for (let i = 0; i + 1 < below.length; i += 2)
    below.push(join(below[i], below[i + 1]));
  return below.at(-1);
}
