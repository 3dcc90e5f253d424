import { expect, test } from "vitest";
import { metricsReference } from "./render.ts";

test("a metric stands with its service, one of several with all of them, each with its unit", () => {
  const requests = {
    name: "isochrone_http_requests_total",
    help: "Requests.",
    type: "counter",
    labels: ["code"],
  };
  const lag = { name: "isochrone_lag_seconds", help: "How late; a | b.", type: "gauge", labels: [] };
  const cpu = { name: "isochrone_process_cpu_seconds_total", help: "CPU.", type: "counter", labels: [] };
  const reference = metricsReference(
    new Map([
      ["probe", [requests, lag, cpu]],
      ["collector", [requests, cpu]],
    ]),
  );
  const sections = reference
    .split("### ")
    .map((text) => text.split("\n").filter((line) => line.startsWith("| `")));
  expect(sections).toEqual([
    [],
    ["| `isochrone_http_requests_total` | counter | `code` |  | Requests. | probe, collector |"],
    [String.raw`| ${"`isochrone_lag_seconds`"} | gauge |  | s | How late; a \| b. |`],
    [],
    ["| `isochrone_process_cpu_seconds_total` | counter |  | s | CPU. |"],
  ]);
});
