// The lab's largest mesh: 70 network namespaces joined by links with capacities. Needs root.
import { MeshLab, runStages, type MeshLink } from "@isochrone/lab/mesh";
import { namespaceLabSupport } from "@isochrone/lab/namespaces";
import type { BenchResult } from "../types.ts";

const NODES = 70;
const LINK = 2e6;
const RATE = LINK / 2;
const FRAME_BYTES = 12_500;
const FRAMES_PER_SECOND = RATE / (8 * FRAME_BYTES);

function meshLinks(): MeshLink[] {
  const links = new Map<string, MeshLink>();
  for (let a = 0; a < NODES; a++)
    for (const b of [(a + 1) % NODES, (a * 7 + 3) % NODES])
      if (a !== b) links.set([a, b].sort((x, y) => x - y).join(), { a, b, bitsPerSecond: LINK });
  return [...links.values()];
}

const now = (): number => performance.now() / 1_000;

export async function run(): Promise<BenchResult[]> {
  const support = await namespaceLabSupport();
  if (!support.supported) throw new Error(support.reason);
  const links = meshLinks();
  const began = now();
  const mesh = await MeshLab.create({ nodes: NODES, links });
  const built = now();
  try {
    const flows = Array.from({ length: NODES / 2 }, (_, at) => ({
      port: 20_000 + at,
      path: [2 * at, 2 * at + 1, (2 * at + 2) % NODES],
      bitsPerSecond: RATE,
      bytesPerFrame: FRAME_BYTES,
    }));
    await mesh.apply(flows);
    const applied = now();
    const task = (node: number) => ({ node, secondsPerFrame: 0.01 });
    const jobs = flows.map(({ port, path }) => ({
      name: `job-${port}`,
      source: path[0]!,
      tasks: [task(path[0]!), task(path[2]!)],
      dependencies: [
        { source: -1, target: 0, bytesPerFrame: FRAME_BYTES, port: null },
        { source: 0, target: 1, bytesPerFrame: FRAME_BYTES, port },
      ],
    }));
    const measured = await runStages(mesh, jobs, { warmUpSeconds: 5, seconds: 10 });
    const ratios = measured.map((frames) => frames / FRAMES_PER_SECOND);
    return [
      { name: `mesh of ${NODES} nodes and ${links.length} links: built`, value: built - began, unit: "s" },
      { name: `${flows.length} flows over a relay: set`, value: applied - built, unit: "s" },
      {
        name: "frames per second over the plan's: least of the flows",
        value: Math.min(...ratios),
        unit: "",
        target: ">= 0.95",
        met: Math.min(...ratios) >= 0.95,
      },
      { name: "the same, most", value: Math.max(...ratios), unit: "", target: "<= 1.05" },
    ];
  } finally {
    await mesh.close();
  }
}
