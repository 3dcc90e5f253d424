import { describe, expect, test } from "vitest";
import { PriceError } from "./errors.ts";
import { readPrices } from "./read.ts";
import { AWS_ROWS } from "./rows/aws.ts";
import { AZURE_ROWS } from "./rows/azure.ts";
import { GCP_ROWS } from "./rows/gcp.ts";
import { PriceTable } from "./table.ts";

const row = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  provider: "own",
  scope: "zone-to-zone",
  from: "*",
  out: 0.004,
  in: 0,
  per: "GB",
  currency: "USD",
  source: "contract of 2026",
  date: "2026-10-01",
  ...fields,
});

const without = (field: string): Record<string, unknown> => {
  const { [field]: _, ...others } = row();
  return others;
};

const mistakesOf = (json: unknown): readonly string[] => {
  try {
    PriceTable.of(readPrices(json));
  } catch (error) {
    if (error instanceof PriceError) return error.mistakes;
    throw error;
  }
  return [];
};

const dest = { name: "s3", scope: "internet" };

describe("a file of prices is refused, with subject, rule and value, when", () => {
  test.each<[string, unknown, RegExp]>([
    ["it is a list", [row()], /^prices must be an object with a list prices, got \[/],
    ["it has no rows", { prices: [] }, /^prices must be a list of 1 to 10000 rows, got 0$/],
    ["it has other fields", { prices: [row()], mode: 1 }, /^mode is no field of prices/],
    ["replace is a word", { prices: [row()], replace: "yes" }, /^replace must be true or false, got "yes"$/],
    ["nothing but destinations replaces all", { replace: true, destinations: [] }, /^prices must be a list/],
    ["a destination is no object", { destinations: [1] }, /^destinations\[0\] must be an object/],
    [
      "a destination has no scope",
      { destinations: [{ name: "s3" }] },
      /^destinations\[0\]\.scope must be one of same-zone, .*, got nothing$/,
    ],
    [
      "a far destination has no region",
      { destinations: [{ name: "s3", scope: "region-to-region" }] },
      /^destinations\[0\]\.region must be the region that it is in, got nothing$/,
    ],
    [
      "a near one has a region",
      { destinations: [{ name: "s3", scope: "same-zone", region: "eu" }] },
      /\.region is for scope region-to-region only, got "eu"$/,
    ],
    [
      "a destination stands twice",
      { destinations: [dest, dest] },
      /^destinations\[1\]\.name must not stand twice, got "s3"$/,
    ],
    ["a row is no object", { prices: ["free"] }, /^prices\[0\] must be an object, got "free"$/],
    [
      "a price is negative",
      { prices: [row({ out: -0.01 })] },
      /^prices\[0\]\.out must be .* 0 .*, got -0.01$/,
    ],
    ["a price is a text", { prices: [row({ in: "0.01" })] }, /^prices\[0\]\.in must be a number .*"0.01"$/],
    ["a price is no number", { prices: [row({ in: Number.NaN })] }, /^prices\[0\]\.in must be a number/],
    ["a price is beyond belief", { prices: [row({ out: 1e9 })] }, /^prices\[0\]\.out must be .* to 10000/],
    ["the provider is unknown", { prices: [row({ provider: "hetzner" })] }, /provider must be one of aws,/],
    ["the unit is unknown", { prices: [row({ per: "TB" })] }, /per must be one of GB, GiB, got "TB"$/],
    ["the region has a star within", { prices: [row({ from: "us-*-1" })] }, /from must be a region/],
    ["a zone's price names two regions", { prices: [row({ to: "*" })] }, /to is for scope region-to-region/],
    ["a region's names one", { prices: [row({ scope: "region-to-region" })] }, /\.to must be a region/],
    ["the date is none", { prices: [row({ date: "yesterday" })] }, /date must be a date/],
    ["a field is unknown", { prices: [row({ price: 1 })] }, /^prices\[0\]\.price is no field of a price$/],
    [
      "a row stands twice",
      { prices: [row(), row()] },
      /^prices\[1\] must not stand twice, got own zone-to-zone \*$/,
    ],
    [
      "rows contradict each other",
      { prices: [row(), row({ out: 0.1 })] },
      /^prices\[1\] must not contradict a row before, got own zone-to-zone \*$/,
    ],
    ["it is in another currency", { prices: [row({ currency: "EUR" })] }, /in one currency, got USD and EUR/],
    [
      "it is in two",
      { replace: true, prices: [row(), row({ from: "a", currency: "EUR" })] },
      /in one currency/,
    ],
  ])("%s", (_, json, words) => {
    expect(mistakesOf(json).join("\n")).toMatch(words);
  });

  test.each(["provider", "scope", "from", "out", "in", "per", "currency", "source", "date"])(
    "a row lacks %s",
    (field) => {
      expect(mistakesOf({ prices: [without(field)] })).toContainEqual(
        expect.stringMatching(new RegExp(`^prices\\[0\\]\\.${field} must .*, got nothing$`)),
      );
    },
  );

  test("all mistakes are told at once", () => {
    expect(mistakesOf({ prices: [row({ out: -1, date: "" }), without("in")] })).toHaveLength(3);
  });
});

test.each([
  ["aws", AWS_ROWS],
  ["gcp", GCP_ROWS],
  ["azure", AZURE_ROWS],
] as const)("the built-in rows of %s follow the rules of a file", (provider, rows) => {
  const prices = rows.map(({ to, ...others }) => (to === null ? others : { ...others, to }));
  expect(mistakesOf({ replace: true, prices })).toEqual([]);
  expect(readPrices({ prices }).rows).toEqual(rows);
  for (const each of rows) {
    expect(each.provider).toBe(provider);
    expect(each.source).toMatch(/^https:\/\//);
  }
});

describe("a values file of the chart", () => {
  test.each<[string, Record<string, unknown>]>([
    ["rows", { prices: [row()] }],
    ["rows that replace all", { replace: true, prices: [row()] }],
    ["destinations", { destinations: [dest] }],
    ["OpenCost's prices", { zoneNetworkEgress: "0.01" }],
  ])("is read as its value prices: %s", (_, prices) => {
    expect(readPrices({ prices, aggregator: { replicas: 2 }, outside: {} })).toEqual(readPrices(prices));
  });

  test.each<[string, unknown, string]>([
    [
      "replace stands beside prices",
      { prices: { prices: [row()] }, replace: true },
      "replace must be in the object prices, got it beside prices",
    ],
    ["its prices are empty", { prices: {} }, "prices must be a list of 1 to 10000 rows, got nothing"],
    [
      "a field is unknown",
      { prices: { rows: [] } },
      "rows is no field of prices (replace, prices, destinations)",
    ],
    [
      "a price is wrong",
      { prices: { prices: [row({ out: -1 })] } },
      "prices[0].out must be a number from 0 to 10000, got -1",
    ],
  ])("is refused where %s", (_, json, mistake) => {
    expect(mistakesOf(json)).toContain(mistake);
  });
});

describe("OpenCost's prices", () => {
  const OPEN_COST = {
    provider: "custom",
    description: "Default prices",
    CPU: "0.031611",
    RAM: "0.004237",
    zoneNetworkEgress: "0.01",
    regionNetworkEgress: 0.02,
    internetNetworkEgress: "0.12",
  };
  const place = (provider: "aws" | "own", region: string, zone: string) => ({ provider, region, zone });
  const GIB = 2 ** 30;

  test.each<[string, unknown]>([
    ["a file", OPEN_COST],
    ["a ConfigMap", { kind: "ConfigMap", data: { x: "-", "default.json": JSON.stringify(OPEN_COST) } }],
  ])("are taken from %s, for a GiB that leaves, in place of all that are built in", (_, json) => {
    const table = PriceTable.of(readPrices(json));
    for (const provider of ["aws", "own"] as const) {
      const from = place(provider, "eu-west-1", "a");
      const perGib = (to: typeof from): unknown => {
        const price = table.between(from, to);
        return typeof price === "string" ? price : price.perByte * GIB;
      };
      expect(perGib(from)).toBe(0);
      expect(perGib(place(provider, "eu-west-1", "b"))).toBeCloseTo(0.01, 12);
      expect(perGib(place(provider, "us-east-1", "a"))).toBeCloseTo(0.02, 12);
      expect(table.outside(from, "internet")).toMatchObject({ sentPerByte: 0.12 / GIB, receivedPerByte: 0 });
    }
    expect([table.currency, table.rows.every(({ source }) => source.startsWith("OpenCost"))]).toEqual([
      "USD",
      true,
    ]);
    const listed = table.rows.map(({ to, ...row }) => (to === null ? row : { ...row, to }));
    expect(PriceTable.of(readPrices({ replace: true, prices: listed })).rows).toEqual(table.rows);
  });

  test("that are left out are unknown, not 0", () => {
    const table = PriceTable.of(readPrices({ zoneNetworkEgress: "0", regionNetworkEgress: "" }));
    const from = place("own", "r", "a");
    expect(table.between(from, place("own", "r", "b"))).toMatchObject({ perByte: 0 });
    expect(table.between(from, place("own", "q", "a"))).toBe("no_price");
    expect(table.outside(from, "internet")).toBe("no_price");
  });

  test("that can't be read are refused by name", () => {
    const json = { zoneNetworkEgress: "cheap", regionNetworkEgress: -1, internetNetworkEgress: " " };
    expect(mistakesOf(json)).toEqual([
      'zoneNetworkEgress must be a number from 0 to 10000, got "cheap"',
      "regionNetworkEgress must be a number from 0 to 10000, got -1",
      'internetNetworkEgress must be a number from 0 to 10000, got " "',
    ]);
    expect(mistakesOf({ zoneNetworkEgress: "1", currencyCode: "euro" })).toEqual([
      'currencyCode must be a currency\'s three letters, as USD, got "euro"',
    ]);
  });
});
