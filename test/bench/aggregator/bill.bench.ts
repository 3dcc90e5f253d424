// CPU time, and the longest event loop delay, which delays graph API requests.
import { turnsOf } from "@isochrone/aggregator/testing";
import { billSteps, PriceTable } from "@isochrone/prices";
import { billOf } from "@isochrone/prices/testing";
import { median, seeded } from "@isochrone/primitives";
import { inTurns } from "@isochrone/primitives/algorithms";
import { systemClock } from "@isochrone/runtime";
import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { threadMs } from "../streams/problems.ts";
import { Turns } from "../turns.ts";
import type { BenchResult } from "../types.ts";

const NODES = 1_000;
const ZONES = 6;
const WORKFLOWS = 1_000;
const WORKLOADS = 50;
const CHANNELS = 200;
const REPLICAS = 3;
const ROUNDS = 5;

export async function run(): Promise<BenchResult[]> {
  const graphs = generated();
  const table = PriceTable.of(null);
  const [whole, sliced, held]: number[][] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    let began = threadMs();
    billOf(graphs, table);
    whole!.push(threadMs() - began);
    began = threadMs();
    const turns = new Turns();
    await inTurns(billSteps(graphs, table), turnsOf(systemClock));
    held!.push(turns.stop());
    sliced!.push(threadMs() - began);
  }
  const shape = `bill, ${(WORKFLOWS * CHANNELS).toLocaleString("en-US")} channels`;
  const heldMs = Math.max(...held!);
  return [
    { name: `${shape}, at once, median of ${ROUNDS}`, value: median(whole!)!, unit: "ms of CPU" },
    { name: `${shape}, in turns, median of ${ROUNDS}`, value: median(sliced!)!, unit: "ms of CPU" },
    {
      name: `longest time without a turn for others, largest of ${ROUNDS}`,
      value: heldMs,
      unit: "ms of CPU",
      target: "< 150",
      met: heldMs < 150,
    },
  ];
}

function generated(): Parameters<typeof billOf>[0] {
  const draw = seeded(3);
  const below = (count: number): number => Math.floor(draw() * count);
  const nodes = Array.from({ length: NODES }, (_, at) =>
    node(`n${at}`, { provider: "aws", region: "eu-west-1", zone: `eu-west-1${at % ZONES}` }),
  );
  const workflows = Array.from({ length: WORKFLOWS }, (_, at) => {
    const workloads = Array.from({ length: WORKLOADS }, (_, of) => {
      const pods = Array.from(
        { length: REPLICAS },
        (_, pod) => [`w${of}-${pod}`, `n${below(NODES)}`] as const,
      );
      return workload(`w${of}`, Object.fromEntries(pods), { namespace: `team-${at}` });
    });
    const channels = Array.from({ length: CHANNELS }, (_, of) =>
      channel(
        `w${of % WORKLOADS}`,
        `w${(of * 7 + Math.floor(of / WORKLOADS) + 1) % WORKLOADS}`,
        1e6 * draw(),
      ),
    );
    return { ...workflowSnapshot(workloads, channels), namespace: `team-${at}` };
  });
  const stamp = { version: 1, observedAt: "2026-01-01T00:00:00Z", windowSeconds: 30 };
  return { ...stamp, nodes, workflows, demand: { services: [] } };
}
