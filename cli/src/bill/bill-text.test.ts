import type { Bill, BillZone } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { billText } from "./bill-text.ts";

const MONTH_SECONDS = 2_628_000;
const GB = 1e9 / MONTH_SECONDS;
const zone = (name: string | null): BillZone => ({
  provider: "aws",
  region: "us-east-1",
  zone: name,
});

const BILL: Bill = {
  version: 7,
  observedAt: "2026-01-01T00:00:00Z",
  windowSeconds: 300,
  currency: "USD",
  monthSeconds: MONTH_SECONDS,
  headline: "24.00 USD a month for 1200 of 1204 GB; 4 GB have no price: nodes lack a zone or region label",
  total: {
    bytesPerSecond: 1204 * GB,
    perMonth: 24,
    unpricedBytesPerSecond: 4 * GB,
    channels: 3,
    channelsUnknown: 2,
  },
  channels: [
    {
      source: { namespace: "shop", name: "web" },
      target: { namespace: "shop", name: "api" },
      bytesPerSecond: 1200 * GB,
      perMonth: 24,
      unpricedBytesPerSecond: 0,
      unknown: null,
      zones: [],
    },
    {
      source: { namespace: "shop", name: "api" },
      target: { namespace: "data", name: "db" },
      bytesPerSecond: 4 * GB,
      perMonth: null,
      unpricedBytesPerSecond: 4 * GB,
      unknown: "no_zone",
      zones: [],
    },
    {
      source: { namespace: "shop", name: "web" },
      target: { namespace: "data", name: "db" },
      bytesPerSecond: null,
      perMonth: null,
      unpricedBytesPerSecond: 0,
      unknown: "no_bytes",
      zones: [],
    },
  ],
  workloads: [
    { namespace: "shop", name: "web", bytesPerSecond: 1200 * GB, perMonth: 24, unpricedBytesPerSecond: 0 },
  ],
  namespaces: [
    { namespace: "shop", bytesPerSecond: 1204 * GB, perMonth: 24, unpricedBytesPerSecond: 4 * GB },
  ],
  outside: [
    {
      source: { namespace: "shop", name: "api" },
      destination: "s3-eu",
      bytesPerSecond: 100 * GB,
      perMonth: 9,
      unpricedBytesPerSecond: 0,
      unknown: null,
    },
  ],
  destinations: [
    {
      destination: "s3-eu",
      bytesPerSecond: 100 * GB,
      perMonth: 9,
      unpricedBytesPerSecond: 0,
      unknown: null,
    },
  ],
  zones: [
    {
      from: zone("us-east-1a"),
      to: zone(null),
      bytesPerSecond: 0.5 * GB,
      perMonth: 0.0123,
      unpricedBytesPerSecond: 0,
      unknown: null,
    },
  ],
  unpriced: [],
  prices: [
    {
      provider: "aws",
      scope: "zone-to-zone",
      from: "us-east-*",
      to: null,
      out: 0.01,
      in: 0.01,
      per: "GB",
      currency: "USD",
      source: "https://example.com/prices",
      date: "2024-12",
    },
  ],
  leftOut: 2,
};

const cellsOf = (line: string): string[] => line.trim().split(/ {2,}/);

describe("a bill as text", () => {
  test("has the total with what isn't in it, and each channel", () => {
    const [total, lines, left, prices] = billText(BILL, "channel").split("\n\n");
    expect(total).toBe(
      "bill of 2026-01-01T00:00:00Z, window 300 s, as if a month were like it: 24.00 USD a month for 1200 of 1204 GB; 4 GB have no price: nodes lack a zone or region label; 2 of 3 channels are not, or not wholly, in it",
    );
    expect(lines!.split("\n").map(cellsOf)).toEqual([
      ["channel", "USD/month", "GB/month", "GB without price", "unknown"],
      ["shop/web -> shop/api", "24.00", "1200"],
      ["shop/api -> s3-eu (outside)", "9.00", "100"],
      ["shop/api -> data/db", "–", "4.00", "4.00", "no_zone"],
      ["shop/web -> data/db", "–", "–", "no_bytes"],
    ]);
    expect(left).toBe("2 channels and workloads are left out (--limit)");
    expect(cellsOf(prices!.split("\n")[1]!)).toEqual([
      "aws zone-to-zone us-east-*",
      "0.01 + 0.01 USD/GB",
      "2024-12",
      "https://example.com/prices",
    ]);
  });

  test.each([
    ["workload", ["shop/web", "24.00", "1200"]],
    ["namespace", ["shop", "24.00", "1204", "4.00"]],
    ["destination", ["s3-eu", "9.00", "100"]],
    ["zones", ["us-east-1a -> (no zone, us-east-1)", "0.012", "0.500"]],
  ] as const)("has lines by %s", (by, cells) => {
    expect(cellsOf(billText(BILL, by).split("\n\n")[1]!.split("\n")[1]!)).toEqual(cells);
  });

  test("never says of a line with money that it is unknown", () => {
    const [first] = BILL.channels;
    const channels = [{ ...first!, unpricedBytesPerSecond: GB, unknown: "no_price" as const }];
    const lines = billText({ ...BILL, channels, outside: [] }, "channel").split("\n\n")[1]!;
    expect(cellsOf(lines.split("\n")[1]!)).toEqual([
      "shop/web -> shop/api",
      "24.00",
      "1200",
      "1.00",
      "partly: no_price",
    ]);
  });

  test("of no traffic says so: it is not 0", () => {
    const total = { ...BILL.total, channels: 0, channelsUnknown: 0, perMonth: null, bytesPerSecond: null };
    const headline = "no traffic is counted";
    const lines = { channels: [], outside: [], prices: [], leftOut: 0 };
    const text = billText({ ...BILL, total, headline, ...lines }, "channel");
    expect(text).toMatch(/like it: no traffic is counted\n\nno traffic$/);
  });
});
