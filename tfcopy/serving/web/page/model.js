// An export that answers in the browser: functions of texts around a search by
// LiteRT.js; see LitertEngine in tfcopy/runtime/litert_engine.py.

import { CODE, fetched } from "./files.js";
import {
  Tensor,
  loadAndCompile,
  loadLiteRt,
  supportsFeature,
} from "./litert/index.js";
import { TextFunctions } from "./text_functions.js";

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
    found.texts = new TextFunctions(texts, Object.fromEntries(assets));
    const [search] = await Promise.all([read(SEARCH), startLitert(files)]);
    found.programs = await loadAndCompile(search, { accelerator: "wasm" });
    found.sizes = Object.keys(found.programs.signatures)
      .map((name) => name.split("_1x"))
      .map(([kind, size]) => ({ kind, size: Number(size) }));
    return found;
  }

  /** Returns the outputs of a signature for one text: texts, numbers, lists. */
  async answer(signature, { text, glossary = [] }) {
    const kind = this.texts.kinds[signature];
    const whole = (x) => x.replace(/\p{Cs}/gu, "\ufffd");
    const lines = signature === "with_glossary" ? glossary.map(whole) : null;
    const source = this.texts.read(whole(text), lines);
    const sizes = this.sizes
      .filter((x) => x.kind === kind && x.size >= source.ids.length)
      .map(({ size }) => size);
    if (!sizes.length)
      throw new Error(
        `This model has no program of ${source.ids.length} tokens.`,
      );
    const size = Math.min(...sizes);
    const result = await this.search(`${kind}_1x${size}`, source, size);
    return this.texts.write(signature, source, result);
  }

  async search(name, source, size) {
    const program = this.programs.signatures[name];
    const given = {};
    for (const [key, padding] of Object.entries(PADDING))
      if (source[key]) {
        const data = new Int32Array(size).fill(padding);
        data.set(source[key]);
        given[key] = new Tensor(data, [1, size]);
      }
    const results = await program.run(given);
    const found = program
      .getOutputDetails()
      .map(({ name, shape }) => [
        name,
        nested(Array.from(results[name].toTypedArray()), [...shape])[0],
      ]);
    for (const x of [...Object.values(given), ...Object.values(results)])
      x.delete();
    return Object.fromEntries(found);
  }
}

/** Returns the elements of an array as nested lists. */
function nested(data, [size, ...inner]) {
  if (!inner.length) return data;
  const width = data.length / size;
  return Array.from({ length: size }, (_, i) =>
    nested(data.slice(i * width, (i + 1) * width), inner),
  );
}
