// Models that answer in this browser, or on the server of the page.

/** Smallest module with an instruction of SIMD. */
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8,
  0, 65, 0, 253, 15, 253, 98, 11,
];
let worker = null;
let requests = 0;
const waiting = new Map();

function started() {
  if (!globalThis.WebAssembly || !WebAssembly.validate(new Uint8Array(SIMD)))
    throw new Error(
      "This browser lacks WebAssembly with SIMD, which the model " +
        "needs. Use a current Firefox, Chrome, Edge or Safari (16.4 or later).",
    );
  if (worker) return worker;
  worker = new Worker(new URL("worker.js", import.meta.url));
  worker.onmessage = ({ data: { number, outputs, error } }) => {
    const [resolve, reject] = waiting.get(number);
    waiting.delete(number);
    if (error === undefined) resolve(outputs);
    else reject(new Error(error));
  };
  worker.onerror = ({ message }) => {
    const reason = message
      ? `The page cannot answer (${message}). Reload it.`
      : "The page cannot answer: the browser did not load worker.js. Reload it; if that " +
        "does not help, the server's Content-Security-Policy must allow it (worker-src).";
    for (const [, reject] of waiting.values()) reject(new Error(reason));
    waiting.clear();
    worker = null;
  };
  return worker;
}

/** A model that answers in a worker of this page. */
export class InBrowser {
  constructor(model, files) {
    this.model = model;
    this.files = files;
  }

  async load() {
    return this.model;
  }

  answer(texts, lines) {
    const number = requests++;
    const [text] = Object.values(texts);
    const signature = lines.length ? "with_glossary" : "analyse";
    const inputs = { text, glossary: lines };
    const { folder } = this.model;
    return new Promise((resolve, reject) => {
      const { files } = this;
      started().postMessage({ number, folder, files, signature, inputs });
      waiting.set(number, [resolve, reject]);
    });
  }
}

/** A model that answers on the server. */
export class OnServer {
  constructor(model) {
    this.model = model;
  }

  async load() {
    return { ...this.model, ...(await this.post("load", {})) };
  }

  answer(texts, lines) {
    return this.post("answer", { texts, lines });
  }

  async post(method, content) {
    const body = JSON.stringify({ model: this.model.name, ...content });
    const headers = { "Content-Type": "application/json" };
    const request = { method: "POST", headers, body };
    const found = await fetch(`api/${method}`, request).catch(() => null);
    if (!found)
      throw new Error("The server does not answer. Is `tfcopy demo` running?");
    const text = await found.text();
    if (!found.ok) throw new Error(text.trim());
    return JSON.parse(text);
  }
}
