// Regular expressions of RE2 as those of JavaScript. Texts hold half characters
// for bytes that are not UTF-8, which nothing matches.

import { ProgramError } from "./tensors.js";

const HALVES = "\\ud800-\\udfff";
const REST = `-\\ud7ff\\ue000-\\u{10ffff}`;
// Classes in brackets; in RE2, they are of ASCII.
const CLASSES = {
  d: "0-9",
  D: `\\x00-\\x2f\\x3a${REST}`,
  s: "\\t\\n\\f\\r\\x20",
  S: `\\x00-\\x08\\x0b\\x0e-\\x1f\\x21${REST}`,
  w: "0-9A-Za-z_",
  W: `\\x00-\\x2f\\x3a-\\x40\\x5b-\\x5e\\x60\\x7b${REST}`,
};
const POSIX = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t\\x20",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "\\x21-\\x7e",
  lower: "a-z",
  print: "\\x20-\\x7e",
  punct: "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
  space: "\\t\\n\\v\\f\\r\\x20",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};
const CONTROLS = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
const TOKEN = new RegExp(
  [
    /\\Q(?<quoted>[^]*?)(?:\\E|$)/,
    /\\[pP](?:\{(?<inverse>\^?)(?<name>\w+)\}|(?<letter>[A-Z]))/,
    /\\(?<set>[dDsSwW])/,
    /\\(?<edge>[AzbB])/,
    /\\x\{(?<wide>[0-9A-Fa-f]+)\}|\\x(?<hex>[0-9A-Fa-f]{2})/,
    /\\(?<octal>0[0-7]{0,2}|[1-7][0-7]{1,2})/,
    /\\(?<control>[aftnrv])/,
    /\\(?<escaped>[^0-9A-Za-z])/,
    /\(\?P?<(?<group>\w+)>/,
    /\(\?(?<on>[ims]*)(?:-(?<off>[ims]+))?(?<end>[:)])/,
    /(?<open>\()(?!\?)/,
    /(?<close>\))/,
    /(?<repeat>[*+?]|\{\d+(?:,\d*)?\})/,
    /(?<class>\[\^?)/,
    /(?<other>[^\\(])/u,
  ]
    .map((x) => x.source)
    .join("|"),
  "uy",
);
const MEMBER = new RegExp(
  [
    /\[:(?<not>\^?)(?<posix>[a-z]+):\]/,
    /\\[pP](?:\{(?<inverse>\^?)(?<name>\w+)\}|(?<letter>[A-Z]))/,
    /\\(?<set>[dDsSwW])/,
    /(?<first>\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\[0-7]{1,3}|\\?[^])/,
  ]
    .map((x) => x.source)
    .join("|"),
  "uy",
);

/** Returns the source of a regular expression of JavaScript, flag `u`. */
export function translated(pattern) {
  const refuse = (at) => {
    const rest = pattern.slice(at, at + 20);
    throw new ProgramError(`no regular expression in JavaScript: ${rest}`);
  };
  let flags = { i: false, m: false, s: false };
  const outer = [];
  let [place, source] = [0, ""];
  while (place < pattern.length) {
    TOKEN.lastIndex = place;
    const { groups: x, 0: token } = TOKEN.exec(pattern) ?? refuse(place);
    const start = place;
    place += token.length;
    if (x.quoted !== undefined)
      source += [...x.quoted].map((y) => single(code(y), flags)).join("");
    else if (x.name || x.letter) source += property(token, x);
    else if (x.set) source += `[${CLASSES[x.set]}]`;
    else if (x.edge) source += { A: "^", z: "$" }[x.edge] ?? token;
    else if (x.group || x.open) {
      outer.push(flags);
      source += x.group ? `(?<${x.group}>` : "(";
    } else if (x.end) {
      if (x.end === ":") outer.push(flags);
      flags = changed(flags, x.on, x.off);
      source += x.end === ":" ? "(?:" : "";
    } else if (x.close) {
      flags = outer.pop() ?? refuse(start);
      source += ")";
    } else if (x.repeat) source += token;
    else if (x.class) {
      const found = bracketed(pattern, place, token !== "[", flags);
      if (found === null) refuse(start);
      source += found.source;
      place = found.place;
    } else if (x.other && "|^$.".includes(token))
      source += symbol(token, flags);
    else source += single(codeOf(token), flags);
  }
  return source;
}

/** Returns the compiled pattern; with `isWhole` it matches whole texts. */
export function compiled(pattern, isWhole) {
  const key = `${isWhole}${pattern}`;
  if (!cache.has(key)) {
    const source = translated(pattern);
    cache.set(key, new RegExp(isWhole ? `^(?:${source})$` : source, "ug"));
  }
  return cache.get(key);
}
const cache = new Map();

const code = (text) => text.codePointAt(0);
const written = (n) => `\\u{${n.toString(16)}}`;

function changed(flags, on, off) {
  const found = { ...flags };
  for (const x of on) found[x] = true;
  for (const x of off ?? "") found[x] = false;
  return found;
}

function symbol(token, flags) {
  if (token === ".") return flags.s ? `[^${HALVES}]` : `[^\\n${HALVES}]`;
  if (flags.m && token === "^") return "(?<![^\\n])";
  if (flags.m && token === "$") return "(?![^\\n])";
  return token;
}

function property(token, { name = "", letter = "", inverse = "" }) {
  const what = name || letter;
  const is = (token[1] === "p") === !inverse ? "\\p" : "\\P";
  if (what === "Any") return `${is}{Any}`;
  return `${is}{${what.length > 2 ? "Script" : "gc"}=${what}}`;
}

/** Returns the code of a character, which may be escaped. */
function codeOf(token) {
  if (token[0] !== "\\" || token.length === 1) return code(token);
  const digits = token.match(/^\\x\{?([0-9A-Fa-f]+)/);
  if (digits) return parseInt(digits[1], 16);
  if (/^\\[0-7]/.test(token)) return parseInt(token.slice(1), 8);
  return CONTROLS[token[1]] ?? code(token.slice(1));
}

/** Returns a character; in both cases, if `i` is set. */
function single(n, flags) {
  return flags.i ? `[${members(n, n, flags)}]` : written(n);
}

/** Returns what brackets hold of the characters from one to another. */
function members(first, last, flags) {
  const parts = [];
  const add = (a, b) => {
    if (a <= b)
      parts.push(a === b ? written(a) : `${written(a)}-${written(b)}`);
  };
  add(first, Math.min(last, 0xd7ff));
  add(Math.max(first, 0xe000), last);
  if (flags.i) {
    const shift = (a, b, by) =>
      add(Math.max(first, a) + by, Math.min(last, b) + by);
    shift(0x41, 0x5a, 32);
    shift(0x61, 0x7a, -32);
    if (last > 0x7f) throw new ProgramError("(?i) is for ASCII alone");
    for (const [letter, folded] of [
      [0x4b, 0x212a],
      [0x53, 0x17f],
    ])
      if ([letter, letter + 32].some((x) => first <= x && x <= last))
        add(folded, folded);
  }
  return parts.join("");
}

/** Returns a class in brackets, from its first member, and its end. */
function bracketed(pattern, start, isNegated, flags) {
  let [place, source] = [start, ""];
  const next = () => {
    MEMBER.lastIndex = place;
    const found = MEMBER.exec(pattern);
    if (found) place += found[0].length;
    return found;
  };
  while (place === start || pattern[place] !== "]") {
    const found = next();
    if (!found) return null;
    const x = found.groups;
    if (x.posix) {
      if (x.not || !POSIX[x.posix]) return null;
      source += POSIX[x.posix];
    } else if (x.set) source += CLASSES[x.set];
    else if (x.name || x.letter) source += property(found[0], x);
    else {
      if (/^\\[A-Zb-eg-qsuwyz]/.test(x.first)) return null;
      const first = codeOf(x.first);
      let last = first;
      if (
        pattern[place] === "-" &&
        ![undefined, "]"].includes(pattern[place + 1])
      ) {
        place += 1;
        last = codeOf(next().groups.first ?? "\0");
      }
      if (last < first) return null;
      source += members(first, last, flags);
    }
  }
  place += 1;
  return { source: isNegated ? `[^${source}${HALVES}]` : `[${source}]`, place };
}
