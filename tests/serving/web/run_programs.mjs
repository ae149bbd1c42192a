// Runs calls of text programs, JSON on standard input, for the tests in Python.

import { readFileSync } from "node:fs";

const page = "../../../tfcopy/serving/web/page/";
const { toText } = await import(`${page}byte_strings.js`);
const { Tensor } = await import(`${page}tensors.js`);
const { TextPrograms, decoded } = await import(`${page}text_program.js`);

const encoded = (x) => {
  if (typeof x === "string") return toText(x);
  if (!(x instanceof Tensor)) return x;
  return { shape: x.shape, values: x.data.map(encoded) };
};
const mapped = (dict, f) =>
  Object.fromEntries(Object.entries(dict).map(([key, x]) => [key, f(x)]));

const { texts, files, calls } = JSON.parse(readFileSync(0));
const contents = mapped(files, (path) => new Uint8Array(readFileSync(path)));
const programs = new TextPrograms(JSON.parse(readFileSync(texts)), contents);
const found = calls.map(([name, inputs]) => {
  try {
    return mapped(programs.run(name, mapped(inputs, decoded)), encoded);
  } catch (error) {
    return { error: String(error.stack) };
  }
});
process.stdout.write(JSON.stringify(found));
