import { ManualClock } from "@isochrone/runtime/testing";
import { expect, test } from "vitest";
import { MachineWatch, type MachineState } from "./machine.ts";

class LateClock extends ManualClock {
  lateMs = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(ms + this.lateMs, signal);
  }
}

function build(load = 1) {
  const clock = new LateClock();
  const paces: number[] = [];
  const changes: MachineState[] = [];
  const world = { load, unanswered: 0 };
  const watch = new MachineWatch({
    clock,
    load: () => world.load,
    cores: 2,
    unanswered: async () => world.unanswered,
    setPace: (pace) => void paces.push(pace),
    onChange: (state) => void changes.push(state),
  });
  const ending = new AbortController();
  const done = watch.run(ending.signal).catch(() => undefined);
  return { clock, watch, paces, changes, world, ending, done };
}

test("a quiet machine changes nothing and is not worth a word", async () => {
  const { clock, watch, paces, changes } = build();
  await clock.advance(60_000);
  expect(paces).toEqual([]);
  expect(changes).toEqual([]);
  expect(watch.state).toMatchObject({ isBusy: false, pace: 1 });
});

test("late wake-ups lower the rates step by step, are said once, and the rates come back by themselves", async () => {
  const { clock, watch, paces, changes } = build(26);
  clock.lateMs = 340;
  await clock.advance(60_000);
  expect(paces).toEqual([2, 4, 8]);
  expect(changes).toEqual([{ isBusy: true, isLate: true, lateMs: 340, load: 26, cores: 2, pace: 2 }]);
  clock.lateMs = 5;
  await clock.advance(60_000);
  expect(paces).toEqual([2, 4, 8, 4, 2, 1]);
  expect(changes).toHaveLength(2);
  expect(changes[1]).toMatchObject({ isBusy: false, pace: 1 });
  expect(watch.state.isBusy).toBe(false);
});

test("what is neither late nor in time neither lowers nor raises the rates", async () => {
  const { clock, watch, paces } = build();
  clock.lateMs = 150;
  await clock.advance(8_000);
  expect(paces).toEqual([2]);
  expect(watch.state).toMatchObject({ isBusy: true, isLate: true });
  clock.lateMs = 75;
  await clock.advance(60_000);
  expect(paces).toEqual([2]);
  expect(watch.state).toMatchObject({ isBusy: true, isLate: false });
});

test("unanswered requests count on a crowded machine; on another one they may be a cut link's", async () => {
  const quiet = build(2);
  quiet.world.unanswered = 1;
  await quiet.clock.advance(30_000);
  expect(quiet.paces).toEqual([]);
  const crowded = build(14);
  crowded.world.unanswered = 1;
  await crowded.clock.advance(6_000);
  expect(crowded.paces).toEqual([2]);
});

test("a machine that can't bear the full rates gets them ever more rarely", async () => {
  const { clock, paces } = build();
  const raisedMs: number[] = [];
  for (let second = 0; second < 3_600; second++) {
    clock.lateMs = (paces.at(-1) ?? 1) === 1 ? 150 : 5;
    const before = paces.length;
    await clock.advance(1_000);
    if (paces.length > before && paces.at(-1) === 1) raisedMs.push(clock.monotonic());
  }
  const gapsMs = raisedMs.slice(1).map((atMs, at) => atMs - raisedMs[at]!);
  expect(Math.min(...gapsMs.slice(3))).toBeGreaterThan(60_000);
  expect(Math.max(...gapsMs)).toBeLessThan(180_000);
});
