import { describe, expect, it } from "vitest";
import { LoadResults } from "./results.ts";

describe("results of the load", () => {
  it("gives quantiles of the answered requests within the histogram's error", () => {
    const results = new LoadResults(0);
    for (let index = 1; index <= 100; index++) results.record(index * 10, index, null);
    const report = results.report(2_000, 10_000);
    expect(report).toMatchObject({ count: 100, errors: 0, requestsPerSecond: 50 });
    for (const [value, exact] of [
      [report.p50Ms!, 50],
      [report.p90Ms!, 90],
      [report.p95Ms!, 95],
    ] as const)
      expect(Math.abs(value - exact) / exact).toBeLessThan(0.012);
  });

  it("keeps the times of failed requests out of the percentiles and counts them", () => {
    const results = new LoadResults(0);
    results.record(0, 10, null);
    results.record(0, 9_000, "status 503");
    expect(results.report(1_000, 1_000)).toMatchObject({ count: 1, errors: 1 });
    expect(results.report(1_000, 1_000).p50Ms).toBeLessThan(11);
  });

  it("gives a p95 from 20 answers on", () => {
    const results = new LoadResults(0);
    for (let index = 0; index < 19; index++) results.record(0, 10, null);
    results.record(0, 9_000, "status 503");
    expect(results.report(1_000, 1_000)).toMatchObject({ p90Ms: null, p95Ms: null });
    results.record(0, 10, null);
    expect(results.report(1_000, 1_000).p95Ms).toBeLessThan(11);
  });

  it("gives the interval in which a percentile is: wide with few requests, narrow with many", () => {
    const widths = [20, 400].map((count) => {
      const results = new LoadResults(0);
      for (let index = 0; index < count; index++) results.record(0, 100 + (200 * index) / count, null);
      const { p10Ms, p50Ms, p95Ms, p50RangeMs, p95RangeMs } = results.report(1_000, 1_000);
      for (const [value, range] of [
        [p50Ms!, p50RangeMs!],
        [p95Ms!, p95RangeMs!],
      ] as const) {
        expect(range[0]).toBeLessThan(value);
        expect(range[1]).toBeGreaterThanOrEqual(value);
      }
      expect(p10Ms).toBeLessThan(p50RangeMs![0]);
      return p50RangeMs![1] - p50RangeMs![0];
    });
    expect(widths[0]! / widths[1]!).toBeGreaterThan(3);
    expect(widths[0]! / widths[1]!).toBeLessThan(6);
  });

  it("leaves out what was planned before the time looked at", () => {
    const results = new LoadResults(0);
    results.record(500, 10, null);
    results.record(9_500, 20, null);
    expect(results.report(10_000, 2_000)).toMatchObject({ count: 1, requestsPerSecond: 0.5 });
  });

  it("says what most of the failed requests failed of, and how late requests left", () => {
    const results = new LoadResults(0);
    for (const failure of ["status 503", "no answer within 10 s", "no answer within 10 s"])
      results.record(0, 0, failure);
    for (let request = 0; request < 100; request++) results.sent(0, request < 90 ? 1 : 400);
    const { failure, sendLateMs } = results.report(1_000, 1_000);
    expect(failure).toBe("no answer within 10 s");
    expect(Math.abs(sendLateMs! - 400)).toBeLessThan(5);
  });

  it("says nothing about an empty time", () => {
    expect(new LoadResults(0).report(10_000, 1_000)).toEqual({
      count: 0,
      errors: 0,
      p10Ms: null,
      p50Ms: null,
      p90Ms: null,
      p95Ms: null,
      p50RangeMs: null,
      p95RangeMs: null,
      requestsPerSecond: 0,
      sendLateMs: null,
      failure: null,
    });
  });
});
