// A table of words by words, shaded by weights.

import { element, label, note, shortened } from "./elements.js";

const [MOST_ROWS, MOST_COLUMNS] = [100, 80];
const LEAST_WEIGHT = 0.001;

/**
 * @param {string[]} rows Words of the rows, T.
 * @param {string[]} columns Words of the columns, S.
 * @param {number[][]} weights `(T, S)`, from 0 to 1.
 * @param {object} options `names` of rows and columns; `importance` of the
 *   columns, of which the most important are shown; functions that return
 *   attributes: `ofRow`, `ofColumn`, and `hue` of a cell with a frame.
 */
export function attentionMap(rows, columns, weights, options) {
  const nothing = () => ({});
  const { ofRow = nothing, ofColumn = nothing } = options;
  const { names, importance, hue = () => undefined } = options;
  const kept = [...columns.keys()]
    .sort((i, j) => importance[j] - importance[i] || i - j)
    .slice(0, MOST_COLUMNS)
    .sort((i, j) => i - j);
  const gap = (k) => k > 0 && kept[k] !== kept[k - 1] + 1 && "gap";
  const head = kept.map((j, k) => {
    const name = element("span", ofColumn(j), label(columns[j]));
    return element("th", { scope: "col", class: gap(k) }, name);
  });
  const cell = (i, j, k) => {
    const [weight, framed] = [weights[i][j], hue(i, j)];
    if (weight < LEAST_WEIGHT && framed === undefined)
      return element("td", { class: gap(k) });
    const title = `${shortened(rows[i])} → ${shortened(columns[j])}: ${weight.toFixed(3)}`;
    const frame = framed !== undefined && "framed";
    const kind = [gap(k), frame].filter(Boolean).join(" ");
    const style = `--p:${Math.min(1, weight).toFixed(3)};--h:${framed}`;
    return element("td", { class: kind, title }, element("i", { style }));
  };
  const body = rows.slice(0, MOST_ROWS).map((word, i) => {
    const name = element("span", ofRow(i), label(word));
    const cells = kept.map((j, k) => cell(i, j, k));
    return element("tr", {}, element("th", { scope: "row" }, name), cells);
  });
  const first = element("thead", {}, element("tr", {}, element("td"), head));
  const others = element("tbody", {}, body);
  const table = element("table", { class: "map" }, first, others);
  const region = {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Map of attention",
  };
  const notes = leftOut(rows, columns, kept, names);
  return [...notes, element("div", region, table)];
}

function leftOut(rows, columns, kept, names) {
  const parts = [];
  if (rows.length > MOST_ROWS)
    parts.push(`the first ${MOST_ROWS} of ${rows.length} ${names[0]}`);
  if (kept.length < columns.length)
    parts.push(
      `${kept.length} of ${columns.length} ${names[1]}, the most ` +
        "important (dashed lines: some are left out)",
    );
  return parts.length ? [note(`A long text. Shown: ${parts.join("; ")}.`)] : [];
}
