import { describe, expect, test } from "vitest";
import { parseDemand, type Demand, type ZoneDemand } from "./demand.ts";
import { SnapshotError } from "../errors.ts";

const demand = (zone: Partial<ZoneDemand> = {}): Demand => ({
  version: 1,
  observedAt: "2026-01-31T12:00:00.000Z",
  windowSeconds: 300,
  services: [
    {
      namespace: "shop",
      name: "db",
      deadlineMs: null,
      zones: [
        {
          zone: null,
          requestsPerSecond: 1,
          errorRatio: 0,
          inTimeRatio: null,
          latencyMs: { p50: 1, p90: null, p99: null },
          ageSeconds: 2,
          ...zone,
        },
      ],
    },
  ],
});

describe("demand from JSON", () => {
  test("passes unchanged when it follows the schema", () => {
    const good = demand();
    expect(parseDemand(good)).toBe(good);
  });

  test.each([
    { requestsPerSecond: -1 },
    { requestsPerSecond: Number.NaN },
    { requestsPerSecond: 1e300 },
    { errorRatio: 1.5 },
    { inTimeRatio: -0.1 },
    { latencyMs: { p50: -1, p90: null, p99: null } },
    { ageSeconds: -5 },
    { zone: 7 as unknown as string },
  ])("is refused with the place of what can't be: %j", (zone) => {
    expect(() => parseDemand(demand(zone))).toThrow(SnapshotError);
    expect(() => parseDemand(demand(zone))).toThrow(/services/);
  });
});
