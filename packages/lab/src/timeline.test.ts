import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { createLabControl } from "./control.ts";
import { startNetwork } from "./network/testing/rig.ts";
import { LabTimeline, type Timeline, type TimelineSource } from "./timeline.ts";

const LATENCY = {
  count: 10,
  errors: 1,
  p10Ms: 10,
  p50Ms: 20,
  p50RangeMs: null,
  p95RangeMs: null,
  p90Ms: 30,
  p95Ms: 40,
  requestsPerSecond: 5,
  sendLateMs: 0,
  failure: null,
};
type Pod = ReturnType<TimelineSource["pods"]>[number];
const pod = (workload: string, node: string | null, deleting = false): Pod => ({ workload, node, deleting });

function timelineOf(cluster: () => TimelineSource | null): LabTimeline {
  return new LabTimeline({ cluster, clock: new ManualClock(), logger: new MemoryLogger() });
}

test("a pod that is replaced elsewhere is one move, noted once the workload is whole again", async () => {
  let pods: Pod[] = [pod("m1", "a"), pod("m2", "b"), pod("m2", "c")];
  const timeline = timelineOf(() => ({ pods: () => pods, endToEnd: () => Promise.resolve(LATENCY) }));
  await timeline.sample();
  pods = [pod("m1", "a", true), pod("m1", null), pod("m2", "b"), pod("m2", "c")];
  await timeline.sample();
  expect(timeline.report().marks).toEqual([]);
  pods = [pod("m1", "c"), pod("m2", "c"), pod("m2", "b")];
  await timeline.sample();
  const { marks, points } = timeline.report();
  expect(marks).toMatchObject([{ kind: "move", workload: "m1", from: "a", to: "c" }]);
  expect(points.map(({ requests, errors, p50Ms, p95Ms }) => [requests, errors, p50Ms, p95Ms])).toEqual([
    [10, 1, 20, 40],
    [10, 1, 20, 40],
    [10, 1, 20, 40],
  ]);
});

test("before the cluster and its load there are no points, and a load that doesn't answer hides no move", async () => {
  let cluster: TimelineSource | null = null;
  const timeline = timelineOf(() => cluster);
  await timeline.sample();
  const none = {
    count: 0,
    errors: 0,
    p10Ms: null,
    p50Ms: null,
    p50RangeMs: null,
    p95RangeMs: null,
    p90Ms: null,
    p95Ms: null,
    requestsPerSecond: 0,
    sendLateMs: null,
    failure: null,
  };
  cluster = { pods: () => [pod("m1", "a")], endToEnd: () => Promise.resolve(none) };
  await timeline.sample();
  expect(timeline.report().points).toEqual([]);
  cluster = { pods: () => [pod("m1", "b")], endToEnd: () => Promise.reject(new Error("silent")) };
  await expect(timeline.sample()).rejects.toThrow("silent");
  expect(timeline.report().marks).toMatchObject([{ workload: "m1", from: "a", to: "b" }]);
});

test("the oldest points go first", async () => {
  const timeline = timelineOf(() => ({ pods: () => [], endToEnd: () => Promise.resolve(LATENCY) }));
  for (let index = 0; index < 500; index++) await timeline.sample();
  expect(timeline.report().points).toHaveLength(450);
});

test("a killed node is a mark, and killing one needs the token as every change does", async () => {
  const network = await startNetwork();
  const timeline = timelineOf(() => null);
  const killed: string[] = [];
  const nothing = (): null => null;
  const control = await createLabControl({
    network,
    timeline,
    token: "secret",
    cluster: {
      receiverCounts: nothing,
      endToEnd: nothing,
      processes: nothing,
      killNode: async (node) => void killed.push(node),
    },
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  onTestFinished(() => control.stop());
  const kill = (headers: Record<string, string>) =>
    control.app.inject({ method: "POST", url: "/lab/v1/nodes/b/kill", headers });
  expect((await kill({})).statusCode).toBe(401);
  expect([killed, timeline.report().marks]).toEqual([[], []]);
  expect((await kill({ authorization: "Bearer secret" })).statusCode).toBe(200);
  expect(killed).toEqual(["b"]);
  expect(timeline.report().marks).toMatchObject([{ kind: "killed", node: "b" }]);
});

test("the link as it was is known even where it was changed past the API", async () => {
  const network = await startNetwork({ rttMs: 6 });
  const clock = new ManualClock();
  const timeline = new LabTimeline({ cluster: () => null, network, clock, logger: new MemoryLogger() });
  await network.setLink("a", "b", { cut: true });
  expect(timeline.initialLink("a", "b")).toMatchObject({ rttMs: 6, cut: false });
  expect(timeline.initialLink("b", "a")).toMatchObject({ rttMs: 6, cut: false });
});

test("changes of links are marks, both ways, and the link as it was is known", async () => {
  const network = await startNetwork({ rttMs: 6 });
  const timeline = timelineOf(() => null);
  const control = await createLabControl({
    network,
    timeline,
    token: "secret",
    logger: new MemoryLogger(),
    registry: createRegistry(),
  });
  onTestFinished(() => control.stop());
  const link = (body: object) =>
    control.app.inject({
      method: "PUT",
      url: "/lab/v1/links/a/b",
      headers: { authorization: "Bearer secret" },
      payload: body,
    });
  const state = async (): Promise<unknown> =>
    (await control.app.inject({ url: "/lab/v1/links/b/a" })).json<unknown>();
  expect(await state()).toMatchObject({ link: { rttMs: 6 }, initial: { rttMs: 6 } });
  expect((await link({ delayMs: 80 })).statusCode).toBe(200);
  expect((await link({ cut: true, oneWay: true })).statusCode).toBe(200);
  expect(await state()).toMatchObject({ link: { rttMs: 80, cut: false }, initial: { rttMs: 6 } });
  const { marks } = (await control.app.inject({ url: "/lab/v1/timeline" })).json<Timeline>();
  expect(marks).toMatchObject([
    { kind: "link", source: "a", target: "b", before: { rttMs: 6 }, after: { rttMs: 80 } },
    { kind: "link", source: "b", target: "a", before: { rttMs: 6 }, after: { rttMs: 80 } },
    { kind: "link", source: "a", target: "b", before: { cut: false }, after: { cut: true } },
  ]);
  expect((await control.app.inject({ url: "/lab/v1/links/a/nowhere" })).statusCode).toBe(404);
});
