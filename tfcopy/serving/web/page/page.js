// The page: its fields, its events, and the address of an answer.

import { InBrowser, OnServer } from "./backends.js";
import { element, shortened } from "./elements.js";
import { showTexts } from "./text_view.js";
import { showTranslation } from "./translation_view.js";

// Characters of the texts of an answer; models read less.
const LARGEST = 20_000;
const at = (id) => document.getElementById(id);
const site = at("site").textContent;
const { models, files } = JSON.parse(site);
const state = { backend: null, facts: null, answer: null, lines: [], turn: 0 };

/** Shows an error, or what is going on. */
function say(message, isError = false) {
  at("status").textContent = message;
  at("status").className = isError ? "error" : "";
}

/** Runs a task whose end may find that the visitor wants something else. */
async function attempt(message, task) {
  const turn = ++state.turn;
  say(message);
  document.body.setAttribute("aria-busy", "true");
  try {
    await task(() => turn === state.turn);
    if (turn === state.turn) say("");
  } catch (error) {
    if (turn === state.turn) {
      at("result").replaceChildren();
      say(error.message, true);
    }
  } finally {
    if (turn === state.turn) document.body.removeAttribute("aria-busy");
  }
}

/** Shows the fields of a model; one on the server is loaded for that. */
async function choose(name) {
  const model = models.find((x) => x.name === name) ?? models[0];
  if (!model) return say("There are no models. Export one, and reload.", true);
  const Backend = model.folder ? InBrowser : OnServer;
  state.backend = new Backend(model, files);
  state.facts = null;
  at("model").value = model.name;
  at("facts").textContent = "";
  at("result").replaceChildren();
  await attempt(model.folder ? "" : "Loading the model …", async (isWanted) => {
    const facts = await state.backend.load();
    if (isWanted()) showFields(facts);
  });
}

function showFields(facts) {
  state.facts = facts;
  at("facts").textContent = facts.summary || "An exported model";
  at("texts").replaceChildren(...facts.texts.map(field));
  at("examples").replaceChildren(...facts.examples.map(example));
  at("about").hidden = !facts.translates;
  at("lines-part").hidden = !facts.lines;
  const isGlossary = facts.lines === "glossary";
  at("lines-title").textContent = isGlossary
    ? "Required translations"
    : "Your dictionary";
  at("lines-hint").textContent = isGlossary
    ? "One per line: phrase = translation. If the text has a phrase, the answer has its translation."
    : "One per line: word = definition. They replace the model's own definitions of these words.";
  at("lines").value = "";
}

function field(name) {
  const id = `text-${name}`;
  const lang = state.facts.source_language;
  const attributes = { id, rows: 2, dir: "auto", spellcheck: "false", lang };
  const area = element("textarea", attributes);
  area.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    at("form").requestSubmit();
  };
  area.value = at(id)?.value ?? "";
  const title = name[0].toUpperCase() + name.slice(1);
  return element("div", {}, element("label", { for: id }, title), area);
}

const fields = () => state.facts.texts.map((name) => at(`text-${name}`));

function example(texts) {
  const all = state.facts.texts.map((name) => texts[name]);
  const longest = all.length === 1 ? 60 : 34;
  const shown = all.map((x) => shortened(x, longest)).join(" / ");
  const attributes = { type: "button", dir: "auto", title: all.join(" / ") };
  const button = element("button", attributes, shown);
  button.onclick = () => ask(all);
  return element("li", {}, button);
}

/** Returns lines `phrase<TAB>translation`. */
function readLines() {
  const rows = at("lines").value.split("\n");
  const isFilled = (row) => row.trim();
  return rows.filter(isFilled).map((row) => {
    const [, left, right] =
      row.match(/^\s*([^=\t]*[^=\t\s])\s*[=\t]\s*(.*\S)\s*$/) ?? [];
    if (!right)
      throw new Error(
        `“${shortened(row.trim())}”: write two sides with = between them.`,
      );
    return `${left}\t${right}`;
  });
}

/** Answers texts, those of the fields by default. */
async function ask(texts, chosen = 0) {
  if (!state.facts) return;
  if (texts) fields().forEach((area, i) => (area.value = texts[i] ?? ""));
  const pairs = fields().map((x, i) => [state.facts.texts[i], x.value]);
  const given = Object.fromEntries(pairs);
  const { backend, facts } = state;
  const size = Math.ceil(facts.bytes / 1e6);
  const message =
    facts.bytes && !facts.isLoaded
      ? `Loading the model (${size} MB), and answering …`
      : "Answering …";
  await attempt(message, async (isWanted) => {
    const lines = facts.lines ? readLines() : [];
    const length = [...Object.values(given), ...lines].join("").length;
    if (length > LARGEST)
      throw new Error(
        `The text has ${length.toLocaleString("en")} characters. The page ` +
          `takes up to ${LARGEST.toLocaleString("en")}: shorten it, or use \`tfcopy ask\`.`,
      );
    const outputs = await backend.answer(given, lines);
    if (!isWanted()) return;
    facts.isLoaded = true;
    state.answer = { texts: given, outputs, facts, lines };
    show(chosen);
  });
}

/** Shows the answer with one of its hypotheses. */
function show(chosen) {
  const { texts, outputs, facts, lines } = state.answer;
  const isTranslation = outputs.copied_from || facts.lines === "glossary";
  const headwords = lines.map((line) => line.split("\t")[0]);
  const sections = isTranslation
    ? showTranslation(Object.values(texts)[0], outputs, facts, chosen, (i) => {
        show(i);
        at("result").querySelector("[aria-pressed=true]").focus();
      })
    : showTexts(texts, outputs, facts, headwords);
  at("result").replaceChildren(...sections);
  const link = new URLSearchParams({ model: facts.name, ...texts });
  if (chosen) link.set("answer", chosen + 1);
  if (lines.length) link.set("lines", at("lines").value);
  history.replaceState(null, "", `#${link}`);
}

/** Shows the answer that the address names. */
async function follow() {
  const link = new URLSearchParams(location.hash.slice(1));
  await choose(link.get("model"));
  if (!state.facts || !state.facts.texts.every((name) => link.has(name)))
    return;
  at("lines").value = link.get("lines") ?? "";
  at("lines-part").open = Boolean(at("lines").value);
  await ask(
    state.facts.texts.map((name) => link.get(name)),
    Number(link.get("answer") ?? 1) - 1,
  );
}

/** Reloads the page, once, if it came from a cache and the site is a newer one. */
async function reloadIfReplaced() {
  const address = location.href.split("#")[0];
  const answer = await fetch(address, { cache: "reload" }).catch(() => null);
  const page = answer?.ok ? await answer.text() : "";
  const isReplaced = page.includes('id="site"') && !page.includes(site);
  if (isReplaced && history.state !== "replaced") {
    history.replaceState("replaced", "");
    location.reload();
  } else if (!isReplaced && history.state) history.replaceState(null, "");
}

const option = ({ name }) => element("option", { value: name }, name);
at("model").replaceChildren(...models.map(option));
at("model").onchange = () => choose(at("model").value);
at("form").onsubmit = (event) => {
  event.preventDefault();
  ask();
};
window.addEventListener("hashchange", follow);
if (files) {
  navigator.serviceWorker?.register("service_worker.js").catch(() => {});
  reloadIfReplaced();
}
follow();
