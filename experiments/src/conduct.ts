import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { openBill } from "./bill/experiment.ts";
import { Bench } from "./frame/bench.ts";
import {
  refuse,
  type ConductDeps,
  type Conducted,
  type ConductOptions,
  type OpenExperiment,
} from "./frame/experiment.ts";
import { toCsv } from "./frame/rows.ts";
import { openKais } from "./kais/experiment.ts";
import { openWorkflows } from "./workflows/experiment.ts";
import { kindOf, type ScenarioKind } from "./scenario/kinds.ts";
import { readScenarioFile } from "./scenario/read-scenario.ts";
import { openStreamExample } from "./streams/example.ts";
import { openStreams } from "./streams/experiment.ts";

const KINDS: Readonly<Record<ScenarioKind, OpenExperiment>> = {
  workflows: openWorkflows,
  streams: openStreams,
  "streams-example": openStreamExample,
  kais: openKais,
  bill: openBill,
};

/** Throws ScenarioError before anything starts. Rejects with the abort reason; the next run continues. */
export async function conduct(options: ConductOptions, deps: ConductDeps): Promise<Conducted> {
  const text = readScenarioFile(options.file);
  const kind = kindOf(text);
  if (kind !== "kais" && (options.trace !== undefined || options.train === true))
    refuse(options.file, "kind must be kais for --trace and --train");
  const experiment = await KINDS[kind](text, options, deps);
  const path = join(options.out, experiment.folder);
  const bench = new Bench(path, options);
  const about = { command: options.command, quick: options.quick, machine: describeMachine() };
  const { html, rows, tables = {}, json, failed = 0, ...found } = await experiment.run(bench, about);
  mkdirSync(path, { recursive: true });
  const files = {
    html: join(path, "report.html"),
    csv: join(path, "results.csv"),
    json: join(path, "results.json"),
  };
  writeFileSync(files.html, html);
  writeFileSync(files.csv, toCsv(rows));
  for (const [file, others] of Object.entries(tables)) writeFileSync(join(path, file), toCsv(others));
  const { command, machine } = about;
  writeFileSync(files.json, `${JSON.stringify({ command, machine, ...json }, null, 1)}\n`);
  return { scenario: { name: experiment.name }, measured: bench.measured, failed, files, ...found };
}

/** Hardware and software for the report, without the host name. */
function describeMachine(): Readonly<Record<string, string | number>> {
  return {
    processor: cpus()[0]?.model.trim() || "unknown",
    cores: availableParallelism(),
    "memory, GiB": Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    "Node.js": process.version,
  };
}
