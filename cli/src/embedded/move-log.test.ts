import type { EndToEnd } from "@isochrone/lab";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { MoveLog, type MovedPod, type MoveGroup } from "./move-log.ts";

const figures = (p95Ms: number): EndToEnd => ({
  count: 100,
  errors: 0,
  p10Ms: p95Ms / 3,
  p50Ms: p95Ms / 2,
  p50RangeMs: [0.45 * p95Ms, 0.55 * p95Ms],
  p95RangeMs: [0.9 * p95Ms, 1.1 * p95Ms],
  p90Ms: p95Ms,
  p95Ms,
  requestsPerSecond: 5,
  sendLateMs: 1,
  failure: null,
});
const move = (
  stage: MovedPod["stage"],
  workload: string,
  to: string | null,
  target: string | null = to,
): MovedPod => ({
  stage,
  namespace: "default",
  workload,
  pod: `${workload}-x`,
  from: "n1",
  to,
  target,
  reason: "its channels get shorter",
});

function build() {
  const clock = new ManualClock();
  const world = { p95Ms: 400, isBusy: false };
  const told: (["moved", MoveGroup] | ["measured", MoveGroup, EndToEnd, string | null])[] = [];
  const log = new MoveLog({
    clock,
    lastMs: 20_000,
    endToEnd: async () => figures(world.p95Ms),
    onMoved: (group) => void told.push(["moved", group]),
    onMeasured: (group, after, doubt) => void told.push(["measured", group, after, doubt]),
    isBusy: () => world.isBusy,
  });
  const ending = new AbortController();
  void log.run(ending.signal).catch(() => undefined);
  return { clock, world, told, log };
}

test("pods that move together are told once they have arrived, and what it brought when it is measured", async () => {
  const { clock, world, told, log } = build();
  log.hear(move("evicted", "a", null));
  await clock.advance(2_000);
  log.hear(move("arrived", "a", "n2"));
  log.hear(move("evicted", "b", null));
  await clock.advance(10_000);
  expect(told).toEqual([]);
  log.hear(move("arrived", "b", "n3"));
  world.p95Ms = 200;
  await clock.advance(6_000);
  const group: MoveGroup = {
    pods: [
      { workload: "a", from: "n1", to: "n2", target: "n2", outcome: "moved" },
      { workload: "b", from: "n1", to: "n3", target: "n3", outcome: "moved" },
    ],
    reasons: ["its channels get shorter"],
    before: figures(400),
  };
  expect(told).toEqual([["moved", group]]);
  await clock.advance(22_500);
  expect(told).toEqual([
    ["moved", group],
    ["measured", group, figures(200), null],
  ]);
});

test("what a busy machine measures is told with its doubt", async () => {
  const { clock, world, told, log } = build();
  log.hear(move("arrived", "a", "n2"));
  await clock.advance(8_000);
  world.isBusy = true;
  await clock.advance(22_500);
  expect(told.at(-1)).toMatchObject(["measured", {}, {}, "the machine was busy"]);
});

test.each<[string, MovedPod, Partial<MoveGroup["pods"][number]>]>([
  ["reached its target", move("arrived", "a", "n2"), { to: "n2", outcome: "moved" }],
  ["went elsewhere", move("arrived", "a", "n3", "n2"), { to: "n3", target: "n2", outcome: "failed" }],
  ["came back to its node", move("arrived", "a", "n1", "n2"), { to: "n1", outcome: "failed" }],
  ["stayed", move("withdrawn", "a", "n1", "n2"), { to: "n1", outcome: "failed" }],
  ["has no replacement", move("lost", "a", "n2"), { to: null, target: "n2", outcome: "failed" }],
  ["left a lost node", move("arrived", "a", "n3", null), { to: "n3", outcome: "moved" }],
])("a pod that %s is told so", async (_, last, expected) => {
  const { clock, told, log } = build();
  log.hear(move("replacing", "a", null, last.target));
  log.hear(move("evicted", "a", null, last.target));
  await clock.advance(2_000);
  log.hear(last);
  await clock.advance(32_000);
  expect(told[0]).toMatchObject(["moved", { pods: [{ workload: "a", from: "n1", ...expected }] }]);
  expect(told).toHaveLength(expected.outcome === "moved" ? 2 : 1);
});

test("nothing waits for ever for a pod that is under way", async () => {
  const { clock, told, log } = build();
  log.hear(move("evicted", "a", null, "n2"));
  await clock.advance(62_000);
  expect(told[0]![1].pods).toEqual([
    { workload: "a", from: "n1", to: null, target: "n2", outcome: "moving" },
  ]);
});

test("what moves while a move is measured makes the measurement void: both are measured together", async () => {
  const { clock, told, log } = build();
  log.hear(move("arrived", "a", "n2"));
  await clock.advance(10_000);
  log.hear(move("arrived", "b", "n2"));
  await clock.advance(60_000);
  expect(told.map(([what, { pods }]) => `${what} ${pods.map(({ workload }) => workload).join()}`)).toEqual([
    "moved a",
    "moved b",
    "measured b",
  ]);
});
