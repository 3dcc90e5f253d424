import { type Metric } from "@isochrone/telemetry";
import { OUTSIDE_NAMESPACE } from "@isochrone/telemetry/outside";
import { beforeEach, describe, expect, test } from "vitest";
import { Tables } from "../graphs/tables.ts";
import { NO_FACTS, type ClusterFacts, type PodFact } from "../speakers/authority.ts";
import { counter, recordOf } from "../../testing/records.ts";
import { Ingest } from "./ingest.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const WEB: PodFact = { namespace: "shop", workload: "web", node: "n1" };
const NAMES = new Map([
  ["52.218.3.4", "s3-eu"],
  ["52.218.3.5", "s3-eu"],
  ["2600:1f18:4000::1", "s3-eu"],
  ["8.8.8.8", "internet"],
]);

let pods: Map<string, PodFact>;
let tables: Tables;
let ingest: Ingest;

beforeEach(() => {
  pods = new Map([["10.0.1.7", WEB]]);
  tables = new Tables(SHAPE, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
  const facts: ClusterFacts = {
    ...NO_FACTS,
    podAt: (address) => pods.get(address) ?? "no",
    podNamed: (namespace, name) => (`${namespace}/${name}` === "shop/web-0" ? WEB : "no"),
    outsideAt: (address) => NAMES.get(address) ?? null,
  };
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 }, { facts });
});

function take(metrics: readonly Metric[], atMs: number, node = "n1"): void {
  ingest.take(recordOf(node, metrics, { arrivedAtMs: atMs }), atMs);
}

function channels(): Record<string, number | null> {
  return Object.fromEntries(
    Array.from(tables.channels.values(), ({ key, ...channel }) => [key, channel] as const).map(([key]) => {
      const channel = tables.channels.open(key)!;
      const ends = [`${key.sourceNamespace}/${key.source}`, `${key.targetNamespace}/${key.target}`];
      return [ends.join(" "), channel.rates(NOW + 2000, "full")?.bytesPerSecond ?? null];
    }),
  );
}

const OUT = `shop/web ${OUTSIDE_NAMESPACE}/s3-eu`;
const IN = `${OUTSIDE_NAMESPACE}/s3-eu shop/web`;

describe("connections", () => {
  const told = (direction: string, bytes: number, outside = "s3-eu", atMs = NOW + 2000): Metric =>
    counter(
      "isochrone.outside.bytes",
      { pod_address: "10.0.1.7", outside, direction },
      atMs,
      bytes,
      atMs - 2000,
      "delta",
    );

  test("count what is sent and what is received each for itself, at the pod's own node", () => {
    take([told("sent", 600), told("received", 9000)], NOW + 2000);
    take([told("sent", 600), told("received", 9000)], NOW + 2000, "n2");
    expect(channels()).toEqual({ [OUT]: 300, [IN]: 4500 });
  });

  test.each([
    ["a name that nothing can be called by", told("sent", 1, "../etc")],
    ["an address for a name", told("sent", 1, "2600:1f18::1")],
    ["no direction", told("", 1)],
  ])("with %s name nobody", (_, metric) => {
    take([metric], NOW + 2000);
    expect(channels()).toEqual({});
    expect(ingest.counts.unused.unattributed).toBe(1);
  });
});

describe("Coroot", () => {
  const row = (direction: "received" | "sent", destination: string, seconds: number, perSecond: number) =>
    counter(
      `container_net_tcp_bytes_${direction}_total`,
      { container_id: "/k8s/shop/web-0/web", destination: "s3:443", actual_destination: destination },
      NOW + seconds * 1000,
      1000 + perSecond * seconds,
    );

  test("has addresses, which are added up by the name of their range, IPv6 too", () => {
    for (const seconds of [0, 2])
      take(
        [
          row("sent", "52.218.3.4:443", seconds, 100),
          row("sent", "52.218.3.5:443", seconds, 20),
          row("sent", "[2600:1f18:4000::1]:443", seconds, 3),
          row("received", "52.218.3.4:443", seconds, 4000),
          row("sent", "8.8.8.8:53", seconds, 7),
        ],
        NOW + seconds * 1000,
      );
    expect(channels()).toEqual({
      [OUT]: 123,
      [IN]: 4000,
      [`shop/web ${OUTSIDE_NAMESPACE}/internet`]: 7,
    });
  });

  test("an address that nobody knows is unknown, until a pod has it", () => {
    for (const seconds of [0, 2]) take([row("sent", "10.0.9.9:80", seconds, 9)], NOW + seconds * 1000);
    expect(channels()).toEqual({ [`shop/web ${OUTSIDE_NAMESPACE}/unknown`]: 9 });
    pods.set("10.0.9.9", { namespace: "store", workload: "db", node: "n2" });
    take([row("sent", "10.0.9.9:80", 4, 1)], NOW + 4000);
    expect(Object.keys(channels())).toContain("shop/web store/db");
  });

  test("a pod is never outside, whatever its address is called", () => {
    pods.set("52.218.3.4", { namespace: "store", workload: "db", node: "n2" });
    take([row("sent", "52.218.3.4:443", 2, 1)], NOW + 2000);
    expect(Object.keys(channels())).toEqual(["shop/web store/db"]);
  });
});
