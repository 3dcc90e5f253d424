// Generates a random workflow in three zones, with traffic that drifts over the day.
import { pairPrices, PriceTable } from "@isochrone/prices";
import { seededRandom } from "@isochrone/runtime";
import type { Change, Point, PointCall, PointNode, PointWorkload } from "../scenario/model.ts";
import type { BillScenario } from "./scenario.ts";

const REGION = "us-east-1";
const ZONES = ["us-east-1a", "us-east-1b", "us-east-1c"];
const NODES_PER_ZONE = 3;
const SERVICES = 12;
/** From one replica, like a store, to one per zone. */
const MOST_REPLICAS = 3;
const CPU_MS = 4;
const MI = 1024 ** 2;
/** Answer sizes: 1 kB to 100 kB. */
const LEAST_BYTES = 1_000;
const SPREAD_BYTES = 100;
/** Round-trip times, ms. */
const WITHIN_ZONE_MS = 0.3;
const BETWEEN_ZONES_MS = 1.2;

/** The same day for all contenders of a trial; the traffic changes from the second hour on. */
export function dayOf(scenario: BillScenario, trial: number): Point {
  const { seed, hours, hourSeconds, users } = scenario;
  const random = seededRandom(seed * 1_000 + trial);
  const nodes = ZONES.flatMap((zone) =>
    Array.from({ length: NODES_PER_ZONE }, (_, at): PointNode => {
      return {
        name: `${zone}-${at}`,
        zone,
        region: REGION,
        cpuMillicores: 4_000,
        memoryBytes: 16 * 1024 * MI,
      };
    }),
  );
  const calls: PointCall[][] = Array.from({ length: SERVICES }, () => []);
  for (let callee = 1; callee < SERVICES; callee++) {
    // Builds deep trees: each later workload is called by an earlier one.
    const caller = Math.floor(random.next() * callee);
    calls[caller]!.push({
      callee: `s${callee}`,
      requestBytes: 500,
      responseBytes: Math.round(LEAST_BYTES * SPREAD_BYTES ** random.next()),
      probability: 0.2 + 0.8 * random.next(),
    });
  }
  const workloads = calls.map((own, at): PointWorkload => ({
    name: `s${at}`,
    replicas: at === 0 ? MOST_REPLICAS : 1 + Math.floor(random.next() * MOST_REPLICAS),
    requests: { cpuMillicores: 500, memoryBytes: 256 * MI },
    memoryBytes: 256 * MI,
    cpuMs: CPU_MS,
    cpuSpread: "exponential",
    calls: own,
    pinnedTo: null,
  }));
  const changes = Array.from({ length: hours - 1 }, (_, hour) =>
    workloads.flatMap(({ name, calls: own }) =>
      own.map(({ callee }): Change => ({
        kind: "call-probability",
        atSeconds: (hour + 1) * hourSeconds,
        caller: name,
        callee,
        probability: 0.2 + 0.8 * random.next(),
      })),
    ),
  ).flat();
  const table = PriceTable.of(null);
  return {
    id: `trial-${trial}`,
    labels: {},
    cluster: {
      nodes,
      rttMs: nodes.map((a) => nodes.map((b) => rttOf(a, b))),
      prices: pairPrices(
        nodes.map((node) => ({ ...node, provider: "aws" })),
        table,
      ),
    },
    workflow: { name: "shop", workloads, entry: "s0", usersAt: null },
    load: { users, requestsPerSecondPerUser: 1, warmUpSeconds: 0, durationSeconds: hours * hourSeconds },
    changes,
  };
}

function rttOf(a: PointNode, b: PointNode): number {
  if (a.name === b.name) return 0;
  return a.zone === b.zone ? WITHIN_ZONE_MS : BETWEEN_ZONES_MS;
}
