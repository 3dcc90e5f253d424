import { expect, test } from "vitest";
import { percentileLack, samplesForPercentile } from "./percentile-rule.ts";

test.each([
  [0.5, 1],
  [0.9, 20],
  [0.95, 20],
  [0.99, 100],
  [0.999, 100],
])("quantile %d is shown from %d samples on", (share, least) => {
  expect(samplesForPercentile(share)).toBe(least);
  expect(percentileLack(share, least)).toBeNull();
  expect(percentileLack(share, least - 1)).toContain(`from ${least} requests on; there`);
});
