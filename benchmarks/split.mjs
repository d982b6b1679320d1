// Splits the documents of a JSON file with the npm package, once for each splitter named on standard input.
// Usage: node split.mjs PACKAGE_ENTRY DOCUMENTS_JSON SIZE OVERLAP; answers each line with {wall, cpu, chunks}.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, file, size, overlap] = process.argv.slice(2);
const { split } = await import(pathToFileURL(entry));
const documents = JSON.parse(readFileSync(file, "utf8"));
// the sample splitters of the package's documentation
const splitters = {
  characters: undefined,
  words: (text) => text.split(/\s+/),
  sentences: (text) => text.split(/[.!?]+/),
  lines: (text) => text.split(/\n/),
};

for await (const name of createInterface({ input: process.stdin })) {
  const options = { chunkSize: Number(size), chunkOverlap: Number(overlap), splitter: splitters[name] };
  const cpu = process.cpuUsage();
  const wall = performance.now();
  let chunks = 0;
  for (const document of documents) chunks += split(document, options).length;
  const used = process.cpuUsage(cpu);
  const seconds = (performance.now() - wall) / 1e3;
  console.log(JSON.stringify({ wall: seconds, cpu: (used.user + used.system) / 1e6, chunks }));
}
