// One experiment with streams from its file to its report.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSolver } from "../contenders/highs.ts";
import { progressOf } from "../conducted.ts";
import type { ConductOptions, Conducted } from "../conducted.ts";
import { toRows } from "../report/csv.ts";
import { describeMachine } from "../run/machine.ts";
import { openStore } from "../run/store.ts";
import type { Verdict } from "../run/verdict.ts";
import { ScenarioError } from "../scenario/errors.ts";
import type { PacketResult } from "./packets.ts";
import { comparison, FOCUS, meanOf, streamReport } from "./report.ts";
import { runStreams, type StreamResult } from "./run.ts";
import { readStreamScenario, type StreamContender, type StreamScenario } from "./scenario.ts";

/** @param text of the scenario's file. Throws ScenarioError before anything starts. */
export async function conductStreams(text: string, options: ConductOptions): Promise<Conducted> {
  const { file, quick, out, command, only } = options;
  const scenario = chosen(readStreamScenario(text, file, quick), options);
  const folder = join(out, quick ? `${scenario.name}-quick` : scenario.name);
  const points = scenario.points.filter(({ labels }) =>
    Object.entries(only).every(([name, value]) => String(labels[name]) === String(value)),
  );
  if (points.length === 0)
    throw new ScenarioError(file, [{ line: 1, message: "points must have the wanted labels, got none" }]);
  const common = {
    scenario,
    points,
    solve: await loadSolver(),
    onProgress: progressOf(options),
    signal: options.signal,
  };
  const model = options.grounds.includes("model")
    ? await runStreams({ ...common, store: openStore<StreamResult>(join(folder, "cells.jsonl")) })
    : NOTHING;
  const packets =
    options.grounds.includes("lab") && scenario.lab !== null
      ? // Processes and namespaces only where they are wanted.
        await (
          await import("./packets.ts")
        ).runPackets({ ...common, store: openStore<PacketResult>(join(folder, "packets.jsonl")) })
      : NOTHING;
  const { results } = model;
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  const machine = describeMachine();
  writeFileSync(
    files.html,
    streamReport({ scenario, results, packets: packets.results, command, quick, machine }),
  );
  writeFileSync(files.csv, csvOf(results));
  if (packets.results.length > 0) writeFileSync(join(folder, "packets.csv"), packetsCsv(packets.results));
  const written = { command, machine, scenario, results, packets: packets.results };
  writeFileSync(files.json, `${JSON.stringify(written, null, 1)}\n`);
  return {
    scenario: { name: scenario.name },
    cells: results.length + packets.results.length,
    measured: model.measured + packets.measured,
    failed: 0,
    verdicts: verdictsOf(scenario, results),
    files,
  };
}

const NOTHING = { results: [], measured: 0 } as const;

function chosen(scenario: StreamScenario, { file, contenders, grounds }: ConductOptions): StreamScenario {
  const refuse = (message: string): never => {
    throw new ScenarioError(file, [{ line: 1, message }]);
  };
  if (grounds.includes("lab") && scenario.lab === null && !grounds.includes("model"))
    refuse("grounds must have model, got lab: the scenario says nothing of a lab");
  if (contenders === undefined) return scenario;
  const wrong = contenders.find((id) => !scenario.contenders.some((known) => known === id));
  if (wrong !== undefined) refuse(`contenders must be of ${scenario.contenders.join(", ")}, got ${wrong}`);
  return { ...scenario, contenders: scenario.contenders.filter((id) => contenders.includes(id)) };
}

/**
 * What a quick run must show: the focus has a higher mean than each other contender that shares the network.
 */
function verdictsOf(scenario: StreamScenario, results: readonly StreamResult[]): Verdict[] {
  const points = scenario.points.filter(({ id }) => results.some(({ point }) => point === id));
  const { contenders, baseline } = scenario;
  if (!contenders.includes(FOCUS) || !contenders.includes(baseline) || baseline === FOCUS) return [];
  if (points.length === 0) return [];
  const mean = (id: string, contender: StreamContender): number =>
    meanOf(results, id, contender, "throughput").mean;
  const isHeld = points.every(({ id }) => mean(id, FOCUS) > mean(id, baseline));
  return [{ isHeld, text: `${scenario.name}: ${comparison(results, points, baseline)}` }];
}

function packetsCsv(results: readonly PacketResult[]): string {
  const axes = [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
  return toRows([
    ["point", ...axes, "contender", "network", "predicted", "measured", "ratios", "hash"],
    ...results.map((result) => [
      result.point,
      ...axes.map((axis) => result.labels[axis] ?? ""),
      result.contender,
      result.network,
      result.predicted,
      result.measured,
      result.ratios.join(" "),
      result.hash,
    ]),
  ]);
}

function csvOf(results: readonly StreamResult[]): string {
  const axes = [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
  const figures = [
    "throughput",
    "p10",
    "worst",
    "sinceSubmission",
    "waited",
    "neverRan",
    "kept",
    "reroutes",
    "moves",
    "decisionMs",
  ] as const;
  return toRows([
    ["point", ...axes, "contender", "network", ...figures, "hash"],
    ...results.map((result) => [
      result.point,
      ...axes.map((axis) => result.labels[axis] ?? ""),
      result.contender,
      result.network,
      ...figures.map((key) => result[key] ?? ""),
      result.hash,
    ]),
  ]);
}
