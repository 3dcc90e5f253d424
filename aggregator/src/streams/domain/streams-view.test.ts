import type { FlowPlan, StreamJobView } from "@isochrone/topology";
import { expect, test } from "vitest";
import { streamsView } from "./streams-view.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05Z");
/** 1 Mbit/s for each frame per second. */
const FRAME = 125_000;

const flow = (from: string | null, to: string, route: readonly string[]): StreamJobView["flows"][number] => ({
  from,
  to,
  bytesPerFrame: FRAME,
  bitsPerSecond: 4e6,
  sentBitsPerSecond: null,
  route: [...route],
});

const job = (fields: Partial<StreamJobView> = {}): StreamJobView => ({
  namespace: "site",
  name: "gate",
  phase: "Running",
  framesPerSecond: 4,
  measuredFramesPerSecond: null,
  minThroughput: null,
  limit: null,
  waits: null,
  tasks: [],
  flows: [flow(null, "decode", ["a", "b"]), flow("decode", "detect", ["b", "c"])],
  ...fields,
});

const planned = (id: string, next: string | null, bitsPerSecond: number): FlowPlan["flows"][number] => ({
  id,
  owner: { kind: "StreamJob", namespace: "site", name: "gate" },
  protocol: "tcp",
  source: { node: "a", address: "10.0.0.1", port: null },
  target: { node: "c", address: "10.0.0.3", port: 7000 },
  next,
  previous: null,
  routed: true,
  bitsPerSecond,
});

const plan = (
  node: string,
  next: string,
  capacity: number | null,
  ...flows: FlowPlan["flows"]
): FlowPlan => ({
  version: "1",
  node,
  epoch: "e",
  generation: 1,
  neighbours: [{ node: next, address: "10.0.0.2", capacityBitsPerSecond: capacity }],
  flows,
});

const view = (
  jobs: readonly StreamJobView[],
  plans: readonly FlowPlan[],
  sent: Readonly<Record<string, number>> = {},
) => {
  const rates = new Map(Object.entries(sent));
  return streamsView({
    jobs,
    plans,
    sent: (node, id) => rates.get(`${node} ${id}`) ?? null,
    nowMs: NOW_MS,
  });
};

test("a job goes as fast as its slowest flow has sent, where it is sent", () => {
  const { jobs, observedAt } = view([job()], [], {
    "a site/gate/source->decode": 3e6,
    "b site/gate/decode->detect": 2.5e6,
    "c site/gate/decode->detect": 1,
  });
  expect(observedAt).toBe("2026-01-02T03:04:05.000Z");
  expect(jobs[0]!.measuredFramesPerSecond).toBe(2.5);
  expect(jobs[0]!.flows.map(({ sentBitsPerSecond }) => sentBitsPerSecond)).toEqual([3e6, 2.5e6]);
});

test("what one flow has sent isn't known: then nothing is known of the job", () => {
  expect(
    view([job()], [], { "a site/gate/source->decode": 3e6 }).jobs[0]!.measuredFramesPerSecond,
  ).toBeNull();
  expect(view([job({ flows: [] })], []).jobs[0]!.measuredFramesPerSecond).toBeNull();
});

test("links are those with flows, the fullest first, of unknown capacity last", () => {
  const { links } = view(
    [],
    [
      plan("a", "b", 10e6, planned("one", "b", 1e6), planned("two", "b", 2e6), planned("ends", null, 9e6)),
      plan("b", "c", 4e6, planned("one", "c", 1e6), planned("two", "c", 2e6)),
      plan("c", "d", null, planned("one", "d", 1e6)),
      plan("d", "e", 1e6),
    ],
    { "a one": 0.9e6, "a two": 2e6, "b one": 1e6 },
  );
  expect(links.map(({ source, target }) => `${source} ${target}`)).toEqual(["b c", "a b", "c d"]);
  expect(links[1]).toEqual({
    source: "a",
    target: "b",
    capacityBitsPerSecond: 10e6,
    plannedBitsPerSecond: 3e6,
    sentBitsPerSecond: 2.9e6,
    flows: [
      { id: "two", bitsPerSecond: 2e6, sentBitsPerSecond: 2e6 },
      { id: "one", bitsPerSecond: 1e6, sentBitsPerSecond: 0.9e6 },
    ],
  });
  expect(links[0]!.sentBitsPerSecond).toBeNull();
});
