import { loadSettings } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { aggregatorSettings } from "../settings.ts";

const load = (aggregator: Readonly<Record<string, unknown>>) =>
  loadSettings([aggregatorSettings], { env: {}, file: { aggregator } }).aggregator;

test("keys are nobody's business and bursts are taken, unless told otherwise", () => {
  expect(load({})).toMatchObject({
    hmacKeysFile: null,
    hmacKeysSecret: null,
    probeBandwidthPort: 7413,
    probePeers: 10,
    keyRotationMs: 86_400_000,
  });
});

test.each([
  [
    { hmacKeysFile: "/keys", hmacKeysSecret: "isochrone/keys" },
    "aggregator.hmacKeysSecret must not be set together with aggregator.hmacKeysFile, got isochrone/keys and /keys",
  ],
  [{ hmacKeysSecret: "keys" }, "must be namespace/name of a Secret, got keys"],
  [
    { bandwidthHourlyBytes: 2000 },
    "aggregator.bandwidthHourlyBytes must be 0 or at least what one test may take (134217728), got 2000",
  ],
  [{ probePeers: 0 }, "must be at least 1, got 0"],
])("%j is refused", (settings, message) => {
  expect(() => load(settings)).toThrow(message);
});

test("no bandwidth tests at all is a choice", () => {
  expect(load({ bandwidthHourlyBytes: 0 }).bandwidthHourlyBytes).toBe(0);
});
