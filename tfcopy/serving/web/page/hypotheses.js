// Outputs of `analyse` of a translator, as hypotheses of words with their
// sources; see `DisplayedTranslation` in tfcopy/figures/word_grid.py.

const END = "</s>";
const [BLANK, START] = ["▁", "⟨s⟩"];
// Padding of the n-best list has a lower score.
const LOWEST_SCORE = -1e8;

/** Returns the hypotheses, the best first. */
export function readHypotheses(outputs, pieces = {}) {
  const source = outputs.source_tokens.filter(Boolean);
  const isOne = (text, i) => {
    const score = outputs.scores[i];
    return i === 0 || (score > LOWEST_SCORE && (text || score));
  };
  return [...outputs.texts.keys()]
    .filter((i) => isOne(outputs.texts[i], i))
    .map((i) => {
      const words = outputs.tokens[i].filter(Boolean);
      const upTo = (x) => x[i].slice(0, words.length);
      return joined(
        {
          text: outputs.texts[i],
          score: outputs.scores[i],
          words,
          source,
          copiedFrom: upTo(outputs.copied_from),
          generate: upTo(outputs.generate_probability),
          attention: upTo(outputs.attention).map((x) =>
            x.slice(0, source.length),
          ),
        },
        pieces,
      );
    });
}

/** Joins subwords to words. */
function joined(hypothesis, pieces) {
  const rows = spans(hypothesis.words, pieces.target);
  const columns = spans(hypothesis.source, pieces.source);
  const attention = rows.map(([first, end]) =>
    columns.map(([a, b]) =>
      mean(
        hypothesis.attention.slice(first, end).map((x) => sum(x.slice(a, b))),
      ),
    ),
  );
  const owner = (j) => columns.findIndex(([a, b]) => a <= j && j < b);
  return {
    ...hypothesis,
    words: rows.map((x) => text(hypothesis.words, x, pieces.target)),
    source: columns.map((x) => text(hypothesis.source, x, pieces.source)),
    copiedFrom: rows.map((x) => {
      const places = hypothesis.copiedFrom.slice(...x);
      return Math.min(...places) < 0 ? -1 : owner(places[0]);
    }),
    generate: rows.map((x) => mean(hypothesis.generate.slice(...x))),
    attention,
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
