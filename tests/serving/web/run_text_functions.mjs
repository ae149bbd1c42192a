// Reads texts and writes hypotheses, JSON on standard input, for the tests in Python.

import { readFileSync } from "node:fs";

const page = "../../../tfcopy/serving/web/page/";
const { TextFunctions } = await import(`${page}text_functions.js`);

const { facts, files, calls } = JSON.parse(readFileSync(0));
const contents = Object.fromEntries(
  Object.entries(files).map(([name, path]) => [
    name,
    new Uint8Array(readFileSync(path)),
  ]),
);
const functions = new TextFunctions(
  JSON.parse(readFileSync(facts)),
  contents,
);
const found = calls.map(([signature, text, lines, result]) => {
  try {
    const source = functions.read(text, lines);
    return [source, functions.write(signature, source, result)];
  } catch (error) {
    return String(error.stack);
  }
});
process.stdout.write(JSON.stringify(found));
