import { node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { expect, test } from "vitest";
import { billOf } from "./bill.ts";
import { PriceTable } from "./table.ts";

test("traffic with the outside whose bytes nobody counts is unknown, not free", () => {
  const place = { provider: "aws", region: "us-east-1", zone: "us-east-1a" };
  const call = {
    workload: "p",
    destination: "internet",
    sentBytesPerSecond: null,
    receivedBytesPerSecond: null,
    sentRequestsPerSecond: 3,
    receivedRequestsPerSecond: 0,
    countedBy: "source",
    ageSeconds: 1,
  };
  const workflow = { ...workflowSnapshot([workload("p", { "p-1": "a1" })], []), outside: [call] };
  const graphs = {
    version: 1,
    observedAt: "2026-01-01T00:00:00Z",
    windowSeconds: 30,
    nodes: [node("a1", place)],
    workflows: [workflow],
    demand: { services: [] },
  };
  expect(billOf(graphs, PriceTable.of(null)).outside).toMatchObject([
    { destination: "internet", bytesPerSecond: null, perMonth: null, unknown: "no_bytes" },
  ]);
});
