// Lists the texts that patterns match, or why not, JSON on standard input.

import { readFileSync } from "node:fs";

const page = "../../../tfcopy/serving/web/page/";
const { compiled } = await import(`${page}regular_expressions.js`);

const { patterns, texts } = JSON.parse(readFileSync(0));
const found = patterns.map((pattern) => {
  try {
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
