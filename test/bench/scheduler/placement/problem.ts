// 17 services (Figure 2 in Marchese 2023) on 8 nodes in 2 regions, with seeded traffic and costs.
import { loadManifest, SAMPLE_MANIFEST } from "@isochrone/lab";
import { seededRandom } from "@isochrone/runtime";

interface PlacementChannel {
  readonly source: number;
  readonly target: number;
  readonly bytesPerSecond: number;
}

export interface PlacementExperiment {
  readonly seed: number;
  /** Names, callers before callees. Pods are created in reverse order: dependencies first. */
  readonly workloads: readonly string[];
  readonly channels: readonly PlacementChannel[];
  readonly nodes: readonly { readonly name: string; readonly region: string; readonly zone: string }[];
  /** ms, by node and node; symmetric, 0 with itself. */
  readonly costMs: readonly (readonly number[])[];
  readonly capacity: number;
  /** Node with the workload's data. Null: no constraint. */
  readonly pinned: readonly (number | null)[];
}

const NODES = 8;
/** Nodes of Marchese 2023 have 2 cores: five pods of 350 m leave room for the system's own. */
export const POD_CPU_MILLICORES = 350;
export const NODE_CPU_MILLICORES = 2_000;
const CAPACITY = Math.floor(NODE_CPU_MILLICORES / POD_CPU_MILLICORES);

/** @param dataIsPinned whether databases run on the nodes with their volumes */
export async function placementExperiment(seed: number, dataIsPinned: boolean): Promise<PlacementExperiment> {
  const random = seededRandom(seed);
  const between = (low: number, high: number): number => low + (high - low) * random.next();
  const manifest = await loadManifest(SAMPLE_MANIFEST);
  const workloads = manifest.workloads.map(({ name }) => name);
  const channels = manifest.workloads.flatMap(({ callees, behaviour }, source) =>
    callees.map((callee) => {
      const target = workloads.indexOf(callee);
      const bytes = behaviour.requestBytes + manifest.workloads[target]!.behaviour.responseBytes;
      // About ten requests per second; users differ between seeds.
      return { source, target, bytesPerSecond: Math.round(bytes * between(2, 18)) };
    }),
  );
  const nodes = Array.from({ length: NODES }, (_, index) => {
    const region = index < NODES / 2 ? "east" : "west";
    return { name: `${region}-${index % 4}`, region, zone: `${region}-${index % 2}` };
  });
  const costMs = nodes.map(() => Array.from({ length: NODES }, () => 0));
  for (let a = 0; a < NODES; a++) {
    for (let b = a + 1; b < NODES; b++) {
      const far = nodes[a]!.region !== nodes[b]!.region;
      // Two scenarios of Marchese 2023 with ±10 %: 100 ms between the regions, 10 ms within.
      const ms = far ? between(90, 110) : between(9, 11);
      costMs[a]![b] = costMs[b]![a] = Number(ms.toFixed(3));
    }
  }
  // Each database is on its own node with its volume.
  const left = nodes.map((_, node) => node);
  const pinned = workloads.map((name) =>
    dataIsPinned && name.startsWith("db")
      ? left.splice(Math.floor(random.next() * left.length), 1)[0]!
      : null,
  );
  return { seed, workloads, channels, nodes, costMs, capacity: CAPACITY, pinned };
}

/** Sum over the channels of traffic x cost, bytes/s x ms. `nodeOf`: by workload. */
export function placementCost({ channels, costMs }: PlacementExperiment, nodeOf: readonly number[]): number {
  let sum = 0;
  for (const { source, target, bytesPerSecond } of channels)
    sum += bytesPerSecond * costMs[nodeOf[source]!]![nodeOf[target]!]!;
  return sum;
}
