// Arrays with a shape, as NumPy has them. Values without a shape are numbers,
// booleans, and strings of bytes.

export class ProgramError extends Error {}

export class Tensor {
  /**
   * @param {number[]} shape
   * @param {Array} data The elements, row by row.
   * @param {string} kind Type of the elements, if there may be none.
   */
  constructor(shape, data, kind = typeof data[0]) {
    this.shape = shape;
    this.data = data;
    this.kind = kind;
  }
}

export const vector = (data, kind) => new Tensor([data.length], data, kind);
export const shapeOf = (x) => (x instanceof Tensor ? x.shape : []);
export const dataOf = (x) => (x instanceof Tensor ? x.data : [x]);
export const tensor = (x) => (x instanceof Tensor ? x : new Tensor([], [x]));
export const value = (x) => (x.shape.length ? x : x.data[0]);
export const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
export const zero = (kind) => ({ string: "", boolean: false })[kind] ?? 0;

/** Returns a list with some of its elements replaced. */
export function replaced(list, start, count, ...more) {
  const found = list.slice();
  found.splice(start, count, ...more);
  return found;
}

/** Returns `0, 1, ...`. */
export const range = (n) => Array.from({ length: n }, (_, i) => i);

export function strides(shape) {
  const found = shape.map(() => 1);
  for (let i = shape.length - 2; i >= 0; i--)
    found[i] = found[i + 1] * shape[i + 1];
  return found;
}

/** Returns all sums of one offset of each axis, row by row. */
export function places(axes) {
  let found = [0];
  for (const axis of axes) {
    const next = new Array(found.length * axis.length);
    let i = 0;
    for (const start of found)
      for (const offset of axis) next[i++] = start + offset;
    found = next;
  }
  return found;
}

/** Returns the elements at all combinations of offsets. */
export function taken(x, axes, shape) {
  const data = places(axes).map((i) => x.data[i]);
  return value(new Tensor(shape, data, x.kind));
}

/** Returns the offsets of an array's elements, given those of its axes. */
export const offsets = (shape, steps) =>
  places(shape.map((n, i) => range(n).map((j) => j * steps[i])));

export function broadcastShape(...shapes) {
  const found = [];
  for (let i = 1; i <= Math.max(...shapes.map((x) => x.length)); i++) {
    const sizes = shapes.map((x) => x.at(-i) ?? 1);
    const size = sizes.find((n) => n !== 1) ?? 1;
    if (sizes.some((n) => n !== 1 && n !== size))
      throw new ProgramError(`shapes do not fit: ${JSON.stringify(shapes)}`);
    found.unshift(size);
  }
  return found;
}

/** Returns the elements of a value, repeated to a shape. */
export function spread(x, shape) {
  if (!(x instanceof Tensor)) return new Array(sizeOf(shape)).fill(x);
  if (String(x.shape) === String(shape)) return x.data;
  const more = shape.length - x.shape.length;
  const own = [...new Array(more).fill(0), ...strides(x.shape)];
  const steps = own.map((n, i) => (x.shape[i - more] > 1 ? n : 0));
  return offsets(shape, steps).map((i) => x.data[i]);
}

/** Applies a function to the elements of values of fitting shapes. */
export function elementwise(f, ...values) {
  if (!values.some((x) => x instanceof Tensor)) return f(...values);
  const shape = broadcastShape(...values.map(shapeOf));
  const all = values.map((x) => spread(x, shape));
  const data = all[0].map((_, i) => f(...all.map((x) => x[i])));
  return new Tensor(shape, data, typeof (data[0] ?? f(...values.map(blank))));
}

const blank = (x) => (x instanceof Tensor ? zero(x.kind) : x);
