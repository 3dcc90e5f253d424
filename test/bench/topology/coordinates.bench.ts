// ISOCHRONE_BENCH_MATRICES names files of real matrices, joined by the path delimiter. Without it only
// synthetic clusters are fitted.
import { seededRandom } from "@isochrone/runtime";
import { fitCoordinates } from "@isochrone/topology/coordinates";
import type { CoordinateInput, CoordinateModel } from "@isochrone/topology/coordinates";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import type { BenchResult } from "../types.ts";

const PEERS = 10;
const ZONES = 60;
const WARM_ROUNDS = 3;
const ESTIMATES = 1_000_000;
const SIZES = [
  { nodes: 500, coldTargetMs: 2_000, warmTargetMs: 200 },
  { nodes: 5_000, coldTargetMs: 20_000, warmTargetMs: 2_000 },
] as const;

/** Peers, probes per node, noise; median and p90 relative error of the best previous method. */
const ROWS = [
  { peers: 10, budget: 20, noise: 0, best: [0.073, 0.35] },
  { peers: 10, budget: 50, noise: 0, best: [0.07, 0.33] },
  { peers: 10, budget: 400, noise: 0, best: [0.07, 0.33] },
  { peers: 32, budget: 400, noise: 0, best: [0.046, 0.19] },
  { peers: 10, budget: 400, noise: 0.2, best: [0.072, 0.33] },
  { peers: 32, budget: 400, noise: 0.2, best: [0.057, 0.2] },
] as const;

export async function run(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-bench-"));
  try {
    const synthetic = join(folder, "3 regions x 3 zones");
    writeFileSync(synthetic, regionMatrix(300));
    return [
      ...SIZES.flatMap((size) => timed(size)),
      ...[synthetic, ...realMatrices()].flatMap((file) => ROWS.flatMap((row) => accuracy(file, row))),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function timed({ nodes, coldTargetMs, warmTargetMs }: (typeof SIZES)[number]): BenchResult[] {
  const cluster = syntheticCluster(nodes);
  // Warms up, because a service runs compiled code after its first round.
  fitCoordinates(window(syntheticCluster(200), 0), { seed: 1 });
  const [coldMs, cold] = timeMs(() => fitCoordinates(window(cluster, 1), { seed: 1 }));
  let model = cold;
  const warmMs: number[] = [];
  for (let round = 0; round < WARM_ROUNDS; round++) {
    const next = window(cluster, 2 + round);
    const [ms, fitted] = timeMs(() => fitCoordinates(next, { seed: 1, previous: model }));
    warmMs.push(ms);
    model = fitted;
  }
  const [allMs] = timeMs(() => sumOfEstimates(model, nodes));
  const size = `${nodes.toLocaleString("en-US")} nodes, ${PEERS} peers`;
  const medianMs = warmMs.toSorted((a, b) => a - b)[WARM_ROUNDS >> 1]!;
  return [
    held(`coordinates, ${size}, cold fit, CPU time`, coldMs, coldTargetMs),
    held(`coordinates, ${size}, warm round, one peer in ten replaced, CPU time`, medianMs, warmTargetMs),
    { name: `coordinates, ${size}, one estimate`, value: (1e6 * allMs) / ESTIMATES, unit: "ns" },
  ];
}

function held(name: string, ms: number, targetMs: number): BenchResult {
  return {
    name,
    value: ms,
    unit: "ms",
    target: `<= ${targetMs.toLocaleString("en-US")} ms`,
    met: ms <= targetMs,
  };
}

function accuracy(file: string, { peers, budget, noise, best }: (typeof ROWS)[number]): BenchResult[] {
  const judged = judgement(file, ["--peers", peers, "--budget", budget, "--noise", noise]);
  const name = basename(file);
  const row = `coordinates, ${name}, K ${peers} R ${budget}${noise > 0 ? ` noise ${noise}` : ""}`;
  const isHeld = name.startsWith("PlanetLab");
  const error = (what: string, value: number, target: number): BenchResult => ({
    name: `${row}, ${what}`,
    value,
    unit: "|error| / true",
    ...(isHeld ? { target: `<= ${target}`, met: value <= target } : {}),
  });
  return [
    error("median", judged.medianRelativeError, best[0]),
    error("p90", judged.p90RelativeError, best[1]),
    {
      name: `${row}, true values inside the 90 % interval`,
      value: 100 * judged.intervalCoverage,
      unit: "%",
      target: "90 +- 3 %",
      met: Math.abs(judged.intervalCoverage - 0.9) <= 0.03,
    },
  ];
}

interface Judgement {
  readonly medianRelativeError: number;
  readonly p90RelativeError: number;
  readonly intervalCoverage: number;
}

const command = join(import.meta.dirname, "../../../cli/bin/isochrone.mjs");

function judgement(file: string, options: readonly (string | number)[]): Judgement {
  const args = [command, "bench", "coordinates", "--matrix", file, ...options.map(String), "-o", "json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${basename(file)}: exit code ${status}: ${stderr.trim()}`);
  return JSON.parse(stdout) as Judgement;
}

function realMatrices(): string[] {
  return (process.env["ISOCHRONE_BENCH_MATRICES"] ?? "").split(delimiter).filter((file) => file !== "");
}

interface Cluster {
  readonly names: readonly string[];
  readonly rttMs: (a: number, b: number) => number;
}

/** Zones on a map, detours, an access link per node, and a part specific to each pair. */
function syntheticCluster(nodes: number): Cluster {
  const random = seededRandom(1);
  const places = Array.from({ length: ZONES }, () => [120 * random.next(), 60 * random.next()] as const);
  const detours = Array.from({ length: ZONES * ZONES }, () => 0.8 + 0.5 * random.next());
  const zone = Array.from({ length: nodes }, () => Math.floor(random.next() * ZONES));
  const height = Array.from({ length: nodes }, () => 0.1 + random.next());
  return {
    names: zone.map((_, node) => `node-${node}`),
    rttMs: (a, b) => {
      const [from, to] = [Math.min(zone[a]!, zone[b]!), Math.max(zone[a]!, zone[b]!)];
      const [x, y] = [places[from]!, places[to]!];
      const apart = Math.hypot(x[0] - y[0], x[1] - y[1]) * detours[from * ZONES + to]!;
      return (0.2 + apart + height[a]! + height[b]!) * (0.9 + 0.2 * ownShare(a, b));
    },
  };
}

/** A number from 0 to 1 that is constant per pair of nodes. */
function ownShare(a: number, b: number): number {
  const random = seededRandom(Math.min(a, b) * 10_007 + Math.max(a, b));
  random.next();
  return random.next();
}

function window({ names, rttMs }: Cluster, round: number): CoordinateInput {
  const rows: { source: number; target: number; rttMs: number }[] = [];
  for (let source = 0; source < names.length; source++) {
    for (let peer = 0; peer < PEERS; peer++) {
      // Peer k is replaced in every tenth window, at a phase that depends on k.
      const generation = Math.floor((round + peer) / PEERS);
      const draw = ownShare(source, names.length + peer + PEERS * generation);
      const target = Math.floor(draw * names.length);
      if (target !== source) rows.push({ source, target, rttMs: rttMs(source, target) });
    }
  }
  return {
    nodes: names.map((name) => ({ name, zone: null, region: null })),
    samples: {
      source: Int32Array.from(rows, (row) => row.source),
      target: Int32Array.from(rows, (row) => row.target),
      rttMs: Float64Array.from(rows, (row) => row.rttMs),
      count: new Float64Array(rows.length).fill(30),
      spreadMs: Float64Array.from(rows, (row) => 0.1 * row.rttMs),
    },
  };
}

/** 3 regions of 3 zones: 0.2 ms inside a zone, 1-2 ms inside a region, tens of ms between them. */
function regionMatrix(nodes: number): string {
  const random = seededRandom(7);
  const between = Array.from({ length: 81 }, (_, pair) => {
    const [a, b] = [Math.floor(pair / 9), pair % 9];
    if (a === b) return 0.12;
    return Math.floor(a / 3) === Math.floor(b / 3) ? 0.6 + random.next() : 20 + 60 * random.next();
  });
  const height = Array.from({ length: nodes }, () => 0.04 + 0.1 * random.next());
  const rttMs = (a: number, b: number): number => {
    const [from, to] = [Math.min(a % 9, b % 9), Math.max(a % 9, b % 9)];
    return (between[from * 9 + to]! + height[a]! + height[b]!) * (0.9 + 0.2 * ownShare(a, b));
  };
  const row = (a: number): string => height.map((_, b) => (a === b ? 0 : rttMs(a, b).toFixed(4))).join(" ");
  return height.map((_, a) => row(a)).join("\n");
}

/** CPU time of this thread, which does all the work. Other programs affect it less than wall time. */
function timeMs<Result>(work: () => Result): [number, Result] {
  globalThis.gc?.();
  const before = process.threadCpuUsage();
  const result = work();
  const { user, system } = process.threadCpuUsage(before);
  return [(user + system) / 1_000, result];
}

function sumOfEstimates(model: CoordinateModel, nodes: number): number {
  let sum = 0;
  for (let k = 0; k < ESTIMATES; k++) sum += model.estimate(k % nodes, (k * 7_919) % nodes)?.rttMs ?? 0;
  return sum;
}
