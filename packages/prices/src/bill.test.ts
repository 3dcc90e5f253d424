// Hand-computed bills. A channel of GB carries a billion bytes per month, one of GIB 2^30.
import type {
  BillReason,
  Channel,
  ClusterNode,
  Demand,
  Workload,
  WorkflowGraphSnapshot,
} from "@isochrone/topology";
import { channel, node, workflowSnapshot, workload } from "@isochrone/topology/testing";
import { describe, expect, test } from "vitest";
import { inTurns } from "@isochrone/primitives/algorithms";
import { billOf, billSteps, MONTH_SECONDS } from "./bill.ts";
import { readPrices } from "./read.ts";
import { PriceTable } from "./table.ts";

const GB = 1e9 / MONTH_SECONDS;
const GIB = 2 ** 30 / MONTH_SECONDS;
const BUILT_IN = PriceTable.of(null);

const at = (name: string, provider: string | null, region: string | null, zone: string | null): ClusterNode =>
  node(name, { provider, region, zone });

const AWS = [
  at("a1", "aws", "us-east-1", "us-east-1a"),
  at("a2", "aws", "us-east-1", "us-east-1a"),
  at("b1", "aws", "us-east-1", "us-east-1b"),
  at("c1", "aws", "us-east-2", "us-east-2a"),
  at("e1", "aws", "eu-west-1", "eu-west-1a"),
  at("s1", "aws", "sa-east-1", "sa-east-1a"),
  at("n1", "aws", "cn-north-1", "cn-north-1a"),
  at("n2", "aws", "cn-north-1", "cn-north-1b"),
  at("none", "aws", null, null),
];
const GCP = [
  at("a1", "gce", "us-central1", "us-central1-a"),
  at("b1", "gce", "us-central1", "us-central1-b"),
  at("w1", "gce", "us-west1", "us-west1-a"),
  at("e1", "gce", "europe-west1", "europe-west1-b"),
  at("t1", "gce", "asia-east1", "asia-east1-a"),
];
const AZURE = [
  at("a1", "azure", "eastus", "eastus-1"),
  at("b1", "azure", "eastus", "eastus-2"),
  at("w1", "azure", "westus2", "westus2-1"),
  at("e1", "azure", "westeurope", "westeurope-1"),
  at("t1", "azure", "japaneast", "japaneast-1"),
];

const pairOf = (from: string, to: string, bytesPerSecond: number | null, fields: Partial<Channel> = {}) =>
  workflowSnapshot(
    [workload("p", { "p-1": from }), workload("q", { "q-1": to })],
    [channel("p", "q", bytesPerSecond, fields)],
  );

const bill = (
  nodes: readonly ClusterNode[],
  workflows: readonly WorkflowGraphSnapshot[],
  table: PriceTable = BUILT_IN,
  services: Demand["services"] = [],
) => {
  const stamp = { version: 1, observedAt: "2026-01-01T00:00:00Z", windowSeconds: 30 };
  return billOf({ ...stamp, nodes, workflows, demand: { services } }, table);
};

describe("a channel's month costs", () => {
  test.each<[string, readonly ClusterNode[], string, string, number, number]>([
    ["AWS: within a zone nothing", AWS, "a1", "a2", GB, 0],
    ["AWS: between zones both ends pay", AWS, "a1", "b1", GB, 0.02],
    ["AWS: the way back costs the same", AWS, "b1", "a1", GB, 0.02],
    ["AWS: between regions the sender pays", AWS, "a1", "e1", GB, 0.02],
    ["AWS: from Virginia to Ohio less", AWS, "a1", "c1", GB, 0.01],
    ["AWS: bills GB", AWS, "a1", "b1", GIB, 0.021_474_836_48],
    ["GCP: within a zone nothing", GCP, "a1", "a1", GIB, 0],
    ["GCP: between zones the sender pays", GCP, "a1", "b1", GIB, 0.01],
    ["GCP: bills GiB", GCP, "a1", "b1", GB, 0.01 * (1e9 / 1_073_741_824)],
    ["GCP: within a continent", GCP, "a1", "w1", GIB, 0.02],
    ["GCP: across the Atlantic", GCP, "a1", "e1", GIB, 0.05],
    ["Azure: between zones nothing", AZURE, "a1", "b1", GB, 0],
    ["Azure: within a continent", AZURE, "a1", "w1", GB, 0.02],
    ["Azure: across the Atlantic", AZURE, "e1", "a1", GB, 0.05],
  ])("%s", (_, nodes, from, to, bytesPerSecond, money) => {
    const { total, channels, currency, prices } = bill(nodes, [pairOf(from, to, bytesPerSecond)]);
    expect(total.perMonth).toBeCloseTo(money, 12);
    expect(total).toMatchObject({ unpricedBytesPerSecond: 0, channelsUnknown: 0, channels: 1 });
    expect(channels[0]).toMatchObject({ perMonth: total.perMonth, unknown: null });
    expect(currency).toBe("USD");
    expect(prices.length).toBeGreaterThan(0);
    for (const { source, date } of prices)
      expect([source, date]).toEqual([expect.any(String), expect.any(String)]);
  });
});

describe("money is unknown, and is said to be, where", () => {
  test.each<[string, readonly ClusterNode[], WorkflowGraphSnapshot, BillReason]>([
    ["no source counts bytes", AWS, pairOf("a1", "b1", null), "no_bytes"],
    ["bytes are remembered", AWS, pairOf("a1", "b1", GB, { ageSeconds: 31 }), "old"],
    ["an end's node is gone", AWS, pairOf("a1", "gone", GB), "no_pods"],
    ["a node has no zone", AWS, pairOf("a1", "none", GB), "no_zone"],
    ["no row is for a region", AWS, pairOf("n1", "n2", GB), "no_price"],
    ["only one way has a row", AWS, pairOf("a1", "s1", GB), "no_price"],
    ["only one way has a row, from the other end", AWS, pairOf("s1", "a1", GB), "no_price"],
    ["continents have no row", GCP, pairOf("a1", "t1", GB), "no_price"],
    ["a region has no row", AZURE, pairOf("a1", "t1", GB), "no_price"],
    ["two clouds meet", [AWS[0]!, GCP[1]!], pairOf("a1", "b1", GB), "no_price"],
    [
      "nodes are of no cloud",
      [at("a1", "kind", "r", "x"), at("b1", null, "r", "y")],
      pairOf("a1", "b1", GB),
      "no_price",
    ],
  ])("%s", (_, nodes, workflow, reason) => {
    const { total, channels } = bill(nodes, [workflow]);
    expect(channels[0]).toMatchObject({ perMonth: null, unknown: reason });
    expect(total).toMatchObject({ perMonth: null, channels: 1, channelsUnknown: 1 });
    const isTold = reason !== "no_bytes" && reason !== "old";
    expect(total.unpricedBytesPerSecond).toBeCloseTo(isTold ? GB : 0, 9);
    expect(total.bytesPerSecond === null).toBe(!isTold);
  });
});

describe("rows of a file", () => {
  const base = { in: 0, per: "GB", currency: "USD", source: "ours", date: "2026-10" };
  const own = (prices: readonly object[], replace = false) => PriceTable.of(readPrices({ replace, prices }));
  const OWN = [at("a1", null, "north", "x"), at("b1", null, "north", "y"), at("c1", null, "south", "z")];

  test("price nodes of no cloud, without regions too", () => {
    const table = own([{ ...base, provider: "own", scope: "zone-to-zone", from: "*", out: 0.004 }]);
    expect(bill(OWN, [pairOf("a1", "b1", GB)], table).total.perMonth).toBeCloseTo(0.004, 12);
    const bare = [at("a1", null, null, "x"), at("b1", null, null, "y")];
    expect(bill(bare, [pairOf("a1", "b1", GB)], table).total.perMonth).toBeCloseTo(0.004, 12);
  });

  test("stand in place of built-in ones, and the closest name of a region wins", () => {
    const table = own([
      { ...base, provider: "aws", scope: "zone-to-zone", from: "us-east-*", out: 0.5 },
      { ...base, provider: "aws", scope: "zone-to-zone", from: "us-east-1", out: 0.25 },
    ]);
    const far = [at("a1", "aws", "us-east-2", "a"), at("b1", "aws", "us-east-2", "b")];
    expect(bill(AWS, [pairOf("a1", "b1", GB)], table).total.perMonth).toBeCloseTo(0.25, 12);
    expect(bill(far, [pairOf("a1", "b1", GB)], table).total.perMonth).toBeCloseTo(0.5, 12);
  });

  test("are the only ones with replace, in a currency of their own", () => {
    const table = own(
      [{ ...base, currency: "EUR", provider: "aws", scope: "same-zone", from: "*", out: 0 }],
      true,
    );
    expect(bill(AWS, [pairOf("a1", "a2", GB)], table)).toMatchObject({
      currency: "EUR",
      total: { perMonth: 0 },
    });
    expect(bill(AWS, [pairOf("a1", "b1", GB)], table).channels[0]!.unknown).toBe("no_price");
  });

  test("with another price each way leave money unknown: bytes aren't told by direction", () => {
    const far = { ...base, provider: "own", scope: "region-to-region" };
    const table = own([
      { ...far, from: "north", to: "south", out: 0.02 },
      { ...far, from: "south", to: "north", out: 0.09 },
    ]);
    expect(bill(OWN, [pairOf("a1", "c1", GB)], table).channels[0]).toMatchObject({
      perMonth: null,
      unknown: "direction",
    });
  });
});

describe("replicas in several zones", () => {
  const P = workload("p", { "p-1": "a1", "p-2": "b1" });
  const Q = workload("q", { "q-1": "a1", "q-2": "a2", "q-3": "b1", waiting: null });
  const spread = (fields: Partial<Channel> = {}, workloads: Workload[] = [P, Q]) =>
    bill(AWS, [workflowSnapshot(workloads, [channel("p", "q", 6 * GB, fields)])]);

  test("exchange with all alike: of 6 GB half cross zones", () => {
    const { total, zones, channels } = spread();
    // From p-1 in a: 1/3 to b; from p-2 in b: 2/3 to a. Together 3 of 6 GB cross, at 0.02.
    expect(total.perMonth).toBeCloseTo(0.06, 12);
    const between = zones.map(({ from, to, bytesPerSecond, perMonth }) => [
      `${from.zone} ${to.zone}`,
      Math.round((bytesPerSecond! / GB) * 1e6) / 1e6,
      Math.round(perMonth! * 1e6) / 1e6,
    ]);
    expect(between).toEqual([
      ["us-east-1b us-east-1a", 2, 0.04],
      ["us-east-1a us-east-1b", 1, 0.02],
      ["us-east-1a us-east-1a", 2, 0],
      ["us-east-1b us-east-1b", 1, 0],
    ]);
    expect(channels[0]!.zones).toEqual(zones);
  });

  test("stay in the zone where the nearest are preferred", () => {
    expect(spread({ routing: "nearest", routingScopes: ["zone"] }).total.perMonth).toBe(0);
    expect(spread({ routing: "nearest" }).total.perMonth).toBe(0);
  });

  test("leave a zone without callees for all others alike", () => {
    const onlyA = workload("q", { "q-1": "a1", "q-2": "a2" });
    const { total } = spread({ routing: "nearest" }, [P, onlyA]);
    expect(total.perMonth).toBeCloseTo(0.06, 12);
  });

  test("have a part without a price: the rest is in the bill, and the part is said", () => {
    const some = workload("q", { "q-1": "b1", "q-2": "s1" });
    const { channels, total } = spread({}, [workload("p", { "p-1": "a1" }), some]);
    expect(channels[0]).toMatchObject({ unknown: "no_price" });
    expect(total.perMonth).toBeCloseTo(0.06, 12);
    expect(total.unpricedBytesPerSecond).toBeCloseTo(3 * GB, 9);
    expect(total.channelsUnknown).toBe(1);
  });
});

describe("where it was counted what zones ask of a Service, its callers' zones weigh by that", () => {
  const asked = (a: number, b: number): Demand["services"] => {
    const zones = Object.entries({ "us-east-1a": a, "us-east-1b": b }).map(([zone, requestsPerSecond]) => ({
      zone,
      requestsPerSecond,
      errorRatio: 0,
      inTimeRatio: null,
      latencyMs: { p50: 1, p90: 1, p99: 1 },
      ageSeconds: 1,
    }));
    return [{ namespace: "shop", name: "q", deadlineMs: null, zones }];
  };
  const P = workload("p", { "p-1": "a1", "p-2": "b1" });
  const Q = workload("q", { "q-1": "a1" });
  const money = (requestsPerSecond: number | null, services: Demand["services"], others: Channel[] = []) => {
    const channels = [channel("p", "q", 4 * GB, { requestsPerSecond }), ...others];
    return bill(AWS, [workflowSnapshot([P, Q, workload("r", { "r-1": "b1" })], channels)], BUILT_IN, services)
      .channels[0]!.perMonth;
  };

  test("a quarter of the requests comes from b: 1 of 4 GB crosses, not 2", () => {
    expect(money(8, [])).toBeCloseTo(0.04, 12);
    expect(money(8, asked(6, 2))).toBeCloseTo(0.02, 12);
    expect(money(8, asked(8, 0))).toBeCloseTo(0, 12);
  });

  test("others of the zone take their part of what it asks", () => {
    // r in b asks 4 of the 6 of b; p asks 8: even shares would be 4 from a and 8 from b.
    const others = [channel("r", "q", 0, { requestsPerSecond: 4 })];
    expect(money(8, asked(6, 6), others)).toBeCloseTo(0.02 * 4 * (0.75 / (1.5 + 0.75)), 12);
  });

  test("but not where a caller's requests aren't counted, nor where nobody asks from its zones", () => {
    expect(money(null, asked(6, 2))).toBeCloseTo(0.04, 12);
    expect(money(8, asked(0, 0))).toBeCloseTo(0.04, 12);
  });
});

test("the caller pays, and lists begin with the dearest", () => {
  const workloads = [
    workload("web", { w: "a1" }),
    workload("api", { x: "b1" }),
    workload("db", { d: "a2" }, { namespace: "data" }),
  ];
  const graph = workflowSnapshot(workloads, [
    channel("web", "api", GB),
    channel("api", "db", 5 * GB),
    channel("db", "web", 2 * GB),
    channel("web", "db", null),
  ]);
  const { channels, workloads: payers, namespaces, total } = bill(AWS, [graph]);
  expect(channels.map(({ source, target }) => `${source.name} ${target.name}`)).toEqual([
    "api db",
    "web api",
    "db web",
    "web db",
  ]);
  expect(payers.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual([
    "shop/api",
    "shop/web",
    "data/db",
  ]);
  expect(namespaces.map(({ namespace }) => namespace)).toEqual(["shop", "data"]);
  expect(namespaces[0]!.perMonth).toBeCloseTo(0.12, 12);
  expect(total.perMonth).toBeCloseTo(0.12, 12);
  expect(total).toMatchObject({ channels: 4, channelsUnknown: 1 });
});

test("a channel between two workflows is in the bill once, as its source's namespace has it", () => {
  const seenBy = (namespace: string, bytesPerSecond: number | null): WorkflowGraphSnapshot => {
    const [from, to] = namespace === "shop" ? ["p", "data/p"] : ["shop/p", "p"];
    const workloads = [
      workload(from, { "p-1": "a1" }, { namespace: "shop" }),
      workload(to, { "p-2": "b1" }, { namespace: "data" }),
    ];
    return { ...workflowSnapshot(workloads, [channel(from, to, bytesPerSecond)]), namespace };
  };
  const both = bill(AWS, [seenBy("data", 3 * GB), seenBy("shop", GB)]);
  expect(both.channels).toHaveLength(1);
  expect(both.channels[0]).toMatchObject({
    source: { namespace: "shop", name: "p" },
    target: { namespace: "data", name: "p" },
  });
  expect(both.total.perMonth).toBeCloseTo(0.02, 12);
  expect(bill(AWS, [seenBy("shop", null), seenBy("data", 3 * GB)]).total.perMonth).toBeCloseTo(0.06, 12);
});

test("worked out in turns it is the same, and each channel is in it once", async () => {
  const names = Array.from({ length: 70 }, (_, at) => `w${at}`);
  const workloads = names.map((name, at) => workload(name, { [`${name}-1`]: at % 2 === 0 ? "a1" : "b1" }));
  const channels = names.flatMap((source, from) =>
    names.map((target, to) => channel(source, target, (from * 31 + to * 17) % 101)),
  );
  const stamp = { version: 1, observedAt: "2026-01-01T00:00:00Z", windowSeconds: 30 };
  const graphs = {
    ...stamp,
    nodes: AWS,
    workflows: [workflowSnapshot(workloads, channels)],
    demand: { services: [] },
  };
  let turns = 0;
  const sliced = await inTurns(billSteps(graphs, BUILT_IN), async () => void turns++);
  expect(turns).toBeGreaterThan(10);
  expect(sliced).toEqual(billOf(graphs, BUILT_IN));
  expect(new Set(sliced.channels.map(({ source, target }) => `${source.name} ${target.name}`)).size).toBe(
    4900,
  );
  const money = sliced.channels.map(({ perMonth }) => perMonth!);
  expect(money).toEqual(money.toSorted((a, b) => b - a));
  expect(sliced.total.perMonth).toBeCloseTo(
    money.reduce((sum, each) => sum + each, 0),
    9,
  );
});

describe("traffic with the outside of the cluster", () => {
  const outside = (destination: string, sent: number, received: number) => ({
    workload: "p",
    destination,
    sentBytesPerSecond: sent,
    receivedBytesPerSecond: received,
    countedBy: "conntrack_client",
    ageSeconds: 1,
  });
  const table = PriceTable.of(
    readPrices({
      destinations: [
        { name: "s3-here", scope: "same-zone" },
        { name: "rds", scope: "zone-to-zone" },
        { name: "s3-eu", scope: "region-to-region", region: "eu-west-1" },
      ],
    }),
  );
  const billTo = (destination: string, node: string, sent: number, received: number, prices = table) => {
    const workflow = { ...pairOf(node, node, 0), outside: [outside(destination, sent, received)] };
    return bill(AWS, [workflow], prices);
  };

  test.each<[string, string, string, number, number, number | BillReason]>([
    ["to the Internet what is sent is paid", "internet", "a1", GB, 7 * GB, 0.09],
    ["what comes from it is free", "internet", "a1", 0, GB, 0],
    ["to a zone endpoint nothing", "s3-here", "a1", GB, GB, 0],
    ["to another zone both ends pay, both ways", "rds", "a1", GB, 2 * GB, 0.06],
    ["to another region who sends", "s3-eu", "a1", GB, GB, 0.04],
    ["to a destination in one's own region: unknown in which zone", "s3-eu", "e1", GB, 0, "no_price"],
    ["to one that nobody has placed", "partner", "a1", GB, GB, "no_price"],
    ["to private addresses without a name", "private", "a1", GB, GB, "no_price"],
    ["from a region without a row", "internet", "n1", GB, 0, "no_price"],
    ["from a node without a region", "s3-eu", "none", GB, 0, "no_zone"],
    ["of pods on no node", "internet", "gone", GB, 0, "no_pods"],
  ])("%s", (_, destination, node, sent, received, money) => {
    const { outside: lines, destinations, total, workloads } = billTo(destination, node, sent, received);
    expect(lines).toHaveLength(1);
    const [line] = lines!;
    expect(line).toMatchObject({ source: { namespace: "shop", name: "p" }, destination });
    expect(destinations).toMatchObject([{ destination, perMonth: line!.perMonth }]);
    expect(line!.bytesPerSecond).toBeCloseTo(sent + received, 9);
    const isKnown = typeof money === "number";
    expect([line!.unknown, line!.perMonth === null]).toEqual(isKnown ? [null, false] : [money, true]);
    expect(line!.perMonth ?? 0).toBeCloseTo(isKnown ? money : 0, 12);
    expect(total.channels).toBe(2);
    expect(total.perMonth ?? 0).toBeCloseTo(isKnown ? money : 0, 12);
    expect(workloads[0]!.bytesPerSecond).toBeCloseTo(sent + received, 9);
  });

  test("is split evenly over replicas, and added up by destination", () => {
    const workloads = [workload("p", { "p-1": "a1", "p-2": "n1" }), workload("q", { "q-1": "a1" })];
    const flows = [outside("internet", 2 * GB, 0), { ...outside("internet", GB, 0), workload: "q" }];
    const { destinations, total } = bill(AWS, [{ ...workflowSnapshot(workloads, []), outside: flows }]);
    expect(destinations).toEqual([
      {
        destination: "internet",
        bytesPerSecond: expect.closeTo(3 * GB, 9),
        perMonth: expect.closeTo(0.18, 12),
        unpricedBytesPerSecond: expect.closeTo(GB, 9),
        unknown: "no_price",
      },
    ]);
    expect(total).toMatchObject({ channels: 2, channelsUnknown: 1 });
  });
});
