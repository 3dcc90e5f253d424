import type { EndToEnd } from "@isochrone/lab";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { MoveLog, type MovedPod, type MoveGroup } from "./move-log.ts";

const figures = (p95Ms: number): EndToEnd => ({
  count: 100,
  errors: 0,
  p50Ms: p95Ms / 2,
  p90Ms: p95Ms,
  p95Ms,
  requestsPerSecond: 5,
  sendLateMs: 1,
  failure: null,
});
const move = (stage: MovedPod["stage"], workload: string, to: string | null): MovedPod => ({
  stage,
  namespace: "default",
  workload,
  pod: `${workload}-x`,
  from: "n1",
  to,
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
      { workload: "a", from: "n1", to: "n2" },
      { workload: "b", from: "n1", to: "n3" },
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

test("a pod that doesn't arrive is told as lost, and nothing waits for it for ever", async () => {
  const { clock, told, log } = build();
  log.hear(move("evicted", "a", "n2"));
  await clock.advance(62_000);
  expect(told[0]![1].pods).toEqual([{ workload: "a", from: "n1", to: null }]);
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

test("a pod that was to move and stayed isn't told as moved", async () => {
  const { clock, told, log } = build();
  log.hear(move("replacing", "a", "n2"));
  log.hear(move("replacing", "b", "n2"));
  await clock.advance(10_000);
  expect(told).toEqual([]);
  log.hear(move("arrived", "a", "n2"));
  log.hear(move("withdrawn", "b", "n2"));
  await clock.advance(6_000);
  expect(told).toMatchObject([["moved", { pods: [{ workload: "a", to: "n2" }] }]]);
});

test("nothing is told of moves that were all withdrawn", async () => {
  const { clock, told, log } = build();
  log.hear(move("replacing", "a", "n2"));
  log.hear(move("withdrawn", "a", "n2"));
  await clock.advance(60_000);
  expect(told).toEqual([]);
});
