// Replacements in texts: rules of RE2, blanks, terms, entities; see
// tfcopy/runtime/text_rules.py.

import { compiled } from "./regular_expressions.js";

const EDGES = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;
// All but letters with a case that are younger than TensorFlow's ICU.
const LOWERED =
  /[^\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7e2\uab6c\uab6d\u{10570}-\u{105bc}\u{10d50}-\u{10d85}\u{16ea0}-\u{16ed3}\u{1d6a6}\u{1df00}-\u{1df96}]+/gu;


export const bytesOf = (text) => new TextEncoder().encode(text);
export const strip = (text) => text.replace(EDGES, "");

export class Pattern {
  constructor(pattern) {
    this.pattern = pattern;
  }

  /** Returns whether all of a text matches. */
  matches(text) {
    return text.search(compiled(this.pattern, true)) === 0;
  }

  /** Replaces matches as RE2 does: none is empty at the end of the last one. */
  replace(text, write, everywhere = true) {
    const expression = compiled(this.pattern, false);
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
      found += typeof write === "string" ? write : write(match);
      last = end;
      if (!everywhere) break;
    }
    return found + text.slice(place);
  }

  /** Cuts a text at matches: outside, inside, outside and so on. */
  split(text) {
    return this.replace(text, ([x]) => `\x03${x}\x03`).split("\x03");
  }
}

/** Returns the function of a text that applies rules in their order. */
export function ruled(rules) {
  const all = rules.map(([pattern, rewrite]) => [
    new Pattern(pattern),
    (match) =>
      rewrite.replace(/\\([0-9\\])/g, (_, x) =>
        x === "\\" ? x : (match[x] ?? ""),
      ),
  ]);
  return (text) => all.reduce((x, [p, write]) => p.replace(x, write), text);
}

/** Lowers a word of any script, as TensorFlow does. */
export function lower(word) {
  const [text] = word.replaceAll("I", "i").replaceAll("İ", "i̇").split("\0");
  return text.replace(LOWERED, (x) => x.toLowerCase());
}

export class Blanks {
  constructor({ spaces, blank }) {
    this.spaces = new Pattern(spaces);
    this.blank = new Pattern(blank);
  }

  normalize(text) {
    if (this.blank.matches(text)) return "";
    return strip(this.spaces.replace(text, " "));
  }
}

export class Glossary {
  constructor(facts, tokenizer) {
    this.tokenizer = tokenizer;
    for (const x of ["mark", "word", "private"]) this[x] = new Pattern(facts[x]);
    [this.open, this.close] = facts.edges;
    this.escape = ruled(facts.phrase);
    this.blanks = new Blanks(facts.blanks);
    this.kept = new Blanks(facts.kept);
    this.terms = facts.terms;
  }

  isMark(token) {
    return this.mark.matches(token);
  }

  /** Returns the function that replaces phrases by marks, and all terms. */
  marks(lines) {
    const own = lines.map((line) => this.termOf(line));
    const others = this.terms ?? [];
    const mark = (text) => {
      const normal = this.tokenizer.blanks.normalize(text);
      const plain = this.private.replace(normal, "\ufffd");
      return this.markPhrases(this.markPhrases(plain, own, 0), others, own.length);
    };
    return { mark, terms: [...own, ...others] };
  }

  termOf(line) {
    const [first, second = ""] = line.split("\t");
    const phrase = this.blanks.normalize(first);
    const translation = this.kept.normalize(second);
    return phrase && translation ? [phrase, translation] : ["", ""];
  }

  markPhrases(text, terms, first) {
    const numbers = new Map();
    terms.forEach(([phrase], i) => {
      if (phrase && !numbers.has(phrase)) numbers.set(phrase, first + i);
    });
    if (!numbers.size) return text;
    const longest = [...numbers.keys()].sort(
      (x, y) => bytesOf(y).length - bytesOf(x).length,
    );
    const pattern = new Pattern(
      longest.map((x) => this.escape(this.delimited(x))).join("|"),
    );
    const marked = ([part]) => {
      const plain = part.replaceAll("\x04", "");
      const number = numbers.get(this.blanks.normalize(plain));
      return number === undefined ? plain : this.open + number + this.close;
    };
    const outside = (part) =>
      pattern.replace(this.delimited(part), marked).replaceAll("\x04", "");
    const parts = this.tokenizer.cut(this.kept.normalize(text));
    return parts.map((x, i) => (i % 2 ? x : outside(x))).join("");
  }

  delimited(text) {
    return this.word.replace(text, ([x]) => `\x04${x}\x04`);
  }

  /** Replaces marks by phrases; returns the translations as well. */
  demand(text, terms) {
    const [phrases, translations] = [0, 1].map((i) => terms.map((x) => x[i]));
    const marks = this.mark.split(text).filter((_, i) => i % 2);
    const wanted = marks.map((x) => this.unmark(x, translations));
    const plain = wanted.map((x) => this.private.replace(x, "\ufffd"));
    return [this.unmark(text, phrases), plain];
  }

  /** Replaces marks by texts of their numbers, if there are such. */
  unmark(text, texts) {
    return this.mark.replace(text, ([x]) => texts[x.slice(1, -1)] ?? x);
  }
}

export class Entities {
  constructor(facts) {
    for (const x of ["entity", "other", "placeholder", "one_capital"])
      this[x] = new Pattern(facts[x]);
    this.surface = ruled(facts.surface);
    this.common = new Set(facts.common);
    this.facts = facts;
  }

  /** Returns words without tags, and placeholders for entities. */
  keys(words) {
    const numbers = new Map();
    return words.map((word) => {
      const key = this.surface(word);
      if (!this.isNamed(word, key)) return key;
      const name = this.facts.lowercase ? lower(key) : key;
      if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
      return `@${numbers.get(name)}`;
    });
  }

  isNamed(word, surface) {
    if (surface === this.facts.unknown) return false;
    if (this.placeholder.matches(surface)) return true;
    const isCommon = () =>
      this.one_capital.matches(word) && this.common.has(lower(word));
    return this.entity.matches(word) && !this.other.matches(word) && !isCommon();
  }

  /** Returns the first word of a placeholder, or any other key itself. */
  restore(key, keys, words) {
    if (!this.placeholder.matches(key)) return key;
    return words[keys.indexOf(key)] ?? this.facts.unknown;
  }
}
