// Time to configure flows in a real kernel, next to tc alone. Needs root, tc and nft.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Reconciler } from "@isochrone/network-manager/testing";
import { median } from "@isochrone/primitives";
import { managerWith } from "../../harness/flow-mesh/manager.ts";
import { createMesh, whyNoMesh, type Mesh } from "../../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf } from "../../harness/flow-mesh/plans.ts";
import type { BenchResult } from "../types.ts";

const COUNTS = [500, 5_000] as const;
const RUNS = 5;
const RATE = 10_000;
const MAX_MS = 500;

export async function run(): Promise<BenchResult[]> {
  const reason = whyNoMesh();
  if (reason !== null) {
    console.log(`flows are not set: ${reason}`);
    return [];
  }
  const mesh = createMesh();
  try {
    const results: BenchResult[] = [];
    for (const count of COUNTS) results.push(...(await measured(mesh, count)));
    return results;
  } finally {
    mesh.remove();
  }
}

async function measured(mesh: Mesh, count: number): Promise<BenchResult[]> {
  const flows = Array.from({ length: count }, (_, index) =>
    flowOnTheWay("a", ["a", "r", "b"], 10_000 + index, RATE),
  );
  const plan = planOf("a", flows, { r: 1e9 });
  const sets: Cost[] = [];
  const checks: Cost[] = [];
  const peers: Cost[] = [];
  // Interleaved, so that the machine's load affects all of them.
  for (let round = 0; round < RUNS; round++) {
    const manager = managerOf(mesh);
    sets.push(await timed(async () => expectSet(await manager.run(plan), count)));
    checks.push(await timed(() => manager.run(plan)));
    await manager.run(null);
    peers.push(await timed(async () => plainClasses(mesh, count)));
    mesh.inside("a", "tc", "qdisc", "del", "dev", "ar", "root");
  }
  const [set, check, peer] = [costOf(sets), costOf(checks), costOf(peers)];
  const isJudged = count === COUNTS[0];
  return [
    {
      name: `set ${count} routed flows: classes, queues, marks, rules; read back`,
      value: set.wallMs,
      unit: "ms",
      ...(isJudged ? { target: `<= ${MAX_MS}`, met: set.wallMs <= MAX_MS } : {}),
      peer: `tc -batch, ${count} classes alone: ${Math.round(peer.wallMs)} ms`,
      ratio: set.wallMs / peer.wallMs,
    },
    {
      name: `the same in CPU time, tools and kernel included`,
      value: set.cpuMs,
      unit: "ms",
      ...(isJudged ? { target: `<= ${MAX_MS}`, met: set.cpuMs <= MAX_MS } : {}),
      peer: `tc -batch: ${Math.round(peer.cpuMs)} ms`,
      ratio: set.cpuMs / peer.cpuMs,
    },
    { name: `find nothing to do for ${count} flows`, value: check.wallMs, unit: "ms" },
    { name: `the same in CPU time`, value: check.cpuMs, unit: "ms" },
  ];
}

function managerOf(mesh: Mesh): Reconciler {
  return managerWith("route", mesh.prefix("a"));
}

function expectSet(
  { flows, pending, complaints }: Awaited<ReturnType<Reconciler["run"]>>,
  count: number,
): void {
  const set = flows.filter(({ place }) => place !== null).length;
  if (set !== count || pending > 0)
    throw new Error(`${count} flows must be set, got ${set}: ${complaints.slice(0, 3).join("; ")}`);
}

function plainClasses(mesh: Mesh, count: number): void {
  const lines = Array.from({ length: count }, (_, index) => {
    const id = (0x2000 + index).toString(16);
    return `class add dev ar parent 1: classid 1:${id} htb rate ${RATE}bit ceil ${RATE}bit quantum 1514`;
  });
  const input = ["qdisc add dev ar root handle 1: htb", ...lines, ""].join("\n");
  const [program = "", ...prefix] = mesh.prefix("a");
  const { status, stderr } = spawnSync(program, [...prefix, "tc", "-batch", "-"], { input });
  if (status !== 0) throw new Error(`tc -batch must succeed, said ${stderr.toString()}`);
}

/** Cost of some work. Other programs affect its wall time but not its CPU time. */
interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function timed(work: () => Promise<unknown>): Promise<Cost> {
  const [begunMs, usedMs] = [performance.now(), cpuMs()];
  await work();
  return { wallMs: performance.now() - begunMs, cpuMs: cpuMs() - usedMs };
}

function costOf(all: readonly Cost[]): Cost {
  return {
    wallMs: median(all.map(({ wallMs }) => wallMs)) ?? NaN,
    cpuMs: median(all.map(({ cpuMs }) => cpuMs)) ?? NaN,
  };
}

const TICK_MS = 10;

/** Sums this process and the children it has waited for. */
function cpuMs(): number {
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ");
  const ticks = fields.split(" ").slice(11, 15).map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}
