import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import { beforeEach, describe, expect, test } from "vitest";
import { clusterState } from "../../testing/cluster.ts";
import { counter, recordOf } from "../../testing/records.ts";
import { ChannelMemory } from "./channel-memory.ts";
import type { ClusterState, PodState, WorkloadState } from "../cluster-state.ts";
import { Ingest } from "../ingest/ingest.ts";
import type { EndRates } from "./observed-channels.ts";
import { Tables } from "./tables.ts";
import { buildWorkflows } from "./workflows.ts";

const SHAPE = { windowMs: 30_000, paneMs: 2000, panes: 15, fastPanes: 3 };
const NOW = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

const WORKFLOW = { namespace: "shop", name: "checkout" };
const workload = (name: string, of: Partial<WorkloadState> = {}): WorkloadState => {
  return { namespace: "shop", name, kind: "Deployment", workflow: WORKFLOW, ...of };
};
const pod = (owner: string, node: string | null, of: Partial<PodState> = {}): PodState => {
  const replica = { kind: "Deployment", name: owner };
  return { namespace: "shop", name: `${owner}-1`, node, workload: replica, workflow: WORKFLOW, ...of };
};
const DEPLOYMENTS = [workload("web"), workload("db")];
const RUNNING: Partial<ClusterState> = { workloads: DEPLOYMENTS, pods: [pod("web", "n1"), pod("db", "n2")] };
const GATED: Partial<ClusterState> = { workloads: DEPLOYMENTS, pods: [pod("web", null), pod("db", null)] };

describe("traffic of a workflow that is deployed anew", () => {
  let tables: Tables;
  let ingest: Ingest;
  let nowMs: number;

  const start = (): void => {
    tables = new Tables(SHAPE, { maxLinks: 10, maxChannels: 100, maxPods: 100 });
    ingest = new Ingest(tables, { maxFutureMs: 1000, maxSeries: 1000, maxSources: 10 });
  };
  beforeEach(() => {
    start();
    nowMs = NOW;
  });

  const talk = (reporter: "source" | "destination" = "source", target = "shop/db", perSecond = 10): void => {
    const [targetNamespace, targetName] = target.split("/");
    const labels = {
      reporter,
      source_workload: "web",
      source_workload_namespace: "shop",
      destination_workload: targetName!,
      destination_workload_namespace: targetNamespace!,
      response_code: "200",
    };
    const startMs = nowMs;
    for (let i = 0; i <= 2; i++) {
      nowMs = startMs + i * 2000;
      const requests = counter("istio_requests_total", labels, nowMs, i * 2 * perSecond);
      ingest.take(recordOf("n1", [requests], { arrivedAtMs: nowMs }), nowMs);
    }
  };
  const after = (ms: number, cluster: Partial<ClusterState>): WorkflowGraphSnapshot[] => {
    let graphs: WorkflowGraphSnapshot[] = [];
    for (const untilMs = nowMs + ms; ; nowMs = Math.min(untilMs, nowMs + 1000)) {
      tables.expire(nowMs, () => false);
      graphs = buildWorkflows(tables, clusterState(cluster), { version: 1, nowMs }, "full");
      if (nowMs === untilMs) return graphs;
    }
  };
  const channelsOf = (graphs: WorkflowGraphSnapshot[], name = "checkout"): readonly Channel[] =>
    graphs.find((graph) => graph.name === name)?.channels ?? [];

  test("is known as it was, with its age, as soon as its workloads are there again", () => {
    talk();
    expect(channelsOf(after(0, RUNNING))).toMatchObject([{ requestsPerSecond: 10, ageSeconds: 0 }]);
    expect(after(HOUR_MS, {})).toEqual([]);
    expect(channelsOf(after(0, GATED))).toMatchObject([
      { source: "web", target: "db", requestsPerSecond: 10, origin: "observed", ageSeconds: 3600 },
    ]);
  });

  test("is known to the first of its pods, before its peer has any", () => {
    talk();
    after(0, RUNNING);
    after(HOUR_MS, {});
    expect(channelsOf(after(0, { workloads: DEPLOYMENTS, pods: [pod("web", null)] }))).toHaveLength(1);
    expect(channelsOf(after(0, { workloads: [workload("web")], pods: [pod("web", null)] }))).toEqual([]);
  });

  test("is not shown of workloads that nobody deploys, nor while they have no pods", () => {
    talk();
    after(0, RUNNING);
    expect(channelsOf(after(2 * HOUR_MS, { workloads: DEPLOYMENTS }))).toEqual([]);
    expect(channelsOf(after(0, GATED))).toHaveLength(1);
  });

  test("gives way to what the new pods say, at once, and to their silence after a window", () => {
    talk();
    after(0, RUNNING);
    after(HOUR_MS, {});
    after(10_000, GATED);
    expect(channelsOf(after(29_000, RUNNING))).toHaveLength(1);
    expect(channelsOf(after(1_000, RUNNING))).toEqual([]);
    expect(channelsOf(after(0, GATED))).toEqual([]);

    talk("source", "shop/db", 4);
    expect(channelsOf(after(0, RUNNING))).toMatchObject([{ requestsPerSecond: 4, ageSeconds: 0 }]);
  });

  test("that ends while its pods run ends with the window, as ever", () => {
    talk();
    after(0, RUNNING);
    expect(channelsOf(after(34_000, RUNNING))).toEqual([]);
    expect(channelsOf(after(0, GATED))).toEqual([]);
  });

  test("is unknown to an aggregator that has begun since, until its pods talk: docs/operations.md says what that costs", () => {
    talk();
    after(0, RUNNING);
    start();
    expect(channelsOf(after(HOUR_MS, GATED))).toEqual([]);
    talk();
    expect(channelsOf(after(0, RUNNING))).toMatchObject([{ requestsPerSecond: 10 }]);
    expect(channelsOf(after(HOUR_MS, GATED))).toMatchObject([{ requestsPerSecond: 10 }]);
  });

  test("is remembered for a day", () => {
    talk();
    after(0, RUNNING);
    nowMs += 24 * HOUR_MS;
    expect(channelsOf(after(0, GATED))).toHaveLength(1);
    nowMs += 1_000;
    expect(channelsOf(after(0, GATED))).toEqual([]);
  });

  test("is remembered as what each end's own proxies said: the other end's graph shows no more than before", () => {
    const bank = { namespace: "pay", name: "bank" };
    const other = { namespace: "pay", name: "billing" };
    const workloads = [workload("web"), workload("bank", { namespace: "pay", workflow: other })];
    const pods = (node: string | null) => [
      pod("web", node),
      pod("bank", node, { namespace: "pay", workflow: other }),
    ];
    talk("source", "pay/bank");
    const before = after(0, { workloads, pods: pods("n1") });
    expect([channelsOf(before), channelsOf(before, "billing")].map(({ length }) => length)).toEqual([1, 0]);
    after(HOUR_MS, {});
    const anew = after(0, { workloads, pods: pods(null) });
    expect(channelsOf(anew)).toMatchObject([{ target: bank.name, requestsPerSecond: 10 }]);
    expect(channelsOf(anew, "billing")).toEqual([]);
  });

  test("that a workload of the same name in another namespace had is not this one's", () => {
    talk();
    after(0, RUNNING);
    after(HOUR_MS, {});
    const elsewhere = { namespace: "thief", name: "checkout" };
    const workloads = DEPLOYMENTS.map(({ name }) =>
      workload(name, { namespace: "thief", workflow: elsewhere }),
    );
    const pods = ["web", "db"].map((name) => pod(name, null, { namespace: "thief", workflow: elsewhere }));
    expect(after(0, { workloads, pods }).flatMap(({ channels }) => channels)).toEqual([]);
  });
});

describe("the memory", () => {
  const rates = (namespace: string, source: string): EndRates => {
    const counted = {
      reporter: "source",
      requestsReporter: "source",
      requestsPerSecond: 1,
      bytesPerSecond: 100,
      errorRatio: 0,
      eventsPerSecond: null,
      newestMs: NOW,
    } as const;
    const key = { sourceNamespace: namespace, source, targetNamespace: "shop", target: "db" };
    return { key, source: counted, target: null };
  };
  const namesIn = (memory: ChannelMemory): string[] =>
    memory.recall(() => [{ node: null }], NOW + 1).map(({ key }) => `${key.sourceNamespace}/${key.source}`);

  test("holds no more than it may, and who has most of it gives room", () => {
    const memory = new ChannelMemory(4, SHAPE.windowMs);
    memory.note(rates("shop", "web"), true, NOW);
    for (let i = 0; i < 1_000; i++) memory.note(rates("thief", `invented-${i}`), true, NOW);
    expect(memory.size).toBe(4);
    expect(namesIn(memory)).toEqual([
      "shop/web",
      "thief/invented-997",
      "thief/invented-998",
      "thief/invented-999",
    ]);
  });

  test("forgets first what was seen longest ago", () => {
    const memory = new ChannelMemory(2, SHAPE.windowMs);
    for (const name of ["a", "b", "a", "c"]) memory.note(rates("shop", name), true, NOW);
    expect(namesIn(memory)).toEqual(["shop/a", "shop/c"]);
  });
});
