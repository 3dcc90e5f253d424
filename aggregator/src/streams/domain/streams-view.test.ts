import type { FlowPlan, StreamJobView, WorkflowGraphSnapshot } from "@isochrone/topology";
import { expect, test } from "vitest";
import { streamsView } from "./streams-view.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05Z");
/** Bytes per frame: 1 Mbit/s at one frame per second. */
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

const planned = (
  to: string,
  next: string | null,
  bitsPerSecond: number,
  fields: Partial<FlowPlan["flows"][number]> = {},
): FlowPlan["flows"][number] => ({
  id: `site/gate/${to}`,
  owner: { kind: "StreamJob", namespace: "site", name: "gate" },
  channel: { source: "gate.a", target: `gate.${to}` },
  protocol: "tcp",
  source: { node: "a", address: "10.0.0.1", port: null },
  target: { node: "c", address: "10.0.0.3", port: 7000 },
  next,
  previous: null,
  routed: true,
  bitsPerSecond,
  ...fields,
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

/** @param achieved bits per second by the channel's target */
const view = (
  jobs: readonly StreamJobView[],
  plans: readonly FlowPlan[],
  achieved: Readonly<Record<string, number>> = {},
) => {
  const channels = Object.entries(achieved).map(([target, achievedBitsPerSecond]) => ({
    source: "gate.a",
    target: `gate.${target}`,
    bytesPerSecond: null,
    requestsPerSecond: null,
    errorRatio: null,
    priority: null,
    maxNetworkCost: null,
    minBandwidthBitsPerSecond: null,
    flow: { allowedBitsPerSecond: 9e6, achievedBitsPerSecond, droppedPacketsPerSecond: 0 },
    origin: "observed" as const,
    ageSeconds: 1,
  }));
  const graph: WorkflowGraphSnapshot = {
    version: 1,
    observedAt: "2026-01-02T03:04:05Z",
    namespace: "site",
    name: "site",
    workloads: [],
    channels,
  };
  return streamsView({ jobs, plans, graphs: [graph], nowMs: NOW_MS });
};

/** Flows of the job from its source through b. */
const OF_JOB = [
  plan("a", "b", null, planned("source->decode", "b", 4e6)),
  plan("b", "c", null, planned("decode->detect", "c", 4e6)),
];

test("a job goes as fast as its slowest flow has sent", () => {
  const { jobs, observedAt } = view([job()], OF_JOB, { "source->decode": 3e6, "decode->detect": 2.5e6 });
  expect(observedAt).toBe("2026-01-02T03:04:05.000Z");
  expect(jobs[0]!.measuredFramesPerSecond).toBe(2.5);
  expect(jobs[0]!.flows.map(({ sentBitsPerSecond }) => sentBitsPerSecond)).toEqual([3e6, 2.5e6]);
});

test("what one flow has sent isn't known: then nothing is known of the job", () => {
  expect(view([job()], OF_JOB, { "source->decode": 3e6 }).jobs[0]!.measuredFramesPerSecond).toBeNull();
  expect(view([job({ flows: [] })], []).jobs[0]!.measuredFramesPerSecond).toBeNull();
});

test("flows that share a channel, as floors of several pods do, have no figure of their own", () => {
  const shared = { channel: { source: "gate.a", target: "gate.web" } };
  const plans = [plan("a", "b", 1e7, planned("1", "b", 1e6, shared), planned("2", "b", 1e6, shared))];
  const [link] = view([], plans, { web: 2e6 }).links;
  expect(link).toMatchObject({ plannedBitsPerSecond: 2e6, sentBitsPerSecond: null });
});

const passedOn = (to: string, next: string, bitsPerSecond: number): FlowPlan["flows"][number] =>
  planned(to, next, bitsPerSecond, { previous: "a" });

test("links are those with flows, the fullest first, of unknown capacity last", () => {
  const { links } = view(
    [],
    [
      plan("a", "b", 10e6, planned("one", "b", 1e6), planned("two", "b", 2e6), planned("ends", null, 9e6)),
      plan("b", "c", 4e6, passedOn("one", "c", 1e6), passedOn("two", "c", 2e6), planned("new", "c", 1e5)),
      plan("c", "d", null, passedOn("one", "d", 1e6)),
      plan("d", "e", 1e6),
    ],
    { one: 0.9e6, two: 2e6 },
  );
  expect(links.map(({ source, target }) => `${source} ${target}`)).toEqual(["b c", "a b", "c d"]);
  expect(links[1]).toEqual({
    source: "a",
    target: "b",
    capacityBitsPerSecond: 10e6,
    plannedBitsPerSecond: 3e6,
    sentBitsPerSecond: 2.9e6,
    flows: [
      { id: "site/gate/two", bitsPerSecond: 2e6, sentBitsPerSecond: 2e6 },
      { id: "site/gate/one", bitsPerSecond: 1e6, sentBitsPerSecond: 0.9e6 },
    ],
  });
  expect(links[0]!.sentBitsPerSecond).toBeNull();
});
