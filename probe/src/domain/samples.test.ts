import { expect, test } from "vitest";
import { Samples, type Sample } from "./samples.ts";
import { Tally } from "./tally.ts";

const HEAD = { node: "b", method: "udp_rr", ipFamily: 4 } as const;
const SOUND: Sample = { applicationMs: 1, plannedMs: 3, kernelMs: 0.75, residenceMs: 0.25, stalled: false };

function record(...samples: readonly Partial<Sample>[]): ReturnType<Tally["drain"]> {
  const tally = new Tally();
  const judge = new Samples(tally, 0);
  for (const sample of samples) judge.record({ ...SOUND, ...sample });
  return tally.drain(HEAD);
}

test("the network's time is the kernel's without the residence; a program's is the thread's with it", () => {
  const { rtt, application, planned, stamps } = record({});
  expect(rtt.sum).toBeCloseTo(0.0005, 12);
  expect(application.sum).toBeCloseTo(0.001, 12);
  expect(planned.sum).toBeCloseTo(0.003, 12);
  expect(stamps).toEqual({ kernel: 1, user: 0 });
});

test.each([
  ["a stamp is missing", Number.NaN],
  ["the clock was set back", -3_600_000],
  ["the clock was set forward", 3_600_000],
])("the thread's own times count when %s", (_title, kernelMs) => {
  const { rtt, stamps } = record({ kernelMs });
  expect(rtt.sum).toBeCloseTo(0.00075, 12);
  expect(stamps).toEqual({ kernel: 0, user: 1 });
});

test("a residence that is stated a little too long leaves the least time there is, not a negative one", () => {
  const { rtt, stamps, discards } = record({ kernelMs: 0.24 });
  expect(rtt.sum).toBeCloseTo(0.000001, 12);
  expect({ stamps, discards }).toEqual({ stamps: { kernel: 1, user: 0 }, discards: {} });
});

test("a stall takes a program's times, and the network's too where the kernel has none", () => {
  const stamped = record({ stalled: true, applicationMs: 50 });
  expect(stamped.rtt.sum).toBeCloseTo(0.0005, 12);
  expect(stamped.application.count + stamped.planned.count).toBe(0);
  const unstamped = record({ stalled: true, applicationMs: 50, kernelMs: Number.NaN });
  expect(unstamped.rtt.count).toBe(0);
  expect(unstamped.discards).toEqual({ thread_stalled: 1 });
});

test.each([
  ["the kernel", {}],
  ["the thread", { kernelMs: Number.NaN, residenceMs: 1.25 }],
])("a residence far beyond what %s saw is believed by nobody", (_title, values) => {
  const { rtt, discards, application } = record({ residenceMs: 0.8, ...values });
  expect({ count: rtt.count, discards, seen: application.count }).toEqual({
    count: 0,
    discards: { bad_residence: 1 },
    seen: 0,
  });
});
