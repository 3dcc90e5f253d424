// Nodes differ only by noise, but the network tells them apart. ISOCHRONE_BENCH_TABLE names a file for the
// table.
import { median } from "@isochrone/primitives";
import { writeFileSync } from "node:fs";
import { loadSettings } from "@isochrone/runtime";
import { schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type { BenchResult } from "../types.ts";
import { embeddedExperiment, placeAll, placeAnew } from "./placement/noisy.ts";
import type { Settings } from "./placement/noisy.ts";
import { optimum } from "./placement/optimum.ts";
import { placementExperiment } from "./placement/problem.ts";

const SEEDS = 20;
const VALUES = [0, 0.02, 0.05, 0.1, 0.2];
/** The product's default, and the embedded cluster's. */
const WEIGHTS = [
  { gamma: 0.5, delta: 0.5 },
  { gamma: 0.2, delta: 0.8 },
];

interface Scenario {
  readonly name: string;
  readonly costs: (settings: Settings) => number[];
}

export async function run(): Promise<BenchResult[]> {
  const { minSpread } = loadSettings([schedulerPluginSettings], { env: {} }).scheduler;
  const scenarios = await scenariosOf();
  const results: BenchResult[] = [];
  const lines = [
    `| minSpread | ${scenarios.flatMap(({ name }) => WEIGHTS.map(({ gamma }) => `${name}, gamma ${gamma}`)).join(" | ")} |`,
    `| ---: |${" ---: |".repeat(scenarios.length * WEIGHTS.length)}`,
  ];
  for (const value of VALUES) {
    const cells = scenarios.flatMap(({ costs }) =>
      WEIGHTS.map((weights) => median(costs({ ...weights, minSpread: value }))!.toFixed(2)),
    );
    lines.push(`| ${value} | ${cells.join(" | ")} |`);
  }
  for (const { name, costs } of scenarios) {
    for (const weights of WEIGHTS) {
      const own = median(costs({ ...weights, minSpread }))!;
      const stretched = median(costs({ ...weights, minSpread: 0 }))!;
      results.push({
        name: `near-equal nodes, ${name}, gamma ${weights.gamma}, median`,
        value: own,
        unit: "",
        target: "<= with minSpread 0",
        met: own <= stretched,
        peer: `minSpread 0, ${stretched.toFixed(2)}`,
        ratio: own / stretched,
      });
    }
  }
  const file = process.env["ISOCHRONE_BENCH_TABLE"];
  if (file !== undefined) writeFileSync(file, `${lines.join("\n")}\n`);
  return results;
}

async function scenariosOf(): Promise<Scenario[]> {
  const seeds = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const [pinned, free, embedded] = await Promise.all([
    Promise.all(seeds.map((seed) => placementExperiment(seed, true))),
    Promise.all(seeds.map((seed) => placementExperiment(seed, false))),
    Promise.all(seeds.map((seed) => embeddedExperiment(seed))),
  ]);
  const overOptimum = (experiments: typeof pinned): Scenario["costs"] => {
    const optima = experiments.map((experiment) => optimum(experiment).cost);
    return (settings) =>
      experiments.map((experiment, index) => placeAll(experiment, settings) / optima[index]!);
  };
  return [
    { name: "data pinned, / optimum", costs: overOptimum(pinned) },
    { name: "nothing pinned, / optimum", costs: overOptimum(free) },
    {
      name: "placed anew, / before",
      costs: (settings) => embedded.map((experiment) => placeAnew(experiment, settings)),
    },
  ];
}
