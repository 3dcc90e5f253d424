import {
  CounterTracks,
  encodeMetrics,
  MetricsDecoder,
  type Attributes,
  type Metric,
  type Series,
} from "@isochrone/telemetry";
import { beforeEach, describe, expect, test } from "vitest";
import { counter } from "../../testing/records.ts";
import { bindServiceGraph } from "./bind-service-graph.ts";
import { ChannelTable, type ChannelRates } from "../traffic/channels.ts";
import { OPEN_PERMIT } from "../speakers/permit.ts";
import { OwnCluster } from "./own-cluster.ts";
import type { Sink } from "./sink.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const STEP_MS = 2000;

let channels: ChannelTable;
let decoder: MetricsDecoder;
let tracks: CounterTracks;
let clusters: OwnCluster;

beforeEach(() => {
  channels = new ChannelTable(SHAPE, 100);
  decoder = new MetricsDecoder();
  clusters = new OwnCluster();
  tracks = new CounterTracks({ maxFirstSpanMs: SHAPE.windowMs });
});

function take(metrics: readonly Metric[]): (Sink | null)[] {
  const sinks: (Sink | null)[] = [];
  const bind = (series: Series, startMs: number, timeMs: number, value: number): void => {
    const sink = (series.state ??= bindServiceGraph(
      series,
      channels,
      tracks,
      OPEN_PERMIT,
      clusters,
    )) as Sink | null;
    const point = { startMs, timeMs, eventMs: timeMs, offsetMs: 0, clockGeneration: 0, nowMs: timeMs };
    sink?.number?.(point, value);
    sinks.push(sink);
  };
  decoder.decode(encodeMetrics({ resource: {}, scope: { name: "test" }, metrics }), {
    number: bind,
    histogram: bind,
    exponentialHistogram: () => undefined,
    refused: (reason) => expect.fail(reason),
  });
  return sinks;
}

function run(name: string, attributes: Attributes, each: number): void {
  for (let step = 0; step <= 5; step++)
    take([counter(name, attributes, NOW + step * STEP_MS, step * each * (STEP_MS / 1000))]);
}

function rates(): Record<string, ChannelRates | null> {
  return Object.fromEntries(
    [...channels.values()].map((channel) => [
      `${channel.key.sourceNamespace}/${channel.key.source} ${channel.key.targetNamespace}/${channel.key.target}`,
      channel.rates(NOW + 10_000, "full"),
    ]),
  );
}

function unusedOf(name: string, attributes: Attributes): Sink["unused"] | "not bound" {
  const [sink] = take([counter(name, attributes, NOW, 1)]);
  return sink === null || sink === undefined ? "not bound" : sink.unused;
}

describe("the service graph connector's edges", () => {
  const REQUESTS = "traces_service_graph_request_total";
  const dimensions = {
    client_k8s_namespace_name: "shop",
    client_k8s_deployment_name: "web",
    server_k8s_namespace_name: "store",
    server_k8s_statefulset_name: "db",
  };

  test("requests and failures have rates, bytes are not known, which is not 0", () => {
    const edge = { client: "web.shop", server: "store/db", connection_type: "" };
    run(REQUESTS, { ...edge, failed: "false" }, 30);
    run(REQUESTS, { ...edge, failed: "true" }, 10);
    run("traces_service_graph_request_failed_total", { ...edge, failed: "true" }, 10);
    expect(rates()).toEqual({
      "shop/web store/db": {
        reporter: "service_graph",
        requestsReporter: "service_graph",
        requestsPerSecond: 40,
        bytesPerSecond: null,
        errorRatio: 0.25,
        eventsPerSecond: null,
        newestMs: NOW + 10_000,
      },
    });
  });

  const named: readonly [string, Attributes, string][] = [
    ["namespace/name", { client: "shop/web", server: "store/db" }, "shop/web store/db"],
    ["name.namespace", { client: "web.shop", server: "db.store" }, "shop/web store/db"],
    [
      "a service's host name",
      { client: "web.shop.svc", server: "db.store.svc.cluster.local" },
      "shop/web store/db",
    ],
    ["owners as dimensions", { client: "checkout", server: "postgres", ...dimensions }, "shop/web store/db"],
    [
      "dimensions with OTLP's dots",
      {
        client: "web",
        "client_k8s.namespace.name": "shop",
        server: "db",
        "server_k8s.namespace.name": "store",
      },
      "shop/web store/db",
    ],
    [
      "a name with its service.namespace",
      { client: "web", client_service_namespace: "shop", server: "db", server_service_namespace: "shop" },
      "shop/web shop/db",
    ],
    [
      "a database whose span's resource names its owner",
      { client: "web.shop", connection_type: "database", ...dimensions, server: "orders" },
      "shop/web store/db",
    ],
    [
      "the peer of a client whose server has no spans",
      {
        client: "web.shop",
        server: "db.store.svc.cluster.local",
        connection_type: "virtual_node",
        virtual_node: "server",
      },
      "shop/web store/db",
    ],
    [
      "a sender and a receiver of messages",
      { client: "web.shop", server: "db.store", connection_type: "messaging_system" },
      "shop/web store/db",
    ],
  ];
  test.each(named)("%s names workloads", (_, attributes, channel) => {
    run(REQUESTS, attributes, 1);
    expect(Object.keys(rates())).toEqual([channel]);
  });

  const oneEnd: readonly [string, Attributes, string][] = [
    ["a plain name without a namespace", { client: "web", server: "db.store" }, "in"],
    ["a name with more parts than a service's", { client: "com.example.web", server: "db.store" }, "in"],
    ["no name", { client: "", server: "db.store" }, "in"],
    ["a name as long as none is", { client: `${"a".repeat(300)}.shop`, server: "db.store" }, "in"],
    ["a user", { client: "user", server: "db.store", connection_type: "virtual_node" }, "in"],
    [
      "a peer that may be any host",
      { client: "web.shop", server: "payments.bank", connection_type: "virtual_node" },
      "out",
    ],
    [
      "a database's schema",
      { client: "web.shop", server: "orders.public", connection_type: "database" },
      "out",
    ],
  ];
  test.each(oneEnd)("%s is outside for the end that is known", (_, attributes, direction) => {
    run(REQUESTS, attributes, 3);
    const channel = direction === "in" ? "_outside/unknown store/db" : "shop/web _outside/unknown";
    expect(rates()).toMatchObject({ [channel]: { requestsPerSecond: 3 } });
    expect(channels.size).toBe(1);
  });

  test("two ends that nobody knows are unattributed", () => {
    expect(unusedOf(REQUESTS, { client: "web", server: "db" })).toBe("unattributed");
    expect(channels.size).toBe(0);
  });

  describe("with clusters as dimensions", () => {
    const ends = { client: "web.shop", server: "store/db" };
    const call = (client: string, server: string): Attributes => ({
      ...ends,
      client_k8s_cluster_name: client,
      "server_k8s.cluster.name": server,
    });

    test("an end in another cluster is outside, by its name; calls within others are left out", () => {
      clusters = new OwnCluster(["here"]);
      run(REQUESTS, call("here", "here"), 1);
      run(REQUESTS, call("here", "There"), 2);
      run(REQUESTS, call("There", "here"), 3);
      expect(unusedOf(REQUESTS, call("There", "There"))).toBe("other_cluster");
      expect(rates()).toMatchObject({
        "shop/web store/db": { requestsPerSecond: 1 },
        "shop/web _outside/there": { requestsPerSecond: 2 },
        "_outside/there store/db": { requestsPerSecond: 3 },
      });
    });
  });

  test("what is no counter is not taken, other parts are known and left, other metrics are not ours", () => {
    const edge = { client: "web.shop", server: "db.store" };
    expect(
      take([{ kind: "gauge", name: REQUESTS, points: [{ attributes: edge, timeMs: NOW, value: 1 }] }])[0]!
        .unused,
    ).toBe("unknown_metric");
    expect(unusedOf("traces_service_graph_request_server_seconds_bucket", edge)).toBeNull();
    expect(unusedOf("istio_requests_total", edge)).toBe("not bound");
    expect(channels.size).toBe(0);
  });

  test("a hostile number of edges is bounded", () => {
    const sinks = take([
      {
        kind: "sum",
        name: REQUESTS,
        temporality: "cumulative",
        monotonic: true,
        points: Array.from({ length: 150 }, (_, i) => ({
          attributes: { client: `w${i}.shop`, server: "db.store" },
          timeMs: NOW,
          value: 1,
        })),
      },
    ]);
    expect(sinks.filter((sink) => sink!.unused === "too_many_channels")).toHaveLength(50);
    expect(channels.size).toBe(100);
  });
});

describe("Hubble's counters", () => {
  const ends = {
    source_namespace: "shop",
    source_workload: "web",
    destination_namespace: "store",
    destination_workload: "db",
  };

  test("requests seen at both ends count once, and failures are told by the status", () => {
    for (const reporter of ["client", "server"]) {
      run("hubble_http_requests_total", { ...ends, reporter, method: "GET", status: "200" }, 30);
      run("hubble_http_requests_total", { ...ends, reporter, method: "GET", status: "503" }, 10);
    }
    expect(rates()["shop/web store/db"]).toMatchObject({
      reporter: "hubble_client",
      requestsPerSecond: 40,
      bytesPerSecond: null,
      errorRatio: 0.25,
    });
  });

  test("the older plugin's responses, which name the server as their source, count as the requests' failures", () => {
    const back = {
      source_namespace: "store",
      source_workload: "db",
      destination_namespace: "shop",
      destination_workload: "web",
    };
    run("hubble_http_requests_total", { ...ends, reporter: "server", method: "GET" }, 40);
    run("hubble_http_responses_total", { ...back, reporter: "server", method: "GET", status: "200" }, 30);
    run("hubble_http_responses_total", { ...back, reporter: "server", method: "GET", status: "502" }, 10);
    expect(Object.keys(rates())).toEqual(["shop/web store/db"]);
    expect(rates()["shop/web store/db"]).toMatchObject({ requestsPerSecond: 40, errorRatio: 0.25 });
  });

  test("flows say that there is a channel, not how many requests or bytes it has", () => {
    const flow = { ...ends, protocol: "TCP", type: "Trace", verdict: "FORWARDED" };
    const name = "hubble_flows_processed_total";
    run(name, { ...flow, subtype: "to-endpoint", traffic_direction: "ingress" }, 7);
    run(name, { ...flow, subtype: "to-overlay", traffic_direction: "egress" }, 7);
    run(name, { ...flow, subtype: "to-endpoint", traffic_direction: "ingress", verdict: "DROPPED" }, 7);
    run(name, { ...flow, subtype: "to-endpoint", traffic_direction: "egress", source_workload: "x" }, 7);
    expect(rates()).toMatchObject({
      "shop/web store/db": { requestsPerSecond: null, bytesPerSecond: null, eventsPerSecond: 7 },
    });
    expect(channels.size).toBe(1);
  });

  test.each([
    ["without labels of workloads", { source: "shop/web-5d9-x7f", destination: "store/db-0" }],
    ["without a namespace", { ...ends, source_namespace: "", destination_namespace: "" }],
  ])("%s nothing can be attributed", (_, attributes) => {
    expect(unusedOf("hubble_http_requests_total", attributes)).toBe("unattributed");
  });

  test("an end that Hubble doesn't name is outside for the other one", () => {
    run("hubble_http_requests_total", { ...ends, source_namespace: "", status: "200" }, 5);
    expect(rates()).toMatchObject({ "_outside/unknown store/db": { requestsPerSecond: 5 } });
  });

  test("flows without the direction are not attributed: half of them are answers", () => {
    const flow = { ...ends, type: "Trace", subtype: "to-endpoint", verdict: "FORWARDED" };
    expect(unusedOf("hubble_flows_processed_total", flow)).toBe("unattributed");
  });
});

describe("precedence", () => {
  test("Istio wins over traces, traces over Hubble, for what each knows, and they are never added up", () => {
    const ends = {
      source_namespace: "shop",
      source_workload: "web",
      destination_namespace: "shop",
      destination_workload: "db",
    };
    const chosen = (): unknown => rates()["shop/web shop/db"];
    run("hubble_http_requests_total", { ...ends, reporter: "server", status: "200" }, 5);
    expect(chosen()).toMatchObject({ reporter: "hubble_server", requestsPerSecond: 5 });
    run("traces_service_graph_request_total", { client: "web.shop", server: "db.shop" }, 6);
    expect(chosen()).toMatchObject({ reporter: "service_graph", requestsPerSecond: 6 });
    const [channel] = channels.values();
    const side = channel!.side("destination");
    side.take("bytes", { fromMs: NOW, toMs: NOW + 10_000, delta: 70, reset: false });
    const known = { reporter: "destination", bytesPerSecond: 7 };
    expect(chosen()).toMatchObject({ ...known, requestsPerSecond: 6, requestsReporter: "service_graph" });
    side.take("requests", { fromMs: NOW, toMs: NOW + 10_000, delta: 90, reset: false });
    expect(chosen()).toMatchObject({ ...known, requestsPerSecond: 9, requestsReporter: "destination" });
  });
});
