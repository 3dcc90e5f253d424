import { loadSettings } from "@isochrone/runtime";
import { deschedulerSettings } from "@isochrone/scheduler-plugin";
import { expect, test } from "vitest";
import { movingConfig } from "./settings.ts";

const { descheduler: product } = loadSettings([deschedulerSettings], { env: {} });

test.each([5_000, 30_000, 300_000])(
  "with windows of %d ms moves keep to the product's brakes",
  (windowMs) => {
    const { descheduler } = movingConfig({ allowedHosts: [], env: {}, windowMs }, false, 1);
    for (const same of ["rounds", "minGainRatio", "maxEvictions", "maxRegret", "regretMoves"] as const)
      expect(descheduler[same]).toBe(product[same]);
    // A move is judged before its workload may be moved again.
    expect(descheduler.coolDownMs).toBeGreaterThanOrEqual(descheduler.judgeAfterMs + windowMs);
    expect(descheduler.regretPauseMs).toBeGreaterThan(descheduler.coolDownMs);
    expect(descheduler.maxEvictionsPerHour).toBeLessThanOrEqual(2 * product.maxEvictionsPerHour);
  },
);
