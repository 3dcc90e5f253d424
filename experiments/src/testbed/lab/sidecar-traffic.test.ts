import { describe, expect, it } from "vitest";
import { channelKey, trafficBetween, trafficOf } from "./sidecar-traffic.ts";

const labels = (reporter: string, source: string, target: string, code = "200"): string =>
  `reporter="${reporter}",source_workload="${source}",destination_service_name="${target}",response_code="${code}"`;

describe("traffic by the sidecars", () => {
  it("is the sum over response codes, as callers count", () => {
    const page = [
      "# TYPE istio_requests_total counter",
      `istio_requests_total{${labels("source", "a", "b")}} 10`,
      `istio_requests_total{${labels("source", "a", "b", "503")}} 2`,
      `istio_requests_total{${labels("destination", "x", "a")}} 99`,
      `istio_request_bytes_sum{${labels("source", "a", "b")}} 1000`,
      `istio_response_bytes_sum{${labels("source", "a", "b")}} 500`,
      `istio_response_bytes_count{${labels("source", "a", "b")}} 10`,
    ].join("\n");
    expect([...trafficOf(page)]).toEqual([[channelKey("a", "b"), { requests: 12, bytes: 1500 }]]);
  });

  it("of a stretch is what each pod has counted in it: one that was replaced takes nothing from its successor", () => {
    const of = (requests: number): ReturnType<typeof trafficOf> =>
      new Map([[channelKey("a", "b"), { requests, bytes: requests * 100 }]]);
    const before = new Map([
      ["a-old", of(1000)],
      ["a-stays", of(50)],
    ]);
    const after = new Map([
      ["a-new", of(30)],
      ["a-stays", of(57)],
    ]);
    expect([...trafficBetween(before, after)]).toEqual([
      [channelKey("a", "b"), { requests: 37, bytes: 3700 }],
    ]);
  });
});
