// Answers off the page's thread. A classic worker, since LiteRT.js loads its
// WebAssembly by `importScripts`.

const models = new Map();

async function answer({ folder, files, signature, inputs }) {
  if (!models.has(folder)) {
    const loading = load(folder, files);
    models.set(folder, loading);
    loading.catch(() => models.delete(folder));
  }
  return (await models.get(folder)).answer(signature, inputs);
}

async function load(folder, files) {
  const { fetched } = await import("./files.js");
  const isOurs = (name) => /^(?!.*litert_wasm).*\.js$/.test(name);
  const code = Object.keys(files).filter(isOurs);
  await Promise.all(code.map((name) => fetched(name, files)));
  const { Model } = await import("./model.js");
  return Model.load(folder, files);
}

self.onmessage = async ({ data: { number, ...request } }) => {
  try {
    self.postMessage({ number, outputs: await answer(request) });
  } catch (error) {
    self.postMessage({ number, error: error.message });
  }
};
