// Cuts texts into subwords and joins subwords, JSON on standard input.

import { readFileSync } from "node:fs";

const page = "../../../tfcopy/serving/web/page/";
const { SentencePiece } = await import(`${page}sentencepiece.js`);

const { model, texts, rows } = JSON.parse(readFileSync(0));
const subwords = new SentencePiece(new Uint8Array(readFileSync(model)));
const cut = texts.map((text) => subwords.encode(text));
const joined = rows.map((row) => subwords.decode(row));
process.stdout.write(JSON.stringify({ cut, joined }));
