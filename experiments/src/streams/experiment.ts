import { loadSolver } from "../contenders/highs.ts";
import {
  chosenContenders,
  chosenPoints,
  folderOf,
  refuse,
  type ConductOptions,
  type Experiment,
  type Verdict,
} from "../frame/experiment.ts";
import { meanOf } from "../frame/figures.ts";
import { rowsOf } from "../frame/rows.ts";
import { streamCells, type StreamResult } from "./cells.ts";
import type { PacketResult } from "./packets.ts";
import { comparison, FOCUS, streamReport } from "./report.ts";
import { readStreamScenario, type StreamContender, type StreamScenario } from "./scenario.ts";

const COLUMNS = [
  "contender",
  "network",
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
  "hash",
] as const;
const PACKET_COLUMNS = ["contender", "network", "predicted", "measured", "ratios", "hash"] as const;

export function openStreams(text: string, options: ConductOptions): Experiment {
  const { file, quick, grounds } = options;
  const read = readStreamScenario(text, file, quick);
  if (!grounds.includes("model") && read.lab === null)
    refuse(file, "grounds must have model, got lab: the scenario says nothing of a lab");
  const scenario = { ...read, contenders: chosenContenders(read.contenders, options) };
  const points = chosenPoints(scenario.points, options);
  return {
    name: scenario.name,
    folder: folderOf(scenario.name, options),
    async run(bench, about) {
      const cells = { scenario, points, solve: await loadSolver() };
      const results = grounds.includes("model") ? await bench.run("cells.jsonl", streamCells(cells)) : [];
      let packets: readonly PacketResult[] = [];
      if (grounds.includes("lab") && scenario.lab !== null) {
        // Loads process and namespace code only if needed.
        const { packetCells } = await import("./packets.ts");
        packets = await bench.run("packets.jsonl", packetCells(cells));
      }
      return {
        cells: results.length + packets.length,
        html: streamReport({ scenario, results, packets, ...about }),
        rows: rowsOf(results, COLUMNS),
        ...(packets.length === 0 ? {} : { tables: { "packets.csv": rowsOf(packets, PACKET_COLUMNS) } }),
        json: { scenario, results, packets },
        verdicts: verdictsOf(scenario, results),
      };
    },
  };
}

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
