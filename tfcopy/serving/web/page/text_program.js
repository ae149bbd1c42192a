// Functions of texts: the file `texts.json`, which
// tfcopy/runtime/text_program.py describes.

import { fromArray, fromText } from "./byte_strings.js";
import { NUMBERS } from "./number_operations.js";
import { SentencePiece } from "./sentencepiece.js";
import { ProgramError, Tensor } from "./tensors.js";
import { TEXTS } from "./text_operations.js";

export const FORMAT = 1;
const OPERATIONS = { ...NUMBERS, ...TEXTS };
const CALLS = {
  If: ["then_branch", "else_branch"],
  StatelessIf: ["then_branch", "else_branch"],
  While: ["cond", "body"],
  StatelessWhile: ["cond", "body"],
  PartitionedCall: ["f"],
  StatefulPartitionedCall: ["f"],
};
const CONSTANTS = {
  Const: ({ value }) => decoded(value),
  Pieces: ({ file }, files) => new SentencePiece(files[file]),
  Table: table,
};

/** Returns a value from JSON. */
export function decoded(x) {
  if (typeof x === "string") return fromText(x);
  if (x === null || typeof x !== "object")
    return Number.isInteger(x) || x === true || x === false
      ? x
      : Math.fround(x);
  const kinds = { string: fromText, float32: Math.fround, bool: Boolean };
  const change = kinds[x.dtype] ?? Number;
  return new Tensor(
    x.shape,
    x.values.map((y) => change(y)),
    typeof change(""),
  );
}

/** Returns a table: of its entries, or of the lines of a vocabulary. */
function table(attributes, files) {
  if (!("file" in attributes)) {
    const [keys, values] = [attributes.keys, attributes.values].map(decoded);
    return new Map(keys.data.map((key, i) => [key, values.data[i]]));
  }
  const lines = fromArray(files[attributes.file]).split("\n");
  if (!lines.at(-1)) lines.pop();
  if (attributes.keys === "numbers") return new Map(lines.entries());
  return new Map(lines.map((line, i) => [line, i]));
}

export class TextPrograms {
  /**
   * @param {object} content The file.
   * @param {object} files The bytes of the files that it names.
   */
  constructor(content, files) {
    if (content.format !== FORMAT)
      throw new ProgramError(
        `texts.json is of another release: ${content.format}`,
      );
    this.signatures = content.signatures;
    this.described = content.functions;
    this.files = files;
    this.functions = {};
  }

  /** Runs a function on a dict of inputs, and returns a dict of outputs. */
  run(name, inputs) {
    const { inputs: wanted, outputs } = this.described[name];
    const found = this.function(name)(...wanted.map((x) => inputs[x]));
    return Object.fromEntries(
      Object.keys(outputs).map((x, i) => [x, found[i]]),
    );
  }

  /** Returns a function, with the steps that it calls. */
  function(name) {
    this.functions[name] ??= compiled(this.described[name], this);
    return this.functions[name];
  }
}

function compiled({ inputs, outputs, size, steps }, programs) {
  const constants = new Array(size);
  const todo = [];
  for (const [name, places, attributes, results] of steps) {
    if (name in CONSTANTS)
      constants[results[0]] = CONSTANTS[name](attributes, programs.files);
    else if (name in CALLS) {
      const called = CALLS[name].map((x) => programs.function(attributes[x]));
      todo.push({ f: call(name, called), places, results, isOne: false });
    } else {
      const f = OPERATIONS[name];
      if (!f) throw new ProgramError(`there is no operation ${name}`);
      const isOne = results.length === 1 && name !== "Unpack";
      todo.push({
        f: (...given) => f(attributes, ...given),
        places,
        results,
        isOne,
      });
    }
  }
  const wanted = Array.isArray(outputs) ? outputs : Object.values(outputs);
  return (...given) => {
    const values = constants.slice();
    given.forEach((x, i) => (values[i] = x));
    for (const { f, places, results, isOne } of todo) {
      const found = f(...places.map((i) => values[i]));
      if (isOne) values[results[0]] = found;
      else results.forEach((i, k) => (values[i] = found[k]));
    }
    return inputs.length === given.length ? wanted.map((i) => values[i]) : null;
  };
}

function call(name, [first, second]) {
  if (!second) return first;
  if (name.endsWith("If"))
    return (condition, ...given) => (condition ? first : second)(...given);
  return (...state) => {
    while (first(...state)[0]) state = second(...state);
    return state;
  };
}
