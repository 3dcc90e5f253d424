// Tests each source of bytes alone and together with each other source; longer than 400 lines because all
// cases share a table.
import { RESOURCE_ATTRIBUTES, type Metric } from "@isochrone/telemetry";
import { array, assert, constant, constantFrom, pre, property, shuffledSubarray, tuple } from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { endIn } from "../traffic/channel-ends.ts";
import type { ChannelRates } from "../traffic/channels.ts";
import { Tables } from "../graphs/tables.ts";
import { ownName, type ClusterFacts, type PodFact } from "../speakers/authority.ts";
import {
  ANSWERED,
  ASKED,
  CONNECTION_BYTES,
  conntrack,
  coroot,
  hubble,
  linkerd,
  mesh,
  netobserv,
  netobservRow,
  obi,
  obiRow,
  retina,
  retinaRow,
  serviceGraph,
  STEP_SECONDS,
  type SourcePage,
} from "../../testing/byte-rows.ts";
import { counter, gauge, recordOf } from "../../testing/records.ts";
import { Ingest } from "./ingest.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const STEP_MS = STEP_SECONDS * 1000;
const STEPS = 5;
const WEB: PodFact = { namespace: "shop", workload: "web", node: "n1" };
const DB: PodFact = { namespace: "store", workload: "db", node: "n2" };

let addresses: Map<string, PodFact>;
let tables: Tables;
let ingest: Ingest;

const facts: ClusterFacts = {
  isNode: () => "yes",
  runsOn: () => "yes",
  hasMeshProxy: () => "yes",
  zoneOf: () => null,
  workloadNamed: (_, name) => ownName(name),
  podNamed: (namespace, name) => (`${namespace}/${name}` === "shop/web-5d9c6-x7f2k" ? WEB : "no"),
  podAt: (address) => addresses.get(address) ?? "no",
  outsideAt: (address) => (address.startsWith("52.") ? "s3-eu" : null),
};

function restart(): void {
  addresses = new Map([
    ["10.0.1.7", WEB],
    ["10.0.2.9", DB],
    ["fd00::9", DB],
  ]);
  tables = new Tables(SHAPE, { maxLinks: 100, maxChannels: 100, maxPods: 100 });
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 }, { facts });
}
beforeEach(restart);

const SOURCES: Readonly<
  Record<string, { page: SourcePage; countedBy: string; bytes: boolean; requests: boolean; oneWay?: true }>
> = {
  istio: { page: mesh, countedBy: "source", bytes: true, requests: true },
  linkerd: { page: linkerd, countedBy: "linkerd", bytes: true, requests: true },
  conntrack: { page: conntrack, countedBy: "conntrack_client", bytes: true, requests: false },
  coroot: { page: coroot, countedBy: "coroot", bytes: true, requests: false },
  obi: { page: obi("obi_network_flow_bytes_total"), countedBy: "obi_sender", bytes: true, requests: false },
  netobserv: { page: netobserv, countedBy: "netobserv_sender", bytes: true, requests: false, oneWay: true },
  retina: { page: retina, countedBy: "retina_sender", bytes: true, requests: false, oneWay: true },
  "service graph": { page: serviceGraph, countedBy: "service_graph", bytes: false, requests: true },
  hubble: { page: hubble, countedBy: "hubble_client", bytes: false, requests: true },
};
const NAMES = Object.keys(SOURCES);

function run(...pages: readonly SourcePage[]): void {
  for (let step = 0; step <= STEPS; step++) {
    const timeMs = NOW + step * STEP_MS;
    for (const page of pages) {
      for (const [node, metrics] of Object.entries(page((step * STEP_MS) / 1000, timeMs)))
        ingest.take(recordOf(node, metrics, { arrivedAtMs: timeMs }), timeMs);
    }
  }
}

function shown(namespace = "shop"): Readonly<Record<string, ChannelRates>> {
  const found: Record<string, ChannelRates> = {};
  for (const channel of tables.channels.values()) {
    const { key } = channel;
    const rates = channel.rates(NOW + STEPS * STEP_MS, "full", endIn(key, namespace));
    if (rates !== null) found[`${key.source} ${key.target}`] = rates;
  }
  return found;
}

function rounded(rate: number | null): number | null {
  return rate === null ? null : Math.round(rate * 1e6) / 1e6;
}

function bytesPerSecond(namespace = "shop"): number {
  return Object.values(shown(namespace)).reduce((sum, rates) => sum + (rates.bytesPerSecond ?? 0), 0);
}

describe("each source alone", () => {
  test.each(NAMES)("%s is counted once, though both ends' nodes tell of it", (name) => {
    const { page, countedBy, bytes, requests, oneWay } = SOURCES[name]!;
    run(page);
    const channels = shown();
    expect(Object.keys(channels)).toEqual(oneWay === true ? ["web db", "db web"] : ["web db"]);
    expect(channels["web db"]!.reporter).toBe(countedBy);
    expect(bytesPerSecond()).toBeCloseTo(bytes ? ASKED + ANSWERED : 0, 3);
    expect(channels["web db"]!.bytesPerSecond === null).toBe(!bytes);
    expect(rounded(channels["web db"]!.requestsPerSecond)).toBe(requests ? 20 : null);
  });

  test("Beyla's own name of the metric is OBI's", () => {
    run(obi("beyla_network_flow_bytes_total"));
    expect(bytesPerSecond()).toBeCloseTo(ASKED + ANSWERED, 3);
  });

  test("Linkerd's failures are errors", () => {
    run(linkerd);
    expect(shown()["web db"]!.errorRatio).toBeCloseTo(0.25, 6);
  });
});

describe("each pair of sources at once", () => {
  const pairs = NAMES.flatMap((first, index) =>
    NAMES.slice(index + 1).map((second) => [first, second] as const),
  );

  test.each(pairs)("%s goes before %s, and no byte is counted twice", (first, second) => {
    run(SOURCES[second]!.page, SOURCES[first]!.page);
    const best = SOURCES[first]!;
    const other = SOURCES[second]!;
    const channel = shown()["web db"]!;
    expect(channel.reporter).toBe(best.countedBy);
    const isCounted = best.bytes || other.bytes;
    expect(bytesPerSecond()).toBeCloseTo(isCounted ? ASKED + ANSWERED : 0, 3);
    // Linkerd reports from web's end, so the other end uses the second source.
    expect(bytesPerSecond("store")).toBeCloseTo(
      isCounted && (first !== "linkerd" || other.bytes) ? ASKED + ANSWERED : 0,
      3,
    );
    expect(rounded(channel.requestsPerSecond)).toBe(best.requests || other.requests ? 20 : null);
  });

  test("all of them at once are as the best alone", () => {
    run(...NAMES.map((name) => SOURCES[name]!.page));
    expect(Object.keys(shown())).toEqual(["web db"]);
    expect(bytesPerSecond()).toBeCloseTo(ASKED + ANSWERED, 3);
  });
});

const without =
  (page: SourcePage, node: string): SourcePage =>
  (seconds, timeMs) =>
    Object.fromEntries(Object.entries(page(seconds, timeMs)).filter(([from]) => from !== node));

test("whoever reports a channel, in whatever order and from whichever nodes, it is one, by the best of them", () => {
  const reports = shuffledSubarray(NAMES, { minLength: 1 }).chain((names) =>
    tuple(constant(names), array(constantFrom("n1", "n2", null), { minLength: 9, maxLength: 9 })),
  );
  assert(
    property(reports, ([names, missing]) => {
      restart();
      const pages = names.map((name, at) => {
        // For a proxy's report, each end trusts its own.
        const node = name === "istio" || name === "linkerd" ? null : (missing[at] ?? null);
        return node === null ? SOURCES[name]!.page : without(SOURCES[name]!.page, node);
      });
      run(...pages);
      const speaking = names.filter((_, at) => Object.keys(pages[at]!(2, NOW)).length > 0);
      const channels = shown();
      pre(speaking.length > 0);
      const counting = speaking.filter((name) => SOURCES[name]!.bytes);
      expect(bytesPerSecond()).toBeCloseTo(counting.length > 0 ? ASKED + ANSWERED : 0, 3);
      const best = NAMES.find((name) => speaking.includes(name))!;
      // Another node may replace the best source's node.
      const familyOf = (reporter: string): string => reporter.split("_")[0]!;
      expect(familyOf(channels["web db"]!.reporter)).toBe(familyOf(SOURCES[best]!.countedBy));
      const isOneWay = counting.every((name) => SOURCES[name]!.oneWay === true) && counting.length > 0;
      expect(Object.keys(channels).length).toBe(isOneWay ? 2 : 1);
    }),
    { numRuns: 150 },
  );
});

const only =
  (page: SourcePage, counts: { readonly bytes: boolean; readonly requests: boolean }): SourcePage =>
  (seconds, timeMs) => {
    const isKept = ({ name }: Metric): boolean =>
      /(requests?|response)_total$/.test(name) ? counts.requests : counts.bytes;
    const kept = Object.entries(page(seconds, timeMs)).map(
      ([node, metrics]) => [node, metrics.filter(isKept)] as const,
    );
    return Object.fromEntries(kept.filter(([, metrics]) => metrics.length > 0));
  };

test("each quantity is that of the best source which knows it, whatever others know", () => {
  const shares = constantFrom(
    { bytes: true, requests: true },
    { bytes: true, requests: false },
    { bytes: false, requests: true },
  );
  const reports = shuffledSubarray(NAMES, { minLength: 1 }).chain((names) =>
    tuple(constant(names), array(shares, { minLength: NAMES.length, maxLength: NAMES.length })),
  );
  assert(
    property(reports, ([names, counts]) => {
      restart();
      run(...names.map((name, at) => only(SOURCES[name]!.page, counts[at]!)));
      const bestOf = (quantity: "bytes" | "requests"): string | undefined =>
        NAMES.find((name) => SOURCES[name]![quantity] && counts[names.indexOf(name)]?.[quantity] === true);
      const [bytes, requests] = [bestOf("bytes"), bestOf("requests")];
      const channel = shown()["web db"];
      pre(bytes !== undefined || requests !== undefined);
      expect(bytesPerSecond()).toBeCloseTo(bytes === undefined ? 0 : ASKED + ANSWERED, 3);
      expect(rounded(channel!.requestsPerSecond)).toBe(requests === undefined ? null : 20);
      expect(channel!.reporter).toBe(SOURCES[bytes ?? requests!]!.countedBy);
      expect(channel!.requestsReporter).toBe(SOURCES[requests ?? bytes!]!.countedBy);
    }),
    { numRuns: 300 },
  );
});

describe("rows of which one end is known are traffic of that end with the outside", () => {
  const OBI = "obi_network_flow_bytes_total";
  const WITH = { sent: "web unknown", received: "unknown web" };
  const nodes = { k8s_src_node_name: "", k8s_dst_node_name: "" };
  test.each<[string, (bytes: number, atMs: number) => Metric, "received" | "sent"]>([
    [
      "a request to no owner",
      (bytes, atMs) =>
        counter(OBI, { ...obiRow("web", "db", "request"), k8s_dst_owner_name: "" }, atMs, bytes),
      "sent",
    ],
    [
      "an answer of a node",
      (bytes, atMs) => {
        const row = { ...obiRow("db", "web", "response"), ...nodes, k8s_src_owner_type: "Node" };
        return counter(OBI, { ...row, k8s_dst_node_name: "n1" }, atMs, bytes);
      },
      "received",
    ],
    [
      "a workload that Retina doesn't know",
      (bytes, atMs) => {
        const row = { ...retinaRow("db", "web", "INGRESS"), source_workload_kind: "unknown" };
        return gauge("networkobservability_adv_forward_bytes", row, atMs, bytes);
      },
      "received",
    ],
    [
      "an address that no pod has",
      (bytes, atMs) =>
        counter(
          "container_net_tcp_bytes_received_total",
          { container_id: "/k8s/shop/web-5d9c6-x7f2k/web", actual_destination: "1.1.1.1:443" },
          atMs,
          bytes,
        ),
      "received",
    ],
    [
      "a program of a node that calls a pod",
      (bytes, atMs) =>
        counter(
          "container_net_tcp_bytes_sent_total",
          { container_id: "/system.slice/sshd.service", actual_destination: "10.0.1.7:22" },
          atMs,
          bytes,
        ),
      "received",
    ],
  ])("%s", (_, metric, direction) => {
    run((seconds, atMs) => ({ n1: [metric(1000 + seconds * 250, atMs)] }));
    expect(Object.keys(shown())).toEqual([WITH[direction]]);
    expect(bytesPerSecond()).toBeCloseTo(250, 3);
    expect(Object.values(ingest.counts.unused)).not.toContain(1);
  });

  test("what Linkerd mirrors of another cluster is outside, by that cluster's name", () => {
    const labels = { namespace: "shop", pod: "web-5d9c6-x7f2k", direction: "outbound", peer: "dst" };
    const target = { dst_namespace: "store", dst_service: "db-east", dst_target_cluster: "East_1" };
    run((seconds, atMs) => ({
      n1: [
        counter("tcp_write_bytes_total", { ...labels, ...target }, atMs, seconds * 30),
        counter("tcp_read_bytes_total", { ...labels, ...target }, atMs, seconds * 500),
        counter("request_total", { ...labels, ...target }, atMs, seconds * 4),
      ],
    }));
    const channels = shown();
    expect(channels["web east-1"]).toMatchObject({ reporter: "linkerd", requestsPerSecond: 4 });
    expect(channels["web east-1"]!.bytesPerSecond).toBeCloseTo(30, 3);
    expect(channels["east-1 web"]!.bytesPerSecond).toBeCloseTo(500, 3);
  });
});

describe("rows that name nobody, or not how much", () => {
  const unused = (metrics: readonly Metric[], node = "n1"): Partial<Record<string, number>> => {
    ingest.take(recordOf(node, metrics, { arrivedAtMs: NOW }), NOW);
    return Object.fromEntries(Object.entries(ingest.counts.unused).filter(([, count]) => count > 0));
  };
  const OBI = "obi_network_flow_bytes_total";

  test("without its sampling NetObserv's bytes count nothing, and are told by name", () => {
    const row = netobservRow("web", "db");
    expect(unused([counter("netobserv_workload_egress_bytes_total", row, NOW, 1)])).toEqual({
      sampling_unset: 1,
    });
    expect(shown()).toEqual({});
  });

  test("its sampling may stand in a label that the scrape adds, and 0 means every packet", () => {
    const row = { ...netobservRow("web", "db"), sampling: "4" };
    for (const seconds of [0, 2])
      ingest.take(
        recordOf(
          "n1",
          [counter("netobserv_workload_egress_bytes_total", row, NOW + seconds * 1000, 250 * seconds)],
          { arrivedAtMs: NOW + seconds * 1000 },
        ),
        NOW + seconds * 1000,
      );
    expect(
      tables.channels
        .values()
        .next()
        .value!.rates(NOW + 2000, "full")!.bytesPerSecond,
    ).toBeCloseTo(1000);
    const all = { ...netobservRow("db", "web"), sampling: "0" };
    expect(unused([counter("netobserv_workload_egress_bytes_total", all, NOW, 1)])).toEqual({});
  });

  test.each([
    [
      "a gauge of what must be a counter",
      gauge(OBI, obiRow("web", "db", "request"), NOW, 1),
      "unknown_metric",
    ],
    [
      "owners that are nodes",
      counter(
        OBI,
        { ...obiRow("web", "db", "request"), k8s_src_owner_type: "Node", k8s_dst_owner_type: "Node" },
        NOW,
        1,
      ),
      "unattributed",
    ],
    ["a direction that was not told", counter(OBI, obiRow("web", "db", "unknown"), NOW, 1), "unattributed"],
    [
      "no nodes, so that both ends' agents would count",
      counter(
        OBI,
        { ...obiRow("web", "db", "request"), k8s_src_node_name: "", k8s_dst_node_name: "" },
        NOW,
        1,
      ),
      "unattributed",
    ],
    [
      "an address outside of the cluster",
      counter(CONNECTION_BYTES, { client_address: "10.0.1.7", server_address: "1.1.1.1" }, NOW, 1),
      "unknown_pod",
    ],
    [
      "no address",
      counter(CONNECTION_BYTES, { client_address: "10.0.1.7", server_address: "db" }, NOW, 1),
      "unattributed",
    ],
  ] satisfies [string, Metric, string][])("%s", (_, metric, reason) => {
    expect(unused([metric])).toEqual({ [reason]: 1 });
    expect(tables.channels.size).toBe(0);
  });

  test("rows of a Service repeat those of its pods, and are left out as such", () => {
    const row = { ...obiRow("web", "db", "request"), k8s_dst_owner_type: "Service" };
    expect(unused([counter(OBI, row, NOW, 1)])).toEqual({});
    expect([tables.channels.size, ingest.counts.ignored]).toEqual([0, 1]);
  });

  test("negative and absurd numbers are refused", () => {
    const row = obiRow("web", "db", "request");
    unused([counter(OBI, row, NOW, -1), counter(OBI, { ...row, k8s_src_owner_name: "cart" }, NOW, 1e19)]);
    expect(tables.channels.size).toBe(0);
    expect(Object.values(ingest.counts.refused).reduce((sum, count) => sum + count)).toBe(2);
  });

  test("a node's speaker can't count as another node, where the other end may be its own", () => {
    const speakers = { speakerOf: () => ({ kind: "node", node: "n1" }) as const };
    const believing = new Ingest(
      tables,
      { maxFutureMs: 1000, maxSeries: 1000, maxSources: 100 },
      { facts, speakers },
    );
    const row = { client_address: "10.0.1.7", server_address: "10.0.2.9" };
    const metrics = [counter(CONNECTION_BYTES, row, NOW, 1)];
    for (const node of ["n2", "n1"])
      believing.take(recordOf(node, metrics, { source: "connections/n1", arrivedAtMs: NOW }), NOW);
    expect(believing.counts.refused.not_yours).toBe(1);
    expect(tables.channels.size).toBe(1);
  });

  test("what a node passes on counts at neither end", () => {
    const row = { client_address: "10.0.1.7", server_address: "10.0.2.9" };
    expect(unused([counter(CONNECTION_BYTES, row, NOW, 1)], "n3")).toEqual({});
    expect(tables.channels.size).toBe(0);
  });
});

describe("pods of connections", () => {
  const row = { client_address: "10.0.1.7", server_address: "fd00::9" };
  const sent = (atMs: number): void => {
    const metric = counter(CONNECTION_BYTES, row, atMs, 5000, atMs - 1000, "delta");
    ingest.take(recordOf("n1", [metric], { arrivedAtMs: atMs }), atMs);
  };
  const pairs = (): string[] => [...tables.channels.values()].map(({ key }) => `${key.source} ${key.target}`);

  test("are waited for", () => {
    addresses.delete("fd00::9");
    sent(NOW);
    expect(pairs()).toEqual([]);
    addresses.set("fd00::9", DB);
    sent(NOW + SHAPE.paneMs);
    expect(pairs()).toEqual(["web db"]);
  });

  test("are looked up anew: an address that another pod got counts for that one", () => {
    sent(NOW);
    addresses.set("fd00::9", { namespace: "store", workload: "cache", node: "n2" });
    sent(NOW + 1000);
    expect(pairs()).toEqual(["web db", "web cache"]);
  });

  test("on two nodes are compared: both ends should have counted the same", () => {
    run(conntrack);
    const bytes = (ASKED + ANSWERED) * (STEP_MS / 1000) * STEPS;
    expect(ingest.counts.connectionBytes).toMatchObject({ client: bytes, server: bytes });
  });

  test("on one node count once, as the client's", () => {
    addresses.set("fd00::9", { ...DB, node: "n1" });
    sent(NOW);
    const [channel] = tables.channels.values();
    expect(channel!.rates(NOW, "full")).toMatchObject({ reporter: "conntrack_client", bytesPerSecond: 5000 });
    expect(ingest.counts.connectionBytes).toMatchObject({ client: 0, server: 0 });
  });

  test("a pod's resource tells whose a Linkerd page is, whatever its rows claim", () => {
    const claim = { direction: "outbound", peer: "dst", dst_namespace: "store", dst_deployment: "db" };
    for (const seconds of [0, 1]) {
      const metric = counter(
        "tcp_write_bytes_total",
        { ...claim, namespace: "bank", pod: "vault-0" },
        NOW + seconds * 1000,
        seconds,
      );
      const resource = {
        [RESOURCE_ATTRIBUTES.namespace]: "shop",
        [RESOURCE_ATTRIBUTES.pod]: "web-5d9c6-x7f2k",
      };
      ingest.take(recordOf("n1", [metric], { arrivedAtMs: NOW, resource }), NOW + seconds * 1000);
    }
    expect(pairs()).toEqual(["web db"]);
  });
});
