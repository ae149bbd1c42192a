// A translation: what it copied, how probable that was, the other hypotheses.

import { attentionMap } from "./attention_map.js";
import {
  decimal,
  element,
  faint,
  findWords,
  hues,
  label,
  note,
  paragraph,
  percent,
  runningText,
  section,
  shortened,
} from "./elements.js";
import { readHypotheses } from "./hypotheses.js";

// Below this probability a word was not copied, but replaced afterwards.
const LEAST_COPYING = 1e-6;
// Probabilities are hidden if all differ from 1 by less.
const LEAST_SWITCH = 0.005;
// Longer sources are shown above their answers, not beside them.
const LONG = 280;
const MOST_SWITCHES = 120;

/**
 * Returns the sections of an answer.
 *
 * @param {string} text The source.
 * @param {object} outputs Of `analyse`, or `text` and `score` alone.
 * @param {object} facts Of the model.
 * @param {number} chosen Number of the hypothesis.
 * @param {Function} choose Function of the number of another one.
 */
export function showTranslation(text, outputs, facts, chosen, choose) {
  const [from, to] = [facts.source_language, facts.target_language];
  const source = (nodes) => section("Source", "", paragraph(nodes, text, from));
  if (!outputs.texts) {
    const hint = `log-probability ${decimal(outputs.score)}`;
    const answer = paragraph([outputs.text], outputs.text, to);
    const hidden = note(
      "With required translations, the model does not report what it copied.",
    );
    return pair(text, source([text]), section("Answer", hint, answer, hidden));
  }
  const hypotheses = readHypotheses(outputs, facts.pieces);
  const found = hypotheses[chosen] ?? hypotheses[0];
  const places = hypotheses.flatMap((x) => x.copiedFrom);
  const hue = hues(places.filter((j) => j >= 0));
  const copied = (j, generate) => copiedAttributes(found, hue, j, generate);
  const answer = (x) =>
    runningText(x.text, x.words, (i, word) => {
      const j = x.copiedFrom[i];
      return j < 0 ? word : element("mark", copied(j, x.generate[i]), word);
    });
  const sections = pair(
    text,
    source(sourceNodes(text, found, copied)),
    section("Answer", summary(found), paragraph(answer(found), found.text, to)),
  );
  if (found.words.length) sections.push(legend(found));
  if (hypotheses.length > 1)
    sections.push(nBest(hypotheses, hypotheses.indexOf(found), answer, choose));
  if (!found.words.length) return sections;
  return [...sections, ...switches(found, copied), map(found, hue, copied)];
}

const pair = (text, ...sections) =>
  text.length < LONG ? [element("div", { class: "pair" }, sections)] : sections;

function sourceNodes(text, found, copied) {
  const used = new Set(found.copiedFrom);
  // Without `</s>`.
  const words = findWords(text, found.source)
    ? found.source
    : found.source.slice(0, -1);
  return runningText(text, words, (j, word) =>
    used.has(j) ? element("mark", copied(j), word) : word,
  );
}

function copiedAttributes(found, hue, j, generate) {
  let title = "copied into the answer";
  if (generate !== undefined) {
    const copying = 1 - generate;
    title =
      copying < LEAST_COPYING
        ? `in the place of an unknown word: word ${j + 1}`
        : `copied from word ${j + 1}, ${shortened(found.source[j])}, ` +
          `with probability ${copying.toFixed(2)}`;
  }
  const style = `--h:${hue.get(j)}`;
  return { class: "copied", style, "data-from": j + 1, title };
}

function summary({ copiedFrom, words, score }) {
  const copied = copiedFrom.filter((j) => j >= 0).length;
  const noun = words.length === 1 ? "word" : "words";
  return `${copied} of ${words.length} ${noun} copied, log-probability ${decimal(score)}`;
}

function legend(found) {
  if (!found.copiedFrom.some((j) => j >= 0))
    return note(
      "No word of this answer was copied: the model generated all of " +
        "them from its vocabulary.",
    );
  const example = { class: "copied", style: "--h:30", "data-from": 3 };
  return note(
    element("mark", example, "word"),
    " was copied from word 3 of the " +
      "source, which has the same colour. The model generated the plain words from " +
      "its vocabulary.",
  );
}

function nBest(hypotheses, chosen, answer, choose) {
  const items = hypotheses.map((x, i) => {
    const content = x.text.trim() ? answer(x) : [faint("(empty)")];
    const attributes = { type: "button", "aria-pressed": String(i === chosen) };
    const score = element("span", { class: "score" }, decimal(x.score));
    const shown = element("span", { dir: "auto" }, content);
    const button = element("button", attributes, score, shown);
    button.onclick = () => choose(i);
    return element("li", {}, button);
  });
  return section(
    "Best answers",
    "with log-probability; choose one to see its colours and attention",
    element("ol", { class: "choices" }, items),
  );
}

function switches(found, copied) {
  if (Math.min(...found.generate) > 1 - LEAST_SWITCH) return []; // It cannot copy.
  const items = found.words.slice(0, MOST_SWITCHES).map((word, i) => {
    const [j, copying] = [found.copiedFrom[i], 1 - found.generate[i]];
    const attributes = j < 0 ? {} : copied(j, found.generate[i]);
    const style = `--p:${copying.toFixed(3)}`;
    const title = `copy ${percent(copying)}, generate ${percent(1 - copying)}`;
    const shown = element("span", attributes, label(word));
    const bar = element("i", { class: "switch", style, title });
    const share = element("small", {}, `${Math.round(100 * copying)}%`);
    return element("li", {}, shown, bar, share);
  });
  const more = found.words.length - items.length;
  return [
    section(
      "Generate or copy?",
      "probability of each word to be copied, not generated",
      element("ul", { class: "switches" }, items),
      ...(more > 0 ? [note(`And ${more} more.`)] : []),
    ),
  ];
}

function map(found, hue, copied) {
  const { copiedFrom: places, generate } = found;
  const used = new Set(places);
  const weightsOf = (j) => found.attention.map((row) => row[j]);
  return section(
    "Attention",
    "rows: the answer, columns: the source; copied words are framed",
    ...attentionMap(found.words, found.source, found.attention, {
      names: ["words of the answer", "words of the source"],
      importance: found.source.map(
        (_, j) => used.has(j) + Math.max(...weightsOf(j)),
      ),
      ofRow: (i) => (places[i] < 0 ? {} : copied(places[i], generate[i])),
      ofColumn: (j) => (used.has(j) ? copied(j) : {}),
      hue: (i, j) => (places[i] === j ? hue.get(j) : undefined),
    }),
  );
}
