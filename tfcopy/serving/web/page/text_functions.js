// Encoding of a text and decoding of hypotheses, as the file `texts.json` of an
// export declares them; see tfcopy/runtime/text_functions.py.

import { Entities, Glossary } from "./text_rules.js";
import { make } from "./text_tokenizers.js";

export const FORMAT = 2;
const [PAD, UNK, EOS, FIRST] = [0, 1, 3, 4];
const [GENERATE, NO_COPY, GOES_ON, MASKED] = [-1, -1, 3, -1e9];
// From the kinds of tokens to those of a search; no encoder reads the last two.
const [PROTECTED, UNREAD] = [[0, 1, 2, GOES_ON, 1, GOES_ON], 4];
const [UNK_WORD, EOS_WORD] = ["<unk>", "</s>"];
const [UNITS, GROWTH] = [64, 16];

const wordsOf = (bytes) => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(bytes).replace(/\n$/, "").split("\n");
};
const idsOf = (words) => new Map(words.map((x, i) => [x, i]).slice(FIRST));

export class TextFunctions {
  /**
   * @param {object} facts The file.
   * @param {object} files The bytes of the files that it names.
   */
  constructor(facts, files) {
    if (facts.format !== FORMAT)
      throw new Error(
        `texts.json is of another release (format ${facts.format}): export the model again.`,
      );
    const { source, target } = facts;
    this.facts = facts;
    this.source = make(source.tokenizer, files);
    this.target = make(target.tokenizer, files);
    this.words = wordsOf(files[target.vocabulary]);
    this.sourceIds = idsOf(wordsOf(files[source.vocabulary]));
    this.targetIds = idsOf(this.words);
    this.kinds = facts.signatures;
    if (facts.glossary)
      this.glossary = new Glossary(facts.glossary, this.source);
    if (facts.entities) this.entities = new Entities(facts.entities);
    this.dictionary = new Map(Object.entries(facts.dictionary ?? {}));
  }

  /** Encodes a text, with the lines of a request's glossary or `null`. */
  read(text, lines = null) {
    const { max_source_length: longest, append_eos } = this.facts;
    let needed = null;
    let [mark, terms] = [(x) => x, null];
    if (this.facts.must_copy) needed = (x) => this.source.needed(x);
    if (lines || this.glossary?.terms) {
      ({ mark, terms } = this.glossary.marks(lines ?? []));
      needed ??= (x) => Number(this.glossary.isMark(x));
    }
    const whole = this.begin(text, (x) => this.tokenize(mark(x), terms));
    let tokens = whole.slice(0, longest);
    const found = { isBlank: !tokens.length, terms };
    const kinds = needed ? whole.map(needed) : [];
    if (needed) found.protected = this.required(kinds.map((x) => PROTECTED[x]));
    if (this.entities) {
      found.keys = this.entities.keys(tokens);
      tokens = tokens.map(this.entities.surface);
    }
    const encoded = this.encode(found.keys ?? tokens);
    encoded.ids = encoded.ids.map((x, i) =>
      i < tokens.length && kinds[i] >= UNREAD ? PAD : x,
    );
    if (append_eos) tokens = [...tokens, EOS_WORD];
    return { ...found, ...encoded, tokens };
  }

  /** Tokenizes a marked text; in place, it has no marks, but translations. */
  tokenize(text, terms) {
    if (!terms || !this.source.facts.in_place) return this.source.tokenize(text);
    const [phrases, wanted] = this.glossary.demand(text, terms);
    const more = wanted.flatMap((x) => this.target.tokenizeTerm(x));
    return [...this.source.tokenize(phrases), ...more];
  }

  /** Tokenizes a text, which is cut off far behind its first tokens. */
  begin(text, tokenize) {
    const count = this.facts.max_source_length + this.facts.reach;
    for (let size = UNITS * count; text.length > size; size *= GROWTH) {
      const [begun] = text.slice(0, size).match(/^[^]*\s/) ?? [""];
      const tokens = tokenize(begun);
      if (tokens.length >= count) return tokens;
    }
    return tokenize(text);
  }

  encode(tokens) {
    const { append_eos } = this.facts;
    const all = tokens.length || append_eos ? tokens : [UNK_WORD];
    const [size, first] = [this.words.length, new Map()];
    const ids = all.map((x) => this.sourceIds.get(this.source.fold(x)) ?? UNK);
    const copy_ids = all.map((x, i) => {
      const word = this.target.fold(x);
      if (!first.has(word)) first.set(word, i);
      const copied = this.targetIds.get(word) ?? size + first.get(word);
      return word === UNK_WORD ? NO_COPY : copied;
    });
    if (!append_eos) return { ids, copy_ids };
    return { ids: [...ids, EOS], copy_ids: [...copy_ids, NO_COPY] };
  }

  /** Returns which tokens are required; not a span that is cut off. */
  required(needed) {
    const longest = this.facts.max_source_length;
    const found = needed.slice(0, longest);
    if (needed[longest] !== GOES_ON) return found;
    const last = found.findLastIndex((x) => x && x !== GOES_ON);
    return found.fill(0, Math.max(last, 0));
  }

  /**
   * Decodes the hypotheses of a search.
   *
   * @param {string} signature
   * @param {object} source What `read` returned.
   * @param {object} result Lists by the names of a search's outputs.
   */
  write(signature, source, result) {
    const beside = this.source.besideLetters?.(source.tokens);
    const count = signature === "analyse" ? result.ids.length : 1;
    const found = Array.from({ length: count }, (_, i) =>
      this.hypothesis(source, result, i, beside),
    );
    const { text, score } = found[0];
    if (signature !== "analyse") return { text, score };
    const texts = found.map((x) => x.text);
    const all = found.filter((x, i) => texts.indexOf(x.text) === i);
    const again = { text: "", score: MASKED, words: [] };
    all.push(...new Array(count - all.length).fill(again));
    const longest = Math.max(...found.map((x) => x.words.length));
    const width = source.ids.length;
    const { generate_probs, attention } = result;
    const none = new Array(width).fill(0);
    const each = (f, rest) =>
      all.map((x) =>
        Array.from({ length: longest }, (_, t) =>
          t < x.words.length ? f(x, t) : rest,
        ),
      );
    return {
      text,
      score,
      texts: all.map((x) => x.text),
      scores: all.map((x) => x.score),
      tokens: each((x, t) => x.words[t], ""),
      source_tokens: source.tokens
        .map((x) => this.shown(source, this.source.unmark(x), 0))
        .concat(new Array(width - source.tokens.length).fill("")),
      copied_from: each((x, t) => x.places[t], GENERATE),
      generate_probability: each((x, t) => generate_probs[x.number][t], 0),
      attention: each((x, t) => attention[x.number][t].slice(0, width), none),
    };
  }

  /** Returns a hypothesis: its text, its words, and where they come from. */
  hypothesis(source, result, number, beside) {
    const ids = source.isBlank ? [] : [...result.ids[number], EOS];
    const end = ids.findIndex((id) => id === PAD || id === EOS);
    const found = ids
      .slice(0, end)
      .map((_, t) => this.wordAt(source, result, number, t));
    const [tokens, places] = [0, 1].map((side) => found.map((x) => x[side]));
    const text = this.target.detokenize(tokens, beside);
    const words = tokens.map((x) => this.shown(source, this.source.unmark(x), 1));
    const score = source.isBlank ? 0 : result.scores[number];
    return { number, text: this.shown(source, text, 1), score, words, places };
  }

  wordAt(source, result, number, t) {
    const [id, size] = [result.ids[number][t], this.words.length];
    let place = result.copied_from[number][t];
    if (id >= size && place < 0) place = id - size;
    let token = this.words[id < size ? id : PAD];
    if (source.keys)
      token = this.entities.restore(token, source.keys, source.tokens);
    if (this.facts.replace_unk && token === UNK_WORD) {
      let highest = -1;
      result.attention[number][t].forEach((x, i) => {
        if ((source.copy_ids[i] ?? NO_COPY) !== NO_COPY && x > highest)
          [highest, place] = [x, i];
      });
    }
    if (place < 0) return [token, GENERATE];
    const copied = source.tokens[place];
    return [this.dictionary.get(copied) || copied, place];
  }

  /** Replaces marks of terms by phrases, 0, or by translations, 1. */
  shown({ terms }, text, side) {
    return terms ? this.glossary.unmark(text, terms.map((x) => x[side])) : text;
  }
}
