// Outputs of `analyse` of a translator, as hypotheses of words with their
// sources; see `DisplayedTranslation` in tfcopy/figures/word_grid.py.

const END = "</s>";
const [BLANK, START] = ["▁", "⟨s⟩"];
// Padding of the n-best list has a lower score.
const LOWEST_SCORE = -1e8;

/** Returns the hypotheses, the best first. */
export function readHypotheses(outputs, pieces = {}) {
  const { texts, scores } = outputs;
  return [...texts.keys()]
    .filter((i) => !i || (scores[i] > LOWEST_SCORE && (texts[i] || scores[i])))
    .map((i) => hypothesis(outputs, i, pieces));
}

/** Returns one of them, its subwords joined to words. */
function hypothesis(outputs, i, pieces) {
  const tokens = outputs.tokens[i].filter(Boolean);
  const read = outputs.source_tokens.filter(Boolean);
  const generate = outputs.generate_probability[i];
  const rows = spans(tokens, pieces.target);
  const columns = spans(read, pieces.source);
  const owner = (j) => columns.findIndex(([a, b]) => a <= j && j < b);
  return {
    text: outputs.texts[i],
    score: outputs.scores[i],
    words: rows.map((x) => text(tokens, x, pieces.target)),
    source: columns.map((x) => text(read, x, pieces.source)),
    copiedFrom: rows.map((x) => {
      const places = outputs.copied_from[i].slice(...x);
      return Math.min(...places) < 0 ? -1 : owner(places[0]);
    }),
    generate: rows.map((x) => mean(generate.slice(...x))),
    attention: rows.map((x) => {
      const weights = outputs.attention[i].slice(...x);
      return columns.map((y) => mean(weights.map((z) => sum(z.slice(...y)))));
    }),
  };
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

/** Returns `[start, end]` of the tokens of each word. */
function spans(tokens, arePieces) {
  const starts = [...tokens.keys()].filter(
    (i) =>
      !arePieces ||
      i === 0 ||
      tokens[i].startsWith(BLANK) ||
      tokens[i] === END ||
      tokens[i - 1] === END,
  );
  return starts.map((start, k) => [start, starts[k + 1] ?? tokens.length]);
}

function text(tokens, span, arePieces) {
  const word = tokens.slice(...span).join("");
  if (!arePieces) return word;
  return word.replaceAll(START, "").replaceAll(BLANK, " ").trim();
}
