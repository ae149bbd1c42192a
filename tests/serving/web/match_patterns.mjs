// Lists the texts that patterns match, or why not, JSON on standard input; of
// codes, the first and the last character of each run that a class matches.

import { readFileSync } from "node:fs";

const page = "../../../tfcopy/serving/web/page/";
const { compiled } = await import(`${page}regular_expressions.js`);

const { patterns, texts, codes } = JSON.parse(readFileSync(0));
const text = codes?.map((x) => String.fromCodePoint(x)).join("");
const found = patterns.map((pattern) => {
  try {
    if (codes)
      return [...text.matchAll(compiled(`${pattern}+`, false))].map(([run]) => {
        return [run.codePointAt(0), [...run].at(-1).codePointAt(0)];
      });
    const expression = compiled(pattern, true);
    return texts.filter((text) => {
      expression.lastIndex = 0;
      return expression.test(text);
    });
  } catch (error) {
    return error.message;
  }
});
process.stdout.write(JSON.stringify(found));
