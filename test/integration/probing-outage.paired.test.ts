// A long outage of the probes' aggregator. Mostly waits, so it runs beside other tests.
import { systemClock } from "@isochrone/runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProbeTestbed, soon } from "../harness/faults/probe-testbed.ts";

const BUFFER_RECORDS = 5;
/** Long, because parallel tests may delay a response, and a loss by that would be another fault. */
const PUBLISH_MS = 300;
/** Thirty times the buffer's duration: a shortened outage of some hours. */
const OUTAGE_MS = 30 * BUFFER_RECORDS * PUBLISH_MS;

let testbed: ProbeTestbed;

beforeEach(async () => {
  testbed = await ProbeTestbed.start({
    prefix: "127.0.22",
    publishMs: PUBLISH_MS,
    bufferRecords: BUFFER_RECORDS,
  });
});

afterEach(() => testbed?.close());

test("the aggregator, plan and bus in one, is away for thirty times what the buffer holds", async () => {
  await testbed.stopAggregator();
  const before = await sent();
  await systemClock.sleep(OUTAGE_MS);
  const during = await sent();
  // Two peers at 20 packets/s each. A loaded machine may send only a part.
  expect(during - before).toBeGreaterThan((OUTAGE_MS / 1000) * 40 * 0.5);
  expect(await testbed.metric("a", "isochrone_probe_records_pending")).toBeLessThanOrEqual(BUFFER_RECORDS);
  expect(await testbed.metric("a", "isochrone_probe_records_dropped_total")).toBeGreaterThan(BUFFER_RECORDS);
  expect(await testbed.metric("a", "isochrone_probe_plan_fetch_errors_total")).toBeGreaterThan(2);
  expect(await testbed.metric("a", "isochrone_probe_plan_age_seconds")).toBeGreaterThan(OUTAGE_MS / 2000);
  expect(await testbed.metric("a", "isochrone_unreachable_peers")).toBe(0);

  await testbed.startAggregator();
  await soon(async () => {
    const { links } = await testbed.graph();
    expect(links.filter(({ rttMs, lossRatio }) => rttMs.p50 !== null && lossRatio === 0)).toHaveLength(6);
    expect(await testbed.metric("a", "isochrone_probe_records_pending")).toBeLessThanOrEqual(1);
    expect(await testbed.metric("a", "isochrone_probe_plan_age_seconds")).toBeLessThan(2);
  });
  // The probes reported the dropped records. No others are missing.
  expect(await testbed.aggregatorMetric("isochrone_records_missing_total")).toBe(0);
}, 180_000);

function sent(): Promise<number> {
  return testbed.metric("a", "isochrone_rr_requests_total");
}
