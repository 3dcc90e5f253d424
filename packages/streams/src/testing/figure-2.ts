// ENTS' motivating example (Fig. 2), rebuilt from what its text fixes: six tasks with 55 units of work,
// source e4, e1 computes 200 units a second.
import { FlowNetwork } from "../flow-network.ts";
import { createStreamJob, type StreamJob } from "../stream-job.ts";
import { StreamSystem } from "../stream-system.ts";

const BYTE = 1 / 8;
const SPEEDS = [200, 20, 20, 40, 20];
const MEMORY = [12, 3, 3, 4, 3];

export const NODE_1 = 0;
export const NODE_4 = 3;

/** Units of the figure: bits stand for its units of data. */
export function figure2(): { system: StreamSystem; job: StreamJob } {
  const names = ["e1", "e2", "e3", "e4", "e5"];
  const links = [
    ["e4", "e2", 10],
    ["e2", "e1", 10],
    ["e4", "e3", 6],
    ["e3", "e1", 6],
    ["e1", "e5", 4],
  ] as const;
  const network = new FlowNetwork(
    names,
    links.map(([source, target, capacityBitsPerSecond]) => ({
      source,
      target,
      capacityBitsPerSecond,
      duplex: "half",
    })),
  );
  const works = { a: 5, b: 10, c: 10, d: 10, e: 10, f: 10 };
  const edges: Readonly<Record<string, readonly (readonly [string, number])[]>> = {
    a: [
      ["b", 1],
      ["c", 2],
    ],
    b: [["d", 1]],
    c: [["e", 1]],
    d: [["f", 1]],
    e: [["f", 1]],
  };
  const job = createStreamJob(
    {
      name: "figure-2",
      source: "e4",
      bytesPerFrame: 5 * BYTE,
      tasks: Object.keys(works).map((name) => ({
        name,
        memoryBytes: name === "a" ? 1 : 2,
        cpuMillicores: 1,
        downstream: (edges[name] ?? []).map(([task, volume]) => ({ task, bytesPerFrame: volume * BYTE })),
      })),
    },
    names,
    (task, node) => works[task as keyof typeof works] / SPEEDS[node]!,
  );
  const total = {
    memoryBytes: Float64Array.from(MEMORY),
    cpuMillicores: Float64Array.from(SPEEDS, () => 99),
  };
  return { system: new StreamSystem(network, total), job };
}
