// Bytes as strings with one character for each byte, so that slices, lengths
// and comparisons are those of bytes.

const UTF8 = new RegExp(
  "[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]" +
    "|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|\\xed[\\x80-\\x9f][\\x80-\\xbf]" +
    "|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}" +
    "|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}|[\\x80-\\xff]",
  "g",
);
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the bytes of an array as a string. */
export function fromArray(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i += 8192)
    parts.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  return parts.join("");
}

/** Decodes UTF-8; other bytes become half characters, as in Python. */
export function toText(bytes) {
  return bytes.replace(UTF8, (found) => {
    if (found.length === 1)
      return String.fromCharCode(0xdc00 + found.charCodeAt(0));
    let code = found.charCodeAt(0) & (0xff >> (found.length + 1));
    for (let i = 1; i < found.length; i++)
      code = (code << 6) | (found.charCodeAt(i) & 63);
    return String.fromCodePoint(code);
  });
}

/** Encodes a text that `toText` returns, or any other, in UTF-8. */
export function fromText(text) {
  return text.replace(/[^\x00-\x7f]/gu, (character) => {
    const code = character.codePointAt(0);
    if (code >= 0xdc80 && code < 0xdd00)
      return String.fromCharCode(code - 0xdc00);
    if (code < 0x800)
      return String.fromCharCode(0xc0 | (code >> 6), 0x80 | (code & 63));
    const last = [0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
    if (code < 0x10000)
      return String.fromCharCode(0xe0 | (code >> 12), ...last);
    const first = [0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63)];
    return String.fromCharCode(...first, ...last);
  });
}

/** Decodes UTF-8; other bytes become U+FFFD. */
export function toValidText(bytes) {
  return decoder.decode(Uint8Array.from(bytes, (x) => x.charCodeAt(0)));
}
