// Tokenizers, from what an export declares of them; see
// tfcopy/runtime/text_tokenizers.py for what each does.

import { SentencePiece } from "./sentencepiece.js";
import { Blanks, Pattern, bytesOf, lower, ruled, strip } from "./text_rules.js";

const [SPAN, BLANK, START, SURFACE] = ["\ue000", "▁", "⟨s⟩", "\b"];
const SWAPPED = new Map([[" ", BLANK], [BLANK, BLANK + BLANK]]);
const TYPED = new Map([...SWAPPED].map(([x, y]) => [y, x]));
const BYTES = /^(<0x[0-9A-F]{2}>)+$/;
export const make = (facts, files) => new KINDS[facts.kind](facts, files);
const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

class Tokenizer {
  constructor(facts) {
    this.facts = facts;
    this.blanks = new Blanks(facts);
  }

  fold(word) {
    return word;
  }

  unmark(token) {
    return token;
  }
}

class Words extends Tokenizer {
  constructor(facts) {
    super(facts);
    this.cut = ruled(facts.cut);
    this.join = ruled(facts.join);
  }

  tokenize(text) {
    const cut = this.cut(this.blanks.normalize(text));
    if (!this.facts.characters)
      return cut.split(/[ \t\n\v\f\r]+/).filter(Boolean);
    return [...cut].map((x) => SWAPPED.get(x) ?? x);
  }

  detokenize(tokens) {
    const { characters, edge, separator } = this.facts;
    const parts = characters ? tokens.map((x) => TYPED.get(x) ?? x) : tokens;
    const text = this.join(edge + parts.join(separator) + edge);
    return edge ? strip(text) : text;
  }

  fold(word) {
    return this.facts.lowercase ? lower(word) : word;
  }
}

class SentencePieces extends Tokenizer {
  constructor(facts, files) {
    super(facts);
    this.model = new SentencePiece(files[facts.file]);
  }

  tokenize(text) {
    return this.places(this.blanks.normalize(text)).map(([token]) => token);
  }

  /** Cuts a normalised text; returns each token, its start and its end. */
  places(text) {
    const places = [];
    let first = 0;
    const found = this.model.encode(text, places).map((token) => {
      const start = first;
      first += token.length;
      return [token, places[start], places[first]];
    });
    const { prefix } = this.facts;
    return prefix && found.length ? [[prefix, 0, 0], ...found] : found;
  }

  detokenize(tokens) {
    return strip(this.model.decode(tokens).replaceAll(BLANK, " "));
  }
}

class BytePairs extends Tokenizer {
  constructor(facts, files) {
    super(facts);
    this.word = new Pattern(facts.word);
    this.content = parsed(files[facts.file]);
    this.merges = new Map(
      this.content.merges
        .map(([x, y, merged], rank) => [`${x} ${y}`, { rank, merged }])
        .reverse(),
    );
  }

  tokenize(text) {
    const normal = this.blanks.normalize(text);
    const marked = this.word.replace(normal, ([x]) => `\x03${x}`);
    const tokens = marked.split("\x03").flatMap((word) => this.merge(word));
    return this.facts.start && tokens.length ? [START, ...tokens] : tokens;
  }

  merge(word) {
    if (word === SPAN) return [SPAN];
    const [bytes, size] = [bytesOf(word), this.facts.longest];
    const found = [];
    for (let i = 0; i < bytes.length; i += size) {
      const symbols = Array.from(
        bytes.subarray(i, i + size),
        (x) => this.content.bytes[x],
      );
      for (;;) {
        let [best, place] = [null, 0];
        for (let j = 1; j < symbols.length; j++) {
          const pair = this.merges.get(`${symbols[j - 1]} ${symbols[j]}`);
          if (pair && !(best?.rank <= pair.rank)) [best, place] = [pair, j - 1];
        }
        if (!best) break;
        symbols.splice(place, 2, best.merged);
      }
      found.push(...symbols.map((x) => this.content.pieces[x]));
    }
    return found;
  }

  detokenize(tokens) {
    const bytes = tokens.flatMap((x) => {
      if (BYTES.test(x))
        return x.match(/[0-9A-F]{2}(?=>)/g).map((y) => parseInt(y, 16));
      return x === START ? [] : [...bytesOf(x.replaceAll(BLANK, " "))];
    });
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return strip(decoder.decode(Uint8Array.from(bytes)));
  }
}

export class Spans extends Tokenizer {
  constructor(facts, files) {
    super(facts.inner);
    this.facts = facts;
    this.inner = make(facts.inner, files);
    for (const x of ["span", "mark", "last_word"]) this[x] = new Pattern(facts[x]);
    const patterns = Object.entries(facts.matches);
    this.is = Object.fromEntries(
      patterns.map(([name, x]) => {
        const pattern = new Pattern(x);
        return [name, (text) => pattern.matches(text)];
      }),
    );
  }

  /** Cuts a text into parts: every second one is a span. */
  cut(text) {
    const codes = Object.entries(this.facts.ascii);
    return this.span
      .split(this.inAscii(text))
      .map((part) =>
        codes.reduce((x, [blank, code]) => x.replaceAll(code, blank), part),
      );
  }

  inAscii(text) {
    const codes = Object.entries(this.facts.ascii);
    return codes.reduce((x, [blank, code]) => x.replaceAll(blank, code), text);
  }

  tokenize(text) {
    const normal = this.blanks.normalize(text).replaceAll(SPAN, "\ufffd");
    const parts = this.cut(normal);
    if (this.facts.in_place) return this.findRuns(parts);
    const spans = parts.filter((_, i) => i % 2);
    const held = (x) =>
      this.facts.in_pieces && !this.mark.matches(x) ? SPAN + x + SPAN : SPAN;
    const rest = parts.map((x, i) => (i % 2 ? held(x) : x)).join("");
    const tokens = this.inner
      .tokenize(rest)
      .flatMap((x) => x.split(/(\ue000)/).filter(Boolean));
    return this.facts.in_pieces
      ? this.markRuns(tokens, spans)
      : tokens.map((x) => (x === SPAN ? spans.shift() : x));
  }

  /** Cuts a translation into a run that no encoder reads. */
  tokenizeTerm(term) {
    const [first, later] = this.facts.marks.slice(3);
    return this.findRuns(["", term, ""], [first, first, later]);
  }

  /** Returns tokens, with marks before those that overlap spans. */
  findRuns(parts, marks = null) {
    const [first, firstInTurn, later] = marks ?? this.facts.marks;
    let [place, last] = [0, null];
    const spans = parts.flatMap((x, i) => {
      const [start, end] = [place, (place += x.length)];
      return i % 2 ? [{ start, end, text: x }] : [];
    });
    const text = parts.join("");
    return this.inner.places(text).map(([token, start, end], i) => {
      // A first blank has no characters.
      const within = spans.filter(
        (x) => marks || (x.end > start && x.start < end),
      );
      const goesOn = last !== null && within[0] === last;
      last = within.at(-1) ?? null;
      if (!within.length) return token;
      const isOrdered = this.is.ordered(within[0].text);
      const mark = goesOn ? later : isOrdered ? firstInTurn : first;
      // Only the text's first piece has a blank without characters.
      const isFirst = i === Number(Boolean(this.inner.facts.prefix));
      const blank = isFirst && token.startsWith(BLANK) ? " " : "";
      return mark + token + SURFACE + blank + text.slice(start, end);
    });
  }

  /** Returns tokens, with marks before the pieces of spans. */
  markRuns(tokens, spans) {
    const [first, firstInTurn, later] = this.facts.marks;
    let mark = null;
    return tokens.flatMap((token) => {
      if (token !== SPAN) {
        const found = (mark ?? "") + token;
        if (mark !== null) mark = later;
        return [found];
      }
      const span = mark === null ? spans.shift() : null;
      mark = null;
      if (span === null) return [];
      if (this.mark.matches(span)) return [span];
      mark = this.is.ordered(span) ? firstInTurn : first;
      return [];
    });
  }

  isPiece(token) {
    return this.facts.in_pieces && this.facts.marks.includes(token[0]);
  }

  unmark(token) {
    return this.isPiece(token) ? token.slice(1).split(SURFACE)[0] : token;
  }

  fold(word) {
    const isKept = !this.facts.in_pieces && this.isSpan(word);
    return isKept ? word : this.inner.fold(this.unmark(word));
  }

  isSpan(word) {
    return this.span.matches(this.inAscii(word));
  }

  needed(word) {
    if (this.isPiece(word)) return 1 + this.facts.marks.indexOf(word[0]);
    if (this.facts.in_pieces) return Number(this.mark.matches(word));
    return this.isSpan(word) ? 1 + this.is.ordered(word) : 0;
  }

  detokenize(tokens, beside) {
    const { parts, spans } = this.partsOf(tokens);
    let [text, had] = ["", false];
    parts.forEach((part, i) => {
      const [span, after, following] = [spans[i], parts[i + 1], spans[i + 1]];
      const around = [spans[i - 1], part, span, after, following];
      const blanks = this.blanksBeside(...around.map((x) => this.inAscii(x ?? "")));
      if (had && !part) blanks[0] = "";
      had = blanks[1] !== "";
      this.touched(part, span, after).forEach((is, side) => {
        if (is && beside && !beside.has("<>"[side] + span)) blanks[side] = " ";
      });
      text += part + blanks[0] + span + blanks[1];
    });
    return text;
  }

  /** Returns the placeholders with a letter right before or after them. */
  besideLetters(tokens) {
    const { parts, spans } = this.partsOf(tokens);
    const found = parts.flatMap((part, i) =>
      this.touched(part, spans[i], parts[i + 1])
        .map((is, side) => is && "<>"[side] + spans[i])
        .filter(Boolean),
    );
    return new Set(found);
  }

  touched(part, span, after = "") {
    const isOne = span !== "" && this.is.placeholder(span);
    return [
      isOne && this.is.ends_with_letter(part),
      isOne && this.is.begins_with_letter(after),
    ];
  }

  /** Returns the texts around spans, and the span after each or nothing. */
  partsOf(tokens) {
    const { marks } = this.facts;
    const isLater = (x) => [marks[2], marks[4]].includes(x[0]);
    const runs = [];
    for (const token of tokens) {
      const goesOn = this.isPiece(token) && isLater(token);
      if (goesOn && runs.length && this.isPiece(runs.at(-1)[0]))
        runs.at(-1).push(token);
      else runs.push([token]);
    }
    const whole = runs.map((run, i) => {
      if (!this.facts.in_pieces) return [run[0], this.isSpan(run[0])];
      const pieces = run.map((x) => this.unmark(x));
      const text = run.map((x) => x.split(SURFACE)[1]);
      if (!this.isPiece(run[0]) || isLater(run[0]))
        return [pieces[0], this.mark.matches(pieces[0])];
      if (!this.facts.in_place) return [this.inner.detokenize(pieces), true];
      // Beside a term are no letters, as beside a mark.
      const isTerm = marks.slice(3).includes(run.at(-1)[0]);
      const touches = isTerm && this.is.begins_word(runs[i + 1]?.[0] ?? "");
      return [text.join("") + (touches ? " " : ""), true];
    });
    const isAfterBlank = (x) => this.facts.in_place && x.startsWith(" ");
    const rest = whole.map(([x, isSpan]) =>
      isSpan ? (isAfterBlank(x) ? BLANK + SPAN : SPAN) : x,
    );
    const spans = whole
      .filter(([, isSpan]) => isSpan)
      .map(([x]) => (isAfterBlank(x) ? x.slice(1) : x));
    const parts = this.inner.detokenize(rest).split(SPAN);
    // Bytes may form the character that stands for a span.
    parts.push(parts.splice(spans.length).join(""));
    return this.facts.in_place
      ? this.cutRuns(parts, spans)
      : { parts, spans: [...spans, ""] };
  }

  /** Returns the texts around the spans of runs, and these. */
  cutRuns(texts, runs) {
    const [parts, spans] = [[texts[0]], []];
    runs.forEach((run, i) => {
      const [first, ...others] = this.cut(run);
      parts.push(parts.pop() + first);
      others.forEach((x, j) => (j % 2 ? parts : spans).push(x));
      parts.push(parts.pop() + texts[i + 1]);
    });
    return { parts, spans: [...spans, ""] };
  }

  blanksBeside(previous, part, span, after, following) {
    if (!span) return ["", ""];
    const { is } = this;
    const [lastWord, word] = [this.wordOf(previous), this.wordOf(span)];
    const right = after + this.wordOf(following);
    const left = this.last_word.replace(part, (match) => match[1]);
    let before = left !== "" && this.isLost(left, span, "");
    if (!part && lastWord) {
      const alone = this.hidden(lastWord) + this.hidden(word);
      before ||= this.hidden(lastWord + word) !== alone;
    }
    let behind = /^[^ \t\n\v\f\r]/.test(right) && this.isLost("", span, right);
    const [isMark, ending] = [word !== span, part || lastWord];
    const isMarkup = is.markup(span);
    const endsMarkup = isMarkup || is.target(span);
    before ||= isMark && is.ends_word(ending);
    before ||= isMarkup && is.no_begin(ending);
    behind ||= isMark && is.begins_word(right);
    behind ||= endsMarkup && is.no_end(right);
    const isPlural = endsMarkup && is.plural(right);
    const blank = isPlural ? this.facts.plural_blank : " ";
    return [before ? " " : "", behind ? blank : ""];
  }

  wordOf(span) {
    return this.mark.replace(span, "word");
  }

  hidden(text) {
    return this.span.replace(text, "\x03");
  }

  isLost(left, span, right) {
    const text = this.span.replace(left + span + right, "\x03", false);
    return text !== `${left}\x03${right}`;
  }
}

const KINDS = {
  words: Words,
  sentencepiece: SentencePieces,
  byte_pairs: BytePairs,
  spans: Spans,
};
