// Received payload, times frame over payload, direct and through a relay. Needs root, tc and nft.
import { managerWith } from "../../harness/flow-mesh/manager.ts";
import { createMesh, whyNoMesh, type Mesh, type NodeName } from "../../harness/flow-mesh/mesh.ts";
import { flowOnTheWay, planOf } from "../../harness/flow-mesh/plans.ts";
import type { BenchResult } from "../types.ts";

const RATES = [1e6, 10e6, 100e6] as const;
const WAYS = [
  ["a", "b"],
  ["a", "r", "b"],
] as const satisfies readonly (readonly NodeName[])[];
const PORT = 5001;
const CAPACITY = 1e9;
/** Ratio of frame to payload of a full TCP segment with timestamps. */
const WIRE = 1514 / 1448;
const SETTLE_MS = 3_000;
const WINDOW_MS = 8_000;
const MAX_ERROR = 0.01;

export async function run(): Promise<BenchResult[]> {
  const reason = whyNoMesh();
  if (reason !== null) {
    console.log(`rates are not measured: ${reason}`);
    return [];
  }
  const results: BenchResult[] = [];
  for (const way of WAYS) for (const rate of RATES) results.push(await measured(way, rate));
  return results;
}

async function measured(way: readonly NodeName[], rate: number): Promise<BenchResult> {
  const mesh = createMesh();
  try {
    for (const node of way.slice(0, -1)) await set(mesh, node, way, rate);
    const stream = await mesh.stream(PORT);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const error = ((await stream.rate(WINDOW_MS)) * WIRE) / rate - 1;
    return {
      name: `${rate / 1e6} Mbit/s over ${way.length - 1} link(s): error on the wire`,
      value: error * 100,
      unit: "%",
      target: `within ${MAX_ERROR * 100} %`,
      met: Math.abs(error) <= MAX_ERROR,
    };
  } finally {
    mesh.remove();
  }
}

async function set(mesh: Mesh, node: NodeName, way: readonly NodeName[], rate: number): Promise<void> {
  const manager = managerWith("route", mesh.prefix(node));
  const next = way[way.indexOf(node) + 1]!;
  const previous = way[way.indexOf(node) - 1];
  const neighbours = { [next]: CAPACITY, ...(previous === undefined ? {} : { [previous]: CAPACITY }) };
  const { pending } = await manager.run(planOf(node, [flowOnTheWay(node, way, PORT, rate)], neighbours));
  if (pending > 0) throw new Error(`${node} must set the flow, ${pending} changes are missing`);
}
