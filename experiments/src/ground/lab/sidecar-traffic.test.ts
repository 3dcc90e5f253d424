import { describe, expect, it } from "vitest";
import { channelKey, trafficOf } from "./sidecar-traffic.ts";

const labels = (reporter: string, source: string, target: string, code = "200"): string =>
  `reporter="${reporter}",source_workload="${source}",destination_service_name="${target}",response_code="${code}"`;

describe("traffic by the sidecars", () => {
  it("is the sum over pods and response codes, as callers count", () => {
    const pages = [
      [
        "# TYPE istio_requests_total counter",
        `istio_requests_total{${labels("source", "a", "b")}} 10`,
        `istio_requests_total{${labels("source", "a", "b", "503")}} 2`,
        `istio_requests_total{${labels("destination", "x", "a")}} 99`,
        `istio_request_bytes_sum{${labels("source", "a", "b")}} 1000`,
        `istio_response_bytes_sum{${labels("source", "a", "b")}} 500`,
        `istio_response_bytes_count{${labels("source", "a", "b")}} 10`,
      ].join("\n"),
      `istio_requests_total{${labels("source", "a", "b")}} 5\n`,
    ];
    expect([...trafficOf(pages)]).toEqual([[channelKey("a", "b"), { requests: 17, bytes: 1500 }]]);
  });
});
