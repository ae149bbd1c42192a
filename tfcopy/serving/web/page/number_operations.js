// Operations of numbers, truth values, shapes and places; see
// tfcopy/runtime/number_operations.py for what each computes.

import {
  ProgramError,
  Tensor,
  broadcastShape,
  dataOf,
  elementwise,
  offsets,
  range,
  replaced,
  shapeOf,
  sizeOf,
  spread,
  strides,
  taken,
  tensor,
  value,
  vector,
  zero,
} from "./tensors.js";

export const NUMBERS = {};

// Results of float32; those of integers are whole.
const rounded = (x) => (Number.isInteger(x) ? x : Math.fround(x));

const BINARY = {
  AddV2: (x, y) => rounded(x + y),
  Sub: (x, y) => rounded(x - y),
  Mul: (x, y) => rounded(x * y),
  FloorDiv: (x, y) => Math.floor(x / y),
  FloorMod: (x, y) => ((x % y) + y) % y,
  Greater: (x, y) => x > y,
  GreaterEqual: (x, y) => x >= y,
  Less: (x, y) => x < y,
  LessEqual: (x, y) => x <= y,
  Equal: (x, y) => x === y,
  NotEqual: (x, y) => x !== y,
  LogicalAnd: (x, y) => x && y,
  LogicalOr: (x, y) => x || y,
  Maximum: (x, y) => Math.max(x, y),
  Minimum: (x, y) => Math.min(x, y),
  LogicalNot: (x) => !x,
  Neg: (x) => -x,
  SelectV2: (condition, x, y) => (condition ? x : y),
};
for (const [name, f] of Object.entries(BINARY))
  NUMBERS[name] = (_, ...values) => elementwise(f, ...values);

const CASTS = { bool: Boolean, float32: (x) => Math.fround(Number(x)) };

NUMBERS.Cast = ({ DstT }, x) =>
  elementwise(CASTS[DstT] ?? ((y) => Math.trunc(Number(y))), x);

const REDUCTIONS = {
  Max: [(x, y) => Math.max(x, y), -(2 ** 63)],
  Min: [(x, y) => Math.min(x, y), 2 ** 63],
  Sum: [(x, y) => rounded(x + Number(y)), 0],
  Prod: [(x, y) => x * y, 1],
  Any: [(x, y) => x || y, false],
  All: [(x, y) => x && y, true],
};
for (const [name, [f, first]] of Object.entries(REDUCTIONS))
  NUMBERS[name] = ({ keep_dims }, x, axes) => {
    x = tensor(x);
    const last = x.shape.length;
    const gone = new Set(dataOf(axes).map((i) => (i < 0 ? i + last : i)));
    if (!gone.size) return value(x);
    const kept = x.shape.map((n, i) => (gone.has(i) ? 1 : n));
    const steps = strides(kept).map((n, i) => (gone.has(i) ? 0 : n));
    const data = new Array(sizeOf(kept)).fill(first);
    offsets(x.shape, steps).forEach((to, i) => {
      data[to] = f(data[to], x.data[i]);
    });
    const shape = keep_dims ? kept : kept.filter((_, i) => !gone.has(i));
    return value(new Tensor(shape, data));
  };

/** Applies a function to the rows along an axis: arrays in, arrays out. */
function alongAxis(x, axis, f) {
  if (axis < 0) axis += x.shape.length;
  const step = strides(x.shape)[axis];
  const ends = x.shape.map((n, i) => (i === axis ? 1 : n));
  const places = range(x.shape[axis]).map((i) => i * step);
  const starts = offsets(ends, strides(x.shape));
  return starts.map((start) => f(places.map((i) => x.data[start + i])));
}

const placeOf = (best) => (_, x, axis) => {
  const found = alongAxis(x, axis, (row) => row.indexOf(best(...row)));
  return value(new Tensor(replaced(x.shape, axis, 1), found));
};
NUMBERS.ArgMax = placeOf(Math.max);
NUMBERS.ArgMin = placeOf(Math.min);

NUMBERS.Cumsum = ({ exclusive, reverse }, x, axis) => {
  if (axis < 0) axis += x.shape.length;
  if (axis !== x.shape.length - 1 || reverse)
    throw new ProgramError("it sums along an axis that no export does");
  const data = alongAxis(x, axis, (row) => {
    let sum = 0;
    return row.map(
      (n) => ((sum = rounded(sum + n)), exclusive ? sum - n : sum),
    );
  });
  return new Tensor(x.shape, data.flat());
};

NUMBERS.DenseBincount = (_, x, size) => {
  const data = new Array(size).fill(0);
  for (const n of dataOf(x)) if (n < size) data[n]++;
  return vector(data);
};

NUMBERS.TopKV2 = (_, x, k) => {
  const all = alongAxis(x, -1, (row) =>
    range(row.length)
      .sort((a, b) => row[b] - row[a] || a - b)
      .slice(0, k),
  );
  const width = x.shape.at(-1);
  const shape = replaced(x.shape, -1, 1, Math.min(k, width));
  const found = all.flatMap((row, i) => row.map((j) => x.data[i * width + j]));
  return [new Tensor(shape, found), new Tensor(shape, all.flat())];
};

const bounds = (isBefore) => (_, rows, values) => {
  const [width, each] = [rows.shape[1], values.shape[1]];
  const data = values.data.map((n, i) => {
    let [low, high] = [0, width];
    const start = Math.floor(i / each) * width;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(rows.data[start + middle], n)) low = middle + 1;
      else high = middle;
    }
    return low;
  });
  return new Tensor(values.shape, data);
};
NUMBERS.LowerBound = bounds((x, y) => x < y);
NUMBERS.UpperBound = bounds((x, y) => x <= y);

const ofSegments = (f, first) => (_, x, segments, count) => {
  const data = new Array(count).fill(first);
  x.data.forEach((n, i) => {
    const to = segments.data[i];
    if (to >= 0) data[to] = f(data[to], n);
  });
  return vector(data);
};
NUMBERS.UnsortedSegmentMin = ofSegments(Math.min, 2 ** 63);
NUMBERS.UnsortedSegmentSum = ofSegments((x, y) => rounded(x + y), 0);

NUMBERS.Unique = (_, x) => {
  const numbers = new Map();
  const found = x.data.map((y) => {
    if (!numbers.has(y)) numbers.set(y, numbers.size);
    return numbers.get(y);
  });
  return [vector([...numbers.keys()], x.kind), vector(found)];
};

// Shapes and places.

NUMBERS.Identity = NUMBERS.StopGradient = NUMBERS.EnsureShape = (_, x) => x;
NUMBERS.Size = (_, x) => dataOf(x).length;
NUMBERS.Shape = (_, x) => vector(shapeOf(x));
NUMBERS.Rank = (_, x) => shapeOf(x).length;
NUMBERS.Fill = (_, shape, x) => filled(dataOf(shape), x);
NUMBERS.ZerosLike = (_, x) => filled(shapeOf(x), zero(tensor(x).kind));
NUMBERS.ExpandDims = (_, x, axis) => {
  const shape = shapeOf(x);
  if (axis < 0) axis += shape.length + 1;
  return new Tensor(replaced(shape, axis, 0, 1), dataOf(x), tensor(x).kind);
};

NUMBERS.BroadcastTo = (_, x, shape) =>
  value(new Tensor(dataOf(shape), spread(x, dataOf(shape)), tensor(x).kind));

const filled = (shape, x) =>
  value(new Tensor(shape, new Array(sizeOf(shape)).fill(x), typeof x));

NUMBERS.Range = (_, start, limit, delta) => {
  const size = Math.max(0, Math.ceil((limit - start) / delta));
  return vector(range(size).map((i) => start + i * delta));
};

NUMBERS.Reshape = (_, x, wanted) => {
  let shape = dataOf(wanted);
  const [data, { kind }] = [dataOf(x), tensor(x)];
  if (shape.includes(-1)) {
    // As in TensorFlow, dimensions of 0 count only if all elements are known.
    const known = (sizes) => sizeOf(sizes.filter((n) => n > 0));
    const size = data.length || (shape.includes(0) ? known(shapeOf(x)) : 0);
    shape = shape.map((n) => (n === -1 ? Math.floor(size / known(shape)) : n));
  }
  if (sizeOf(shape) !== data.length)
    throw new ProgramError(`no shape of ${data.length} elements: ${shape}`);
  return value(new Tensor(shape, data, kind));
};

NUMBERS.Transpose = (_, x, order) => {
  const steps = strides(x.shape);
  const axes = order.data.map((i) =>
    range(x.shape[i]).map((j) => j * steps[i]),
  );
  return taken(
    x,
    axes,
    order.data.map((i) => x.shape[i]),
  );
};

NUMBERS.Squeeze = ({ squeeze_dims: axes }, x) => {
  const gone = axes.map((i) => (i < 0 ? i + x.shape.length : i));
  const isGone = (n, i) => (gone.length ? gone.includes(i) : n === 1);
  const shape = x.shape.filter((n, i) => !isGone(n, i));
  return value(new Tensor(shape, x.data, x.kind));
};

NUMBERS.Pack = ({ axis = 0 }, ...values) =>
  concatenated(
    values.map((x) => NUMBERS.ExpandDims({}, x, axis)),
    axis,
  );

NUMBERS.Unpack = ({ num, axis = 0 }, x) =>
  range(num).map((i) => NUMBERS.GatherV2({}, x, i, axis));

NUMBERS.ConcatV2 = (_, ...values) => concatenated(values, values.pop());

function concatenated(values, axis) {
  const { shape } = values[0];
  if (axis < 0) axis += shape.length;
  const kind = values.find((x) => x.data.length)?.kind ?? values[0].kind;
  const sizes = values.map((x) => sizeOf(x.shape.slice(axis)));
  const data = range(sizeOf(shape.slice(0, axis))).flatMap((i) =>
    values.flatMap((x, k) => x.data.slice(i * sizes[k], (i + 1) * sizes[k])),
  );
  const width = values.reduce((n, x) => n + x.shape[axis], 0);
  return new Tensor(replaced(shape, axis, 1, width), data, kind);
}

NUMBERS.Tile = (_, x, times) => {
  x = tensor(x);
  const steps = strides(x.shape);
  const axes = x.shape.map((n, i) =>
    range(n * times.data[i]).map((j) => (j % n) * steps[i]),
  );
  return taken(
    x,
    axes,
    axes.map((axis) => axis.length),
  );
};

NUMBERS.Pad = NUMBERS.PadV2 = (_, x, widths, padding = zero(x.kind)) => {
  const before = x.shape.map((_, i) => widths.data[2 * i]);
  const shape = x.shape.map((n, i) => n + before[i] + widths.data[2 * i + 1]);
  const found = filled(shape, padding);
  const steps = strides(shape);
  const start = before.reduce((sum, n, i) => sum + n * steps[i], 0);
  found.kind = x.kind;
  offsets(x.shape, steps).forEach((to, i) => {
    found.data[start + to] = x.data[i];
  });
  return found;
};

NUMBERS.StridedSlice = (masks, x, begins, ends, steps) => {
  x = tensor(x);
  const has = (name, i) => (masks[`${name}_mask`] >> i) & 1;
  const given = range(begins.data.length);
  const isAxis = (i) => !has("new_axis", i) && !has("ellipsis", i);
  const missing = x.shape.length - given.filter(isAxis).length;
  const own = strides(x.shape);
  const [shape, axes] = [[], []];
  const take = (indices, isKept = true) => {
    const step = own[axes.length];
    if (isKept) shape.push(indices.length);
    axes.push(indices.map((i) => i * step));
  };
  const takeAll = () => take(range(x.shape[axes.length]));
  for (const i of given) {
    if (has("ellipsis", i)) range(missing).forEach(takeAll);
    else if (has("new_axis", i)) shape.push(1);
    else if (has("shrink_axis", i))
      take(
        [begins.data[i] + (begins.data[i] < 0) * x.shape[axes.length]],
        false,
      );
    else {
      const first = has("begin", i) ? null : begins.data[i];
      const last = has("end", i) ? null : ends.data[i];
      take(sliced(x.shape[axes.length], first, last, steps.data[i]));
    }
  }
  while (axes.length < x.shape.length) takeAll();
  return taken(x, axes, shape);
};

/** Returns the numbers of a slice, as Python has it; `null` for an open end. */
function sliced(size, first, last, step) {
  const [lowest, highest] = step > 0 ? [0, size] : [-1, size - 1];
  const within = (i) =>
    Math.min(highest, Math.max(lowest, i < 0 ? i + size : i));
  const start = first === null ? (step > 0 ? 0 : size - 1) : within(first);
  const end = last === null ? (step > 0 ? size : -1) : within(last);
  const count = Math.max(0, Math.ceil((end - start) / step));
  return range(count).map((i) => start + i * step);
}

NUMBERS.GatherV2 = ({ batch_dims = 0 }, x, at, axis = 0) => {
  if (axis < 0) axis += x.shape.length;
  const steps = strides(x.shape);
  const size = x.shape[axis];
  const index = (i) => {
    if (!(i < size && i >= -size)) throw new ProgramError(`no element ${i}`);
    return (i < 0 ? i + size : i) * steps[axis];
  };
  const after = x.shape.slice(axis + 1);
  const inner = offsets(after, steps.slice(axis + 1));
  const shape = [
    ...x.shape.slice(0, axis),
    ...shapeOf(at).slice(batch_dims),
    ...after,
  ];
  const outer = offsets(x.shape.slice(0, axis), steps);
  const each = sizeOf(shapeOf(at).slice(batch_dims));
  const data = [];
  outer.forEach((start, row) => {
    const from = batch_dims ? row * each : 0;
    for (let k = from; k < from + each; k++) {
      const place = start + index(dataOf(at)[k]);
      for (const i of inner) data.push(x.data[place + i]);
    }
  });
  return value(new Tensor(shape, data, x.kind));
};

NUMBERS.TensorScatterUpdate = (_, x, at, values) => {
  const data = x.data.slice();
  const depth = at.shape.at(-1);
  const steps = strides(x.shape);
  const size = sizeOf(x.shape.slice(depth));
  range(at.data.length / depth).forEach((row) => {
    const place = range(depth).reduce(
      (sum, i) => sum + at.data[row * depth + i] * steps[i],
      0,
    );
    for (let i = 0; i < size; i++)
      data[place + i] = values.data[row * size + i];
  });
  return new Tensor(x.shape, data, x.kind);
};

NUMBERS.Where = (_, x) => {
  const steps = strides(x.shape);
  const found = range(x.data.length).filter((i) => x.data[i]);
  const data = found.flatMap((i) =>
    steps.map((step, k) => Math.floor(i / step) % x.shape[k]),
  );
  return new Tensor([found.length, x.shape.length], data, "number");
};

// Ragged tensors: rows of different lengths, one after the other.

export function splitsOf(lengths) {
  let end = 0;
  return [0, ...lengths.map((n) => (end += n))];
}

NUMBERS.RaggedRange = (_, starts, limits, deltas) => {
  if (dataOf(deltas).some((n) => n !== 1))
    throw new ProgramError("it counts by other steps than 1");
  const shape = broadcastShape([1], shapeOf(starts), shapeOf(limits));
  const [first, last] = [starts, limits].map((x) => spread(x, shape));
  const lengths = first.map((n, i) => Math.max(0, last[i] - n));
  const values = first.flatMap((n, i) => range(lengths[i]).map((j) => n + j));
  return [vector(splitsOf(lengths)), vector(values)];
};

NUMBERS.RaggedGather = (_, splits, values, at) => {
  const rows = dataOf(at).map((i) =>
    values.data.slice(splits.data[i], splits.data[i + 1]),
  );
  const found = vector(rows.flat(), values.kind);
  return [vector(splitsOf(rows.map((row) => row.length))), found];
};

NUMBERS.RaggedTensorToTensor = (
  attributes,
  wanted,
  values,
  padding,
  ...parts
) => {
  const rows = rowNumbers(attributes.row_partition_types, parts);
  const lengths = new Array(rows.count).fill(0);
  const column = rows.numbers.map((row) => lengths[row]++);
  const size = sizeOf(values.shape.slice(1));
  const given = shapeOf(wanted).length ? wanted.data : [];
  const natural = [
    rows.count,
    Math.max(0, ...lengths),
    ...values.shape.slice(1),
  ];
  const shape = natural.map((n, i) => ((given[i] ?? -1) < 0 ? n : given[i]));
  const found = filled(shape, padding);
  found.kind = values.kind;
  rows.numbers.forEach((row, i) => {
    if (row >= shape[0] || column[i] >= shape[1]) return;
    const to = (row * shape[1] + column[i]) * size;
    for (let k = 0; k < size; k++)
      found.data[to + k] = values.data[i * size + k];
  });
  return found;
};

/** Returns the row of each value of a ragged tensor, and the count of rows. */
function rowNumbers(kinds, parts) {
  if (String(kinds) === "ROW_SPLITS") {
    const splits = parts[0].data;
    const lengths = splits.slice(1).map((end, i) => end - splits[i]);
    const numbers = lengths.flatMap((n, row) => new Array(n).fill(row));
    return { numbers, count: lengths.length };
  }
  if (String(kinds) === "FIRST_DIM_SIZE,VALUE_ROWIDS")
    return { numbers: parts[1].data, count: parts[0] };
  throw new ProgramError(`it has rows of rows (${kinds})`);
}

// Lists of values, in loops.

NUMBERS.TensorListFromTensor = (_, x) =>
  range(x.shape[0]).map((i) => NUMBERS.GatherV2({}, x, i));
NUMBERS.TensorListReserve = (_, shape, size) => new Array(size).fill(null);
NUMBERS.TensorListGetItem = (_, values, i) => values[i];
NUMBERS.TensorListSetItem = (_, values, i, x) => replaced(values, i, 1, x);
NUMBERS.TensorListStack = ({ element_dtype }, values, shape) => {
  if (values.length) return NUMBERS.Pack({}, ...values);
  const kind = { string: "string", bool: "boolean" }[element_dtype] ?? "number";
  return new Tensor([0, ...dataOf(shape)], [], kind);
};
