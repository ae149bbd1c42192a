// Answers of models that read definitions: spans, labels and next words.

import { attentionMap } from "./attention_map.js";
import {
  barChart,
  decimal,
  element,
  findWords,
  note,
  paragraph,
  percent,
  runningText,
  section,
} from "./elements.js";

// Minimum probability of a start or an end of the answer that is shown.
const LEAST_EDGE = 0.01;
const MOST_EDGES = 5;

/**
 * Returns the sections of an answer.
 *
 * @param {object} texts The texts by name.
 * @param {object} outputs Of `analyse`.
 * @param {object} facts Of the model.
 * @param {string[]} own Headwords of the visitor's dictionary.
 */
export function showTexts(texts, outputs, facts, own) {
  const folded = own.map((x) => x.toLowerCase());
  const given = { texts, outputs, facts, own: new Set(folded) };
  if (outputs.start_probability) return spanAnswer(given);
  if (outputs.probabilities) return labelAnswer(given);
  if (outputs.next_words) return nextWords(given);
  const names = Object.keys(outputs).join(", ");
  return [note(`The page cannot show the answer of this model: ${names}.`)];
}

const words = (tokens) => tokens.filter(Boolean);
const pair = (...sections) => element("div", { class: "pair" }, sections);
const chance = (logarithm) => Math.exp(Math.min(logarithm, 0));
const title = (name) => name[0].toUpperCase() + name.slice(1);

/** Returns a function that marks words with definitions. */
function defining({ outputs, own }, name) {
  const entries = outputs[name] ?? [];
  return (i, word) => {
    const found = words(entries[i] ?? []);
    if (!found.length) return word;
    const isOwn = found.some((x) => own.has(x.toLowerCase()));
    const whose = isOwn ? "your dictionary" : "the model's dictionary";
    const title = `defined by ${whose}: ${found.join(", ")}`;
    const kind = isOwn ? "defined own" : "defined";
    return element("span", { class: kind, title }, word);
  };
}

function plainText(name, given) {
  const tokens = words(given.outputs[`${name}_tokens`]);
  if (tokens.at(-1) === "</s>") tokens.pop();
  const text = given.texts[name];
  const nodes = runningText(text, tokens, defining(given, `${name}_headwords`));
  return section(title(name), "", paragraph(nodes, text));
}

function legend(given, ...content) {
  if (Object.keys(given.outputs).some((name) => name.endsWith("headwords")))
    content.push(
      " ",
      element("span", { class: "defined" }, "Dotted"),
      " words have definitions in the model's dictionary, ",
      element("span", { class: "defined own" }, "these"),
      " in yours.",
    );
  return note(...content);
}

function spanAnswer(given) {
  const { texts, outputs } = given;
  const tokens = words(outputs.context_tokens);
  const shown = element("mark", { class: "answer" }, outputs.text);
  const large = paragraph([shown], outputs.text);
  large.classList.add("large");
  const { start_probability: starts, end_probability: ends } = outputs;
  const hasMap = outputs.attention && tokens.length;
  const hint = `probability ${percent(chance(outputs.score))}`;
  return [
    pair(section("Answer", hint, large), plainText("question", given)),
    section("Context", "", contextText(given, tokens.slice(0, -1))),
    legend(
      given,
      element("mark", { class: "answer" }, "Marked words"),
      " are the answer; a bar ",
      element("mark", { class: "edge", style: "--s:1" }, "before"),
      " a word is as strong as the probability of beginning there, one ",
      element("mark", { class: "edge", style: "--e:1" }, "after"),
      " it of ending there.",
    ),
    pair(
      edges("Begins with", tokens, starts),
      // The text ends before the word with this probability.
      edges("Ends with", tokens.slice(0, -1), ends.slice(1)),
    ),
    ...(hasMap ? [coattention(tokens, outputs)] : []),
  ];
}

function contextText(given, tokens) {
  const { outputs, texts } = given;
  const text = texts.context;
  const defined = defining(given, "context_headwords");
  const spans = findWords(text, tokens);
  // Positions are counted in characters, not in units of UTF-16.
  const [first, last] = [outputs.start, outputs.end].map(
    (n) => Array.from(text).slice(0, n).join("").length,
  );
  const nodes = runningText(text, tokens, (i, word) => {
    const s = outputs.start_probability[i];
    const e = outputs.end_probability[i + 1];
    const isInside = spans && first <= spans[i][0] && spans[i][1] <= last;
    const isEdge = Math.max(s, e) >= LEAST_EDGE;
    const shown = defined(i, word);
    if (!isInside && !isEdge) return shown;
    const attributes = {
      class: `${isInside ? "answer" : ""} ${isEdge ? "edge" : ""}`,
      style: `--s:${s >= LEAST_EDGE ? s : 0};--e:${e >= LEAST_EDGE ? e : 0}`,
      title: `begins here: ${percent(s)}, ends here: ${percent(e)}`,
    };
    return element("mark", attributes, shown);
  });
  return paragraph(nodes, text);
}

function edges(name, tokens, probabilities) {
  const best = [...tokens.keys()]
    .sort((i, j) => probabilities[j] - probabilities[i])
    .slice(0, MOST_EDGES)
    .filter((i, rank) => !rank || probabilities[i] >= LEAST_EDGE);
  const notes = best.map((i) => `word ${i + 1}`);
  const pick = (all) => best.map((i) => all[i]);
  return barChart(name, pick(tokens), pick(probabilities), 0, notes);
}

function coattention(tokens, outputs) {
  const question = words(outputs.question_tokens);
  const chances = tokens.map(
    (_, i) => outputs.start_probability[i] + outputs.end_probability[i],
  );
  const best = chances.indexOf(Math.max(...chances));
  const weightsOf = (i) => tokens.map((_, j) => outputs.attention[j][i]);
  const weights = question.map((_, i) => weightsOf(i));
  const names = ["words of the question", "words of the context"];
  const importance = tokens.map((_, j) => -Math.abs(j - best));
  return section(
    "Attention",
    "of each word of the context (columns) to the question (rows)",
    ...attentionMap(question, tokens, weights, { names, importance }),
  );
}

function labelAnswer(given) {
  const { texts, outputs, facts } = given;
  const { probabilities } = outputs;
  const names = facts.labels ?? probabilities.map((_, i) => `label ${i}`);
  const best = probabilities.indexOf(Math.max(...probabilities));
  const shown = element("p", { class: "text large" }, outputs.label);
  const chart = barChart("Probabilities", names, probabilities, best);
  return [
    pair(section("Label", "", shown), chart),
    pair(...Object.keys(texts).map((name) => plainText(name, given))),
    legend(given),
  ];
}

function nextWords(given) {
  const { texts, outputs } = given;
  const [text] = Object.values(texts);
  const defined = defining(given, "headwords");
  const nodes = runningText(text, words(outputs.tokens), (i, word) => {
    const probability = chance(outputs.token_log_probabilities[i]);
    const isKnown = outputs.is_known[i];
    // From 0, certain, to 1, for at most one in 10,000.
    const surprise = -Math.log10(Math.min(1, Math.max(probability, 1e-4))) / 4;
    const attributes = {
      class: isKnown ? "heat" : "heat unknown",
      style: `--p:${surprise.toFixed(3)}`,
      title: `probability ${percent(probability)}${isKnown ? "" : ", as an unknown word"}`,
    };
    return element("mark", attributes, defined(i, word));
  });
  const numbers =
    `log-probability ${decimal(outputs.log_probability)}, ` +
    `perplexity ${outputs.perplexity.toFixed(1)}`;
  return [
    section("Text", numbers, paragraph(nodes, text)),
    legend(
      given,
      "The darker a word, the less probable it was after those before it; ",
      element("mark", { class: "heat unknown", style: "--p:0" }, "words"),
      " that are in no vocabulary share the probability of an unknown one.",
    ),
    barChart("Next word", outputs.next_words, outputs.next_probabilities),
  ];
}
