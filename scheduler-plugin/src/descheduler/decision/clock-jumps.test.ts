import { readLastMove, readMoveRecords } from "@isochrone/kubernetes";
import { seeded } from "@isochrone/primitives";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { DeschedulerRig, MINUTE } from "../../testing/descheduler-rig.ts";
import { BackOff } from "../back-off.ts";
import { notAhead } from "../term-memory.ts";
import { ClockSteps } from "./clock-steps.ts";
import { LeftNodes } from "./left-nodes.ts";
import { SettledPods } from "./settled-pods.ts";

const YEAR_MS = 365 * 86_400_000;
const HOUR = 60 * MINUTE;
const draw = seeded(1);
const STEPS = Array.from({ length: 12 }, (_, index) => {
  const ms = Math.round(10 ** (3 + (Math.log10(10 * YEAR_MS) - 3) * draw()));
  return index % 2 === 0 ? ms : -ms;
});

test.each([...STEPS, 1_000, -10 * YEAR_MS])(
  "a move whose replacement doesn't come is given up at its deadline, also when the clock is set by %i ms",
  async (stepMs) => {
    const rig = new DeschedulerRig({ moveDeadlineMs: 5 * MINUTE });
    await rig.begin();
    await rig.run();
    expect(rig.term.report.inFlight).toHaveLength(1);
    rig.clock.stepWall(stepMs);
    await rig.clock.advance(4 * MINUTE);
    await rig.run();
    expect(rig.term.report.inFlight).toHaveLength(1);
    await rig.clock.advance(MINUTE + 1);
    await rig.run();
    expect(rig.term.report.inFlight).toEqual([]);
    expect(await rig.metric("isochrone_descheduler_moves_total", '{outcome="lost"}')).toBe(1);
    const owner = (await rig.replicaSet("web"))!;
    expect(readMoveRecords(owner, rig.clock.now())).toEqual([]);
    expect(readLastMove(owner)).not.toBeNull();
  },
);

test("evictions and refusals are remembered for as long as without a jump", () => {
  for (let round = 0; round < 200; round++) {
    const stepMs = STEPS[round % STEPS.length]!;
    const passedMs = Math.floor(120 * draw()) * MINUTE;
    const [clock, steady] = [new ManualClock(), new ManualClock()];
    const [left, leftSteady] = [new LeftNodes(30 * MINUTE), new LeftNodes(30 * MINUTE)];
    const [settled, settledSteady] = [new SettledPods(), new SettledPods()];
    const [backOff, backOffSteady] = [new BackOff(MINUTE), new BackOff(MINUTE)];
    const clockSteps = new ClockSteps(clock);
    const note = { owner: "o", workflow: "w", node: "n", atMs: clock.now() };
    left.add(note);
    leftSteady.add(note);
    for (const pods of [settled, settledSteady])
      pods.add({ pod: "shop/web-1", afterMs: 1, atMs: clock.now() });
    backOff.refused("key", clock.now());
    backOffSteady.refused("key", steady.now());
    clock.stepWall(stepMs);
    const steppedMs = clockSteps.take();
    expect(steppedMs).toBe(stepMs);
    expect(clockSteps.take()).toBe(0);
    for (const each of [left, settled, backOff]) each.shift(steppedMs);
    const [wallMs, steadyMs] = [clock.now() + passedMs, steady.now() + passedMs];
    expect(left.lastHour(wallMs)).toHaveLength(leftSteady.lastHour(steadyMs).length);
    expect(left.current(wallMs)).toEqual(leftSteady.current(steadyMs));
    expect(backOff.current(wallMs)).toEqual(backOffSteady.current(steadyMs));
    settled.expire(wallMs);
    settledSteady.expire(steadyMs);
    const [stays, staysSteady] = [settled, settledSteady].map((pods) => pods.noteOf("shop/web-1"));
    expect(stays === null).toBe(staysSteady === null);
  }
});

test("what a leader with a clock ahead has noted counts from now", () => {
  const nowMs = 1_700_000_000_000;
  const note = { owner: "o", workflow: "w", node: "n" };
  const memory = {
    left: [
      { ...note, atMs: nowMs + 10 * YEAR_MS },
      { ...note, atMs: nowMs - HOUR },
    ],
    settled: [{ pod: "shop/web-1", afterMs: 1, atMs: nowMs + YEAR_MS }],
    waiting: [],
    unmeasured: [],
  };
  expect(notAhead(memory, nowMs).settled).toMatchObject([{ atMs: nowMs }]);
  expect(notAhead(memory, nowMs).left.map(({ atMs }) => atMs)).toEqual([nowMs, nowMs - HOUR]);
});
