// Visibility of channels that one namespace's proxies report about another.
import { seededRandom } from "@isochrone/runtime";
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState } from "../../testing/cluster.ts";
import { counter, recordOf } from "../../testing/records.ts";
import { bindsOf } from "../traffic/channel-ends.ts";
import { CHANNEL_REPORTERS, REPORTERS } from "../channel-key.ts";
import type { PodState, WorkloadState } from "../cluster-state.ts";
import { Ingest } from "../ingest/ingest.ts";
import { Tables } from "./tables.ts";
import { buildWorkflows } from "./workflows.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const NAMES = ["evil/x", "evil/y", "shop/web", "shop/db", "bank/vault", "mesh/gateway"];

let tables: Tables;
let ingest: Ingest;

beforeEach(() => begin());

function begin(): void {
  const limits = { maxLinks: 10, maxChannels: 1000, maxPods: 100, meshNamespaces: ["mesh"] };
  tables = new Tables(SHAPE, limits);
  ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 10_000, maxSources: 10 });
}

function report(
  reporter: string,
  source: string,
  target: string,
  perSecond: number,
  metric = "istio_requests_total",
): void {
  const [sourceNamespace, sourceName] = source.split("/");
  const [targetNamespace, targetName] = target.split("/");
  const labels = {
    reporter,
    source_workload: sourceName!,
    source_workload_namespace: sourceNamespace!,
    destination_workload: targetName!,
    destination_workload_namespace: targetNamespace!,
    response_code: "200",
  };
  for (let i = 0; i <= 2; i++) {
    const at = NOW + i * 2000;
    const metrics = [counter(metric, labels, at, i * 2 * perSecond)];
    ingest.take(recordOf("n", metrics, { arrivedAtMs: at }), at);
  }
}

function graphs(): WorkflowGraphSnapshot[] {
  const members = NAMES.map((full) => full.split("/") as [string, string]);
  const workloads = members.map(([namespace, name]): WorkloadState => ({
    namespace,
    name,
    kind: "Deployment",
    workflow: { namespace, name: namespace },
  }));
  const pods = members.map(([namespace, name]): PodState => ({
    namespace,
    name: `${name}-1`,
    node: "n",
    workload: { kind: "Deployment", name },
    workflow: { namespace, name: namespace },
  }));
  return buildWorkflows(tables, clusterState({ workloads, pods }), { version: 1, nowMs: NOW + 4000 }, "full");
}

function seenIn(namespace: string): Record<string, number | null> {
  const graph = graphs().find((each) => each.namespace === namespace)!;
  return Object.fromEntries(
    graph.channels.map(({ source, target, requestsPerSecond }: Channel) => [
      `${source} ${target}`,
      requestsPerSecond,
    ]),
  );
}

describe("a channel between two namespaces", () => {
  test("that only its source's proxies report is shown to its source alone", () => {
    report("source", "evil/x", "shop/web", 1e9);
    expect(seenIn("evil")).toEqual({ "x web": 1e9 });
    expect(seenIn("shop")).toEqual({});
  });

  test("that only its target's proxies report is shown to its target alone", () => {
    report("destination", "shop/web", "evil/x", 1e9);
    expect(seenIn("evil")).toEqual({ "web x": 1e9 });
    expect(seenIn("shop")).toEqual({});
  });

  test("that both report is shown to each as its own proxies count it, whatever the other's say", () => {
    report("source", "shop/web", "bank/vault", 10);
    report("destination", "shop/web", "bank/vault", 1e9);
    expect([seenIn("shop"), seenIn("bank")]).toEqual([{ "web vault": 10 }, { "web vault": 1e9 }]);
    begin();
    // A lower claim does not reduce the measured rate.
    report("source", "shop/web", "bank/vault", 0.001);
    report("destination", "shop/web", "bank/vault", 10);
    expect(seenIn("bank")["web vault"]).toBeCloseTo(10, 6);
  });

  test("is shown to its target as the waypoint before it counts it, and to its source by its own proxy", () => {
    report("waypoint", "shop/web", "bank/vault", 10);
    expect([seenIn("shop"), seenIn("bank")]).toEqual([{}, { "web vault": 10 }]);
    report("source", "shop/web", "bank/vault", 11);
    expect([seenIn("shop"), seenIn("bank")]).toEqual([{ "web vault": 11 }, { "web vault": 10 }]);
  });

  test("is shown to both when a gateway of the mesh's own namespaces is an end of it", () => {
    report("source", "mesh/gateway", "shop/web", 20);
    expect([seenIn("mesh"), seenIn("shop")]).toEqual([{ "gateway web": 20 }, { "gateway web": 20 }]);
  });

  test("is shown to both when somebody reports it who stands at neither end", () => {
    const labels = {
      client: "web.shop",
      server: "vault.bank",
    };
    for (let i = 0; i <= 2; i++) {
      const at = NOW + i * 2000;
      const metrics = [counter("traces_service_graph_request_total", labels, at, i * 20)];
      ingest.take(recordOf("n", metrics, { arrivedAtMs: at }), at);
    }
    expect([seenIn("shop"), seenIn("bank")]).toEqual([{ "web vault": 10 }, { "web vault": 10 }]);
  });
});

test("a channel within a namespace has one reporter, as ever", () => {
  report("source", "shop/web", "shop/db", 10);
  report("destination", "shop/web", "shop/db", 12);
  expect(seenIn("shop")).toEqual({ "web db": 10 });
});

describe("hops through a waypoint of another namespace", () => {
  test("are shown to the client as its own node counts them, and to the server as the whole channel", () => {
    report("source", "shop/web", "bank/gate", 100, "istio_tcp_sent_bytes_total");
    report("destination", "bank/gate", "bank/vault", 100, "istio_tcp_sent_bytes_total");
    report("waypoint", "shop/web", "bank/vault", 10);
    expect(Object.keys(seenIn("shop"))).toEqual(["web gate"]);
    expect(seenIn("bank")).toEqual({ "web vault": 10 });
  });

  test("are hidden where the mesh's own waypoint stands between two workloads of one namespace", () => {
    report("source", "shop/web", "mesh/gateway", 100, "istio_tcp_sent_bytes_total");
    report("destination", "mesh/gateway", "shop/db", 100, "istio_tcp_sent_bytes_total");
    report("waypoint", "shop/web", "shop/db", 10);
    expect(seenIn("shop")).toEqual({ "web db": 10 });
  });

  test("can't be claimed to hide a channel of others", () => {
    // Without a reporter at the vault's end, as for a waypoint.
    report("source", "shop/web", "bank/vault", 100);
    report("waypoint", "shop/web", "evil/x", 1);
    report("destination", "bank/vault", "evil/x", 1);
    expect(seenIn("shop")).toEqual({ "web vault": 100 });
  });
});

test("whatever proxies of a namespace report of channels that they are an end of, graphs of others stay as they were", () => {
  const honest = (): void => {
    report("source", "shop/web", "shop/db", 10);
    report("source", "shop/web", "bank/vault", 5);
    report("destination", "shop/web", "bank/vault", 5);
    report("destination", "evil/x", "shop/web", 3);
    report("source", "mesh/gateway", "shop/web", 20);
  };
  const others = (): string => JSON.stringify(graphs().filter(({ namespace }) => namespace !== "evil"));
  honest();
  const before = others();
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    const oneOf = <T>(choices: readonly T[]): T => choices[Math.floor(random.next() * choices.length)]!;
    begin();
    honest();
    for (let claims = Math.floor(random.next() * 12); claims > 0; claims--) {
      const reporter = oneOf(REPORTERS);
      const own = oneOf(["evil/x", "evil/y"]);
      const other = oneOf(NAMES);
      const [source, target] = reporter === "source" ? [own, other] : [other, own];
      const metric = oneOf(["istio_requests_total", "istio_tcp_sent_bytes_total"]);
      report(reporter, source, target, oneOf([0.001, 1, 2e9]), metric);
    }
    expect(others(), `seed ${seed}`).toBe(before);
  }
});

test("every reporter counts for both ends within a namespace, and for one it stands at between two", () => {
  const within = { sourceNamespace: "a", source: "x", targetNamespace: "a", target: "y" };
  const between = { ...within, targetNamespace: "b" };
  const none = new Set<string>();
  expect(CHANNEL_REPORTERS.map((reporter) => bindsOf(reporter, within, none))).toEqual(
    CHANNEL_REPORTERS.map(() => "both"),
  );
  const standing = { waypoint: "target", source: "source", destination: "target", linkerd: "source" };
  expect(CHANNEL_REPORTERS.map((reporter) => [reporter, bindsOf(reporter, between, none)])).toEqual(
    CHANNEL_REPORTERS.map((reporter) => [
      reporter,
      new Map(Object.entries(standing)).get(reporter) ?? "both",
    ]),
  );
  expect(CHANNEL_REPORTERS).toHaveLength(17);
});
