import { expect, test } from "vitest";
import { probeConfigOf } from "./settings.ts";

const SEAT = {
  node: "n1",
  zone: "z1",
  region: "r1",
  bindAddress: "127.0.0.2",
  identity: "10.0.0.1",
  hmacKeys: `1:${"0".repeat(64)}`,
  aggregatorUrl: "http://127.0.0.1:1",
};
const intervalsOf = (env: Readonly<Record<string, string>>): unknown => {
  const { intervalMs, publishIntervalMs } = probeConfigOf({ windowMs: 30_000, env }, SEAT);
  return { intervalMs, publishIntervalMs };
};

test("a slower interval of the environment slows the publishing too, and a faster one leaves it", () => {
  expect(intervalsOf({})).toEqual({ intervalMs: 500, publishIntervalMs: 1_000 });
  expect(intervalsOf({ ISOCHRONE_PROBE_INTERVAL_MS: "2s" })).toEqual({
    intervalMs: 2_000,
    publishIntervalMs: 2_000,
  });
  expect(intervalsOf({ ISOCHRONE_PROBE_INTERVAL_MS: "100" })).toEqual({
    intervalMs: 100,
    publishIntervalMs: 1_000,
  });
});
