import type { EndToEnd } from "@isochrone/lab";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { jsonReporter } from "../output/reporters.ts";
import { rehearse, type Rehearsed } from "./rehearsal.ts";

const END_TO_END: EndToEnd = {
  count: 50,
  errors: 0,
  p50Ms: 20,
  p90Ms: 30,
  p95Ms: 40,
  requestsPerSecond: 5,
};
const MOVE = { workload: "a", from: "n1", to: "n2" };

const SOUND: Rehearsed = {
  graphs: {
    cluster: async () => ({ value: { nodes: [], links: [] } }),
    workflows: async () => ({ value: { workflows: [{ channels: 1 }] } }),
  },
  cluster: { pods: () => [], endToEnd: async () => END_TO_END },
  placeByScore: async () => [MOVE],
};

async function eventsOf(embedded: Partial<Rehearsed>): Promise<string[]> {
  const clock = new ManualClock();
  const events: string[] = [];
  const reporter = jsonReporter((line) => {
    const { event, what } = JSON.parse(line) as { event: string; what?: string };
    events.push(what === undefined ? event : `${event}: ${what}`);
  });
  const options = { windowMs: 2_000, replace: true, reporter, clock, signal: new AbortController().signal };
  const done = rehearse({ ...SOUND, ...embedded }, options);
  await clock.advance(60_000);
  await done;
  return events;
}

test("warms up, places anew and says before and after", async () => {
  expect(await eventsOf({})).toEqual(["warm", "replacing", "replaced"]);
});

test("one slow read ends nothing: it is said, and read again", async () => {
  let reads = 0;
  const slow = async (): Promise<never> => {
    throw new Error("no answer within 5000 ms");
  };
  const graphs = {
    ...SOUND.graphs,
    cluster: () => (++reads === 1 ? slow() : SOUND.graphs.cluster()),
  };
  let reports = 0;
  const cluster = {
    ...SOUND.cluster,
    endToEnd: () => (++reports <= 2 ? slow() : SOUND.cluster.endToEnd({ lastMs: 1 })),
  };
  expect(await eventsOf({ graphs, cluster })).toEqual([
    "trouble: the graphs can't be read, trying again",
    "warm",
    "trouble: the load's latencies can't be read, trying again",
    "trouble: the load's latencies can't be read, trying again",
    "replacing",
    "replaced",
  ]);
});

test("pods that could not be placed anew are said, and everything runs on", async () => {
  const placeByScore = async (): Promise<never> => {
    throw new Error("the replacement of default/a-1 must be ready within 60000 ms and was not");
  };
  expect(await eventsOf({ placeByScore })).toEqual([
    "warm",
    "replacing",
    "trouble: the workflow was not placed anew",
  ]);
});
