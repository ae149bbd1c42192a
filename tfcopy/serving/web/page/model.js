// An export that answers in the browser: functions of texts around a search by
// LiteRT.js; see LitertEngine in tfcopy/runtime/litert_engine.py.

import { fromText, toValidText } from "./byte_strings.js";
import { CODE, fetched } from "./files.js";
import {
  Tensor as LitertTensor,
  loadAndCompile,
  loadLiteRt,
  supportsFeature,
} from "./litert/index.js";
import { ProgramError, Tensor, replaced } from "./tensors.js";
import { TextPrograms } from "./text_program.js";

const PADDING = { ids: 0, copy_ids: -1, protected: 0 };
const SEARCH = "search.tflite";
const TEXTS = "texts.json";
let isLoaded = null;

/** Starts LiteRT.js, once. */
function startLitert(files) {
  isLoaded ??= (async () => {
    const isRelaxed = await supportsFeature("relaxedSimd");
    const name = `litert/litert_wasm${isRelaxed ? "" : "_compat"}_internal`;
    await fetched(`${CODE}${name}.js`, files);
    self.Module = { wasmBinary: await fetched(`${CODE}${name}.wasm`, files) };
    await loadLiteRt(`${name}.js`);
  })();
  isLoaded.catch(() => (isLoaded = null));
  return isLoaded;
}

export class Model {
  /**
   * Loads an export.
   *
   * @param {string} folder Its folder.
   * @param {object} files Hashes of all files of the site by name.
   */
  static async load(folder, files) {
    const found = new Model();
    const read = (name) => fetched(`${folder}/${name}`, files);
    const texts = JSON.parse(new TextDecoder().decode(await read(TEXTS)));
    const assets = await Promise.all(
      Object.keys(texts.files).map(async (name) => [name, await read(name)]),
    );
    found.texts = new TextPrograms(texts, Object.fromEntries(assets));
    const [search] = await Promise.all([read(SEARCH), startLitert(files)]);
    found.programs = await loadAndCompile(search, { accelerator: "wasm" });
    found.sizes = Object.keys(found.programs.signatures)
      .map((name) => name.split("_1x"))
      .map(([kind, size]) => ({ kind, size: Number(size) }));
    return found;
  }

  /** Returns the outputs of a signature for one text: texts, numbers, lists. */
  async answer(signature, { text, glossary = [] }) {
    const { read, search, write } = this.texts.signatures[signature];
    const whole = (x) => fromText(x.replace(/\p{Cs}/gu, "\ufffd"));
    const lines = glossary.map(whole);
    const found = this.texts.run(read, {
      text: new Tensor([1], [whole(text)]),
      glossary: new Tensor([1, lines.length], lines, "string"),
    });
    const sizes = this.sizes
      .filter(({ kind, size }) => kind === search && size >= found.longest)
      .map(({ size }) => size);
    if (!sizes.length)
      throw new ProgramError(
        `This model has no program of ${found.longest} tokens.`,
      );
    const size = Math.min(...sizes);
    const results = await this.search(`${search}_1x${size}`, found, size);
    for (const [name, x] of Object.entries(results))
      found[`result_${name}`] =
        name === "attention" ? resized(x, found.ids.shape[1], 0) : x;
    const outputs = Object.entries(this.texts.run(write, found));
    return Object.fromEntries(outputs.map(([name, x]) => [name, nested(x)[0]]));
  }

  async search(name, found, size) {
    const program = this.programs.signatures[name];
    const given = {};
    for (const [key, padding] of Object.entries(PADDING))
      if (key in found) {
        const { data } = resized(found[key], size, padding);
        given[key] = new LitertTensor(Int32Array.from(data), [1, size]);
      }
    const results = await program.run(given);
    const shapes = program
      .getOutputDetails()
      .map((x) => [x.name, [...x.shape]]);
    const arrays = shapes.map(([key, shape]) => {
      const data = Array.from(results[key].toTypedArray());
      return [key, new Tensor(shape, data)];
    });
    for (const x of [...Object.values(given), ...Object.values(results)])
      x.delete();
    return Object.fromEntries(arrays);
  }
}

/** Returns an array whose last dimension has a given width. */
function resized(x, width, padding) {
  const own = x.shape.at(-1);
  const rows = Array.from({ length: x.data.length / own }, (_, i) =>
    x.data.slice(i * own, i * own + Math.min(own, width)),
  );
  for (const row of rows) while (row.length < width) row.push(padding);
  return new Tensor(replaced(x.shape, -1, 1, width), rows.flat());
}

/** Returns an array as nested lists. */
function nested({ shape, data }) {
  const [size, ...inner] = shape;
  if (!inner.length)
    return data.map((x) => (typeof x === "string" ? toValidText(x) : x));
  const width = data.length / (size || 1);
  return Array.from({ length: size }, (_, i) =>
    nested({ shape: inner, data: data.slice(i * width, (i + 1) * width) }),
  );
}
