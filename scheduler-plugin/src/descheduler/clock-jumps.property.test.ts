import { readLastMove, readMoveRecords } from "@isochrone/kubernetes";
import { assert, asyncProperty, boolean, double, integer, property } from "fast-check";
import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { DeschedulerRig, MINUTE } from "../testing/descheduler-rig.ts";
import { BackOff } from "./back-off.ts";
import { ClockSteps, notAhead } from "./clock-steps.ts";
import { LeftNodes } from "./decision/left-nodes.ts";
import { SettledPods } from "./decision/settled-pods.ts";

const YEAR_MS = 365 * 86_400_000;
const steps = double({ min: 3, max: Math.log10(10 * YEAR_MS), noNaN: true }).chain((log) =>
  boolean().map((isBack) => Math.round(10 ** log) * (isBack ? -1 : 1)),
);
const HOUR = 60 * MINUTE;

test("a move whose replacement doesn't come is given up at its deadline, whatever the clock was set to", async () => {
  await assert(
    asyncProperty(steps, async (stepMs) => {
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
    }),
    { numRuns: 10 },
  );
});

test("evictions and refusals are remembered for as long as without a jump", () => {
  assert(
    property(steps, integer({ min: 0, max: 120 }), integer({ min: 0, max: 120 }), (stepMs, before, after) => {
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
      clock.stepWall(before * MINUTE);
      expect(clockSteps.take()).toBe(before * MINUTE);
      for (const each of [left, settled, backOff]) each.shift(before * MINUTE);
      clock.stepWall(stepMs);
      const stepped = clockSteps.take();
      expect(stepped).toBe(stepMs);
      for (const each of [left, settled, backOff]) each.shift(stepped);
      const wallMs = clock.now() + after * MINUTE;
      const steadyMs = steady.now() + after * MINUTE;
      expect(left.lastHour(wallMs)).toHaveLength(leftSteady.lastHour(steadyMs).length);
      expect(left.current(wallMs)).toEqual(leftSteady.current(steadyMs));
      expect(backOff.current(wallMs)).toEqual(backOffSteady.current(steadyMs));
      expect(settled.reasonToStay("shop/web-1", 1, wallMs)).toBe(
        settledSteady.reasonToStay("shop/web-1", 1, steadyMs),
      );
    }),
  );
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
