// Runs the digest table in WebAssembly and prints it. The module imports nothing: what it computes, it computes alone.
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const { table_length: length, table_byte: byte } = instance.exports;
const bytes = Uint8Array.from({ length: length() }, (_, i) => byte(i));
process.stdout.write(new TextDecoder().decode(bytes));
