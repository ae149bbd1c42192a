// Elements of the page: words, probabilities, sections.

const END = "</s>";
const LONGEST_LABEL = 40;
// Browsers take seconds for each place that shows one letter with thousands of
// combining marks.
const MARKS = /(\p{M}{30})\p{M}+/gu;
const withFewMarks = (x) =>
  typeof x === "string" ? x.replace(MARKS, "$1…") : x;

/** Returns an element; attributes that are `undefined` or `false` are left out. */
export function element(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, x] of Object.entries(attributes))
    if (x !== undefined && x !== false)
      found.setAttribute(name, x === true ? "" : x);
  found.append(...children.flat().map(withFewMarks));
  return found;
}

export const faint = (text) => element("span", { class: "faint" }, text);
export const note = (...content) => element("p", { class: "note" }, ...content);

export function section(title, hint, ...content) {
  const more = hint ? [element("span", { class: "hint" }, hint)] : [];
  return element("section", {}, element("h2", {}, title, ...more), ...content);
}

/** Returns a text as a paragraph, or a note if it is blank. */
export function paragraph(content, text, language) {
  if (!text.trim()) content = [faint("(empty)")];
  return element("p", { class: "text", dir: "auto", lang: language }, content);
}

export const shortened = (word, longest = LONGEST_LABEL) =>
  word.length <= longest ? word : `${word.slice(0, longest - 1)}…`;

/** Returns a word on an axis or in a list; its marks of subwords are faint. */
export function label(word) {
  const ofEnd = { class: "faint", title: "the end of the text" };
  if (word === END) return element("bdi", ofEnd, "end");
  const shown = shortened(word);
  const title = shown === word ? undefined : word.slice(0, 1000);
  const parts = shown.split(/(▁)/).map((x) => (x === "▁" ? faint(x) : x));
  return element("bdi", { dir: "auto", title }, parts);
}

/** Formats a number with two decimals; 0 has no sign. */
export const decimal = (x) => x.toFixed(2).replace(/^-(0\.00)$/, "$1");

/** Formats a probability with two digits, such as 97 % or 0.4 %. */
export function percent(probability) {
  const value = 100 * probability;
  if (value > 0 && value < 0.01) return "< 0.01 %";
  const digits = value >= 9.95 || value === 0 ? 0 : value >= 0.095 ? 1 : 2;
  return `${value.toFixed(digits)} %`;
}

/** Returns hues in degrees for positions; those of neighbours are far apart. */
export function hues(positions) {
  const sorted = [...new Set(positions)].sort((a, b) => a - b);
  return new Map(sorted.map((x, i) => [x, Math.round(30 + i * 137.508) % 360]));
}

/** Returns `[start, end]` of words in a text, in order; `null` if one lacks. */
export function findWords(text, words) {
  const folded = (x) =>
    Array.from(x, (y) =>
      y.toLowerCase().length === y.length ? y.toLowerCase() : y,
    ).join("");
  for (const change of [(x) => x, folded]) {
    const found = find(change(text), words.map(change));
    if (found) return found;
  }
  return null;
}

function find(text, words) {
  const spans = [];
  let place = 0;
  for (const word of words) {
    const isNext = (start) => start >= 0 && !text.slice(place, start).trim();
    let [form, start] = [word, text.indexOf(word, place)];
    if (!isNext(start)) {
      form = word.replaceAll("▁", " ").trim();
      start = text.indexOf(form, place);
    }
    if (!isNext(start)) return null;
    place = start + form.length;
    spans.push([start, place]);
  }
  return spans;
}

/**
 * Returns the nodes of a text with its words decorated; of the words with
 * blanks between them, if the text lacks them.
 *
 * @param {Function} decorate Function of the number of a word and its text.
 */
export function runningText(text, words, decorate) {
  let spans = findWords(text, words);
  if (!spans) {
    text = words.join(" ");
    let end = -1;
    spans = words.map((x) => [end + 1, (end += x.length + 1)]);
  }
  const nodes = [];
  let place = 0;
  spans.forEach(([start, end], i) => {
    nodes.push(text.slice(place, start), decorate(i, text.slice(start, end)));
    place = end;
  });
  let rest = text.slice(place);
  const title = "too long: this was not read";
  if (rest.trim()) rest = element("span", { class: "faint", title }, rest);
  return [...nodes, rest];
}

/** Returns names with bars, one below the other. */
export function barChart(title, names, probabilities, marked, notes = []) {
  const rows = names.map((name, i) => {
    const style = `--p:${probabilities[i].toFixed(3)}`;
    return element(
      "tr",
      { class: i === marked && "marked" },
      element("th", { scope: "row" }, label(name), " ", faint(notes[i] ?? "")),
      element("td", { class: "bar" }, element("i", { style })),
      element("td", { class: "value" }, percent(probabilities[i])),
    );
  });
  const body = element("tbody", {}, rows);
  return section(title, "", element("table", { class: "bars" }, body));
}
