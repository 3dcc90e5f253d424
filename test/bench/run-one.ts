// Child process of run.ts: runs one benchmark file and sends its results to the parent.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BenchResult } from "./types.ts";

const file = process.argv[2];
if (file === undefined) throw new Error("the benchmark file must be the first argument");
const bench = (await import(pathToFileURL(resolve(file)).href)) as { run(): Promise<BenchResult[]> };
const results = await bench.run();
await new Promise<void>((done, failed) => {
  process.send?.(results, undefined, undefined, (error) => (error === null ? done() : failed(error)));
});
process.disconnect();
