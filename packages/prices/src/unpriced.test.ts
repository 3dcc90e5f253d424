import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { expect, test } from "vitest";
import { billOf, MONTH_SECONDS } from "./bill.ts";
import { readPrices } from "./read.ts";
import { PriceTable } from "./table.ts";

const GB = 1e9 / MONTH_SECONDS;
const ROW = { provider: "own", from: "*", in: 0, per: "GB", currency: "USD", source: "x", date: "unknown" };
const ZONES = { ...ROW, scope: "zone-to-zone", out: 0.02 };
const at = (name: string, provider: string | null, region: string | null, zone: string | null) =>
  node(name, { provider, region, zone });
const NODES = [
  at("a", null, "eu", "eu-1"),
  at("b", null, "eu", "eu-2"),
  at("c", null, "us", "us-1"),
  at("aws", "aws", "sa-east-1", "sa-east-1a"),
  at("far", "aws", "us-east-1", "us-east-1a"),
  at("bare", null, null, null),
];

const headline = (pairs: readonly (readonly [string, string, number | null])[], prices: unknown): string => {
  const channels = pairs.map(([, , gigabytes], index) =>
    channel(`p${index}`, `q${index}`, gigabytes === null ? null : gigabytes * GB),
  );
  const workloads = pairs.flatMap(([from, to], index) => [
    workload(`p${index}`, { [`p${index}-1`]: from }),
    workload(`q${index}`, { [`q${index}-1`]: to }),
  ]);
  const bill = billOf(
    {
      version: 1,
      observedAt: "2026-01-01T00:00:00Z",
      windowSeconds: 30,
      nodes: NODES,
      workflows: [workflowSnapshot(workloads, channels)],
      demand: { services: [] },
    },
    PriceTable.of(readPrices(prices)),
  );
  const listed = bill.unpriced.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  expect(listed).toBeCloseTo(bill.total.unpricedBytesPerSecond, 6);
  return bill.headline;
};

test.each<[string, Parameters<typeof headline>[0], string]>([
  ["all of it has a price", [["a", "b", 92.6]], "1.85 USD a month for 93 GB"],
  [
    "a row is missing",
    [
      ["a", "b", 92.6],
      ["a", "a", 147],
    ],
    "1.85 USD a month for 93 of 240 GB; 147 GB have no price: add a row `same-zone` for provider own",
  ],
  [
    "rows are missing, the most bytes first",
    [
      ["a", "b", 92.6],
      ["b", "b", 1],
      ["a", "c", 5],
      ["c", "b", 4],
    ],
    "1.85 USD a month for 93 of 103 GB; 10 GB have no price: add a row `region-to-region` for provider own, add a row `same-zone` for provider own",
  ],
  [
    "a cloud's row of two regions is missing",
    [["aws", "far", 3]],
    "cost unknown: none of 3 GB a month has a price: add a row `region-to-region` for provider aws from sa-east-1 to us-east-1 and back",
  ],
  [
    "no row can help",
    [
      ["a", "aws", 3],
      ["a", "bare", 2],
      ["a", "gone", 1],
    ],
    "cost unknown: none of 6 GB a month has a price: no row can price traffic between two providers, nodes lack a zone or region label, an end has no pod on a node",
  ],
  ["no bytes are counted", [["a", "b", null]], "cost unknown: no channel counts its bytes"],
  ["there is no traffic", [], "no traffic is counted"],
])("the headline says the money and the remedy where %s", (_, pairs, text) => {
  expect(headline(pairs, { prices: [ZONES] })).toBe(text);
});
