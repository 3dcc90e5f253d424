// Uses Kubernetes' own controllers and kube-scheduler, and only the chart's permissions.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { ReplicaReport, ZoneDemand } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  grantsOf,
  installRules,
  manifest,
  MANIFEST_VALUES,
  usesOf,
  verdictOf,
  type ComponentProcess,
} from "../harness/components/index.ts";
import {
  controlPlaneSupport,
  isRunning,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { clusterGraph, WORKFLOW, workflowGraph } from "../harness/extender.ts";
import { startMetricsAdapter, type MetricsAdapter } from "../harness/metrics-adapter.ts";
import { ENABLED, WebhookTestbed } from "../harness/webhook.ts";

const { NAMESPACE, NAME } = MANIFEST_VALUES;
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:${NAME}-scheduler-plugin`;
const COMPONENTS = ["controller-manager", "scheduler", "kwok"] as const;
/** RBAC files whose permissions are all used here. */
const OWN = ["scheduler-plugin-scale", "scheduler-plugin-deletion-cost"];
const WITHIN = { timeout: 60_000, interval: 250 };
const ZONE = "topology.kubernetes.io/zone";
const ZONES = ["west", "east", "north"];
const NODES = Array.from({ length: 9 }, (_, index) => [`node-${index}`, ZONES[index % 3]!] as const);
const ZONE_OF = new Map<string, string>(NODES);
const QUICK = { roundMs: 500, coolDownMs: 1_000, surplusMs: 3_000, changes: 100 };
/** Enough frames to detect a change. */
const FRAMES_MS = 4_000;

const support = controlPlaneSupport(COMPONENTS);
if (!support.supported) console.warn(`orchestration is not tested: ${support.reason}`);

describe.runIf(support.supported)("replicas on a real control plane", { timeout: 180_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugin: ComponentProcess;
  let adapter: MetricsAdapter;
  const rates: Record<string, Readonly<Record<string, number>>> = {};
  /** Pods of db get their nodes at admission, those of others by a plan. */
  let workflow = workflowGraph({ db: [] }, []);

  beforeAll(async () => {
    cluster = await startControlPlane({
      components: COMPONENTS,
      audit: true,
      controllerManagerFlags: [
        "--controllers=horizontal-pod-autoscaler-controller",
        "--horizontal-pod-autoscaler-sync-period=1s",
      ],
    });
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare(NODES.length);
    await installRules(cluster, ["scheduler-plugin-planner", "scheduler-plugin-dispatch", ...OWN]);
    for (const [name, zone] of NODES)
      await cluster.patch({ ...KINDS.node, name }, { metadata: { labels: { [ZONE]: zone } } });
    say({});
    plugin = await testbed.plugin(
      "scheduler-plugin-0",
      {},
      {
        scheduler: { deletionCosts: "write", deletionCostMs: 500 },
        planner: { enabled: true },
        dispatch: { levers: ["replicas", "scale", "deletion-cost"], ...QUICK },
      },
    );
    await plugin.start();
    await testbed.untilGating();
    adapter = await startMetricsAdapter(cluster, async (namespace, metric) => {
      const answer = await plugin.get(`/api/v1/dispatch/replicas/${namespace}/${metric}`);
      return answer.ok ? ((await answer.json()) as { wanted: number }).wanted : null;
    });
  }, 900_000);

  afterAll(async () => {
    await adapter?.close();
    await testbed?.close();
    await cluster?.close();
  });

  function say(more: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
    Object.assign(rates, more);
    const graph = clusterGraph(
      NODES.map(([name]) => ({ name })),
      (a, b) => (ZONE_OF.get(a) === ZONE_OF.get(b) ? 1 : 20),
    );
    const nodes = graph.nodes.map((node) => ({ ...node, zone: ZONE_OF.get(node.name)! }));
    const demand = Object.entries(rates).map(([name, byZone]) => ({
      namespace: "default",
      name,
      deadlineMs: null,
      zones: Object.entries(byZone).map(([zone, requestsPerSecond]): ZoneDemand => ({
        zone,
        requestsPerSecond,
        errorRatio: 0,
        inTimeRatio: null,
        latencyMs: { p50: 5, p90: 9, p99: 12 },
        ageSeconds: 1,
      })),
    }));
    testbed.say({ cluster: { ...graph, nodes }, workflow, demand });
  }

  async function app(name: string, replicas: number): Promise<void> {
    await cluster.create({
      ...KINDS.service,
      metadata: { namespace: "default", name, annotations: { "isochrone.dev/capacity": "100" } },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    });
    await cluster.createWorkload(name, {
      replicas,
      labels: { app: name, "isochrone.dev/workflow": WORKFLOW, ...ENABLED },
      requests: { cpu: "10m", memory: "16Mi" },
    });
    await untilRunning(name, replicas);
  }

  const pods = (name: string): Promise<KubernetesObject[]> =>
    cluster.list("pods", { namespace: "default", labels: `app=${name}` });
  const untilRunning = (name: string, count: number): Promise<KubernetesObject[]> =>
    cluster.waitFor(
      "pods",
      (found) => {
        const there = found.filter(({ metadata }) => metadata.labels?.["app"] === name);
        return there.length === count && there.every(isRunning) ? there : null;
      },
      { namespace: "default", timeoutMs: 60_000 },
    );
  const spread = (found: readonly KubernetesObject[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const pod of found) {
      const zone = ZONE_OF.get(nodeNameOf(pod) ?? "") ?? "nowhere";
      counts[zone] = (counts[zone] ?? 0) + 1;
    }
    return counts;
  };
  const order = (name: string, mode: string | null): Promise<unknown> =>
    cluster.patch(
      { ...KINDS.service, namespace: "default", name },
      { metadata: { annotations: { "isochrone.dev/replicas": mode } } },
    );
  const row = async (name: string): Promise<ReplicaReport["services"][number] | undefined> => {
    const report = (await (await plugin.get("/api/v1/dispatch/replicas")).json()) as ReplicaReport;
    return report.services.find((each) => each.name === name);
  };
  const wantedIn = async (name: string, zone: string): Promise<number | undefined> =>
    (await row(name))?.zones.find((each) => each.zone === zone)?.wanted;
  const replicas = async (name: string): Promise<number> =>
    Number((await cluster.get({ ...KINDS.deployment, namespace: "default", name }))!.spec!["replicas"]);
  const ourWrites = async (): Promise<string[]> => {
    const events = await cluster.auditEvents(({ user }) => user === ACCOUNT);
    return events
      .filter(({ verb }) => ["create", "update", "patch", "delete"].includes(verb))
      .map(({ verb, resource, subresource }) => `${verb} ${resource}/${subresource ?? ""}`);
  };

  test("nothing is written for a proposal", async () => {
    await app("quiet", 3);
    say({ quiet: { west: 900, east: 10, north: 10 } });
    const before = (await ourWrites()).filter((each) => !each.includes("leases"));
    await order("quiet", "proposal");
    await expect.poll(async () => (await row("quiet"))?.state, WITHIN).toBe("changing");
    await new Promise((resolve) => setTimeout(resolve, FRAMES_MS));
    expect(await wantedIn("quiet", "west")).toBeGreaterThan(8);
    expect(await replicas("quiet")).toBe(3);
    expect((await ourWrites()).filter((each) => !each.includes("leases"))).toEqual(before);
  });

  test("a HorizontalPodAutoscaler follows the metric, and its new replicas land where they are wanted", async () => {
    await app("db", 3);
    say({ db: { west: 10, east: 10, north: 10 } });
    await order("db", "metric");
    await cluster.create({
      ...KINDS.horizontalPodAutoscaler,
      metadata: { namespace: "default", name: "db" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "db" },
        minReplicas: 3,
        maxReplicas: 60,
        metrics: [
          {
            type: "External",
            external: { metric: { name: "db" }, target: { type: "AverageValue", averageValue: "1" } },
          },
        ],
        behavior: {
          scaleUp: {
            policies: [{ type: "Pods", value: 100, periodSeconds: 15 }],
            stabilizationWindowSeconds: 0,
          },
        },
      },
    });
    const before = await untilRunning("db", 3);
    say({ db: { west: 2_000, east: 10, north: 10 } });
    await expect.poll(() => replicas("db"), WITHIN).toBeGreaterThanOrEqual(23);
    const known = new Set(before.map(({ metadata }) => metadata.name));
    const after = await untilRunning("db", await replicas("db"));
    const added = spread(after.filter(({ metadata }) => !known.has(metadata.name)));
    const total = Object.values(added).reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(20);
    const promised = after.filter(
      ({ metadata }) => metadata.annotations?.["isochrone.dev/promise"] !== undefined,
    );
    expect(promised.length).toBeGreaterThan(0);
    expect((added.west ?? 0) / total).toBeGreaterThanOrEqual(0.95);
  });

  test("scaling adds where requests are, and takes away where they were", async () => {
    await app("web", 3);
    say({ web: { west: 10, east: 700, north: 10 } });
    await order("web", "scale");
    await expect.poll(() => replicas("web"), WITHIN).toBeGreaterThanOrEqual(9);
    await expect.poll(async () => (await row("web"))?.state, WITHIN).toBe("steady");
    const full = spread(await pods("web"));
    expect(full.east).toBeGreaterThanOrEqual(7);
    say({ web: { west: 10, east: 10, north: 10 } });
    await expect.poll(async () => spread(await pods("web")).east, WITHIN).toBeLessThanOrEqual(1);
    await expect.poll(async () => (await row("web"))?.state, WITHIN).toBe("steady");
    const left = await pods("web");
    for (const zone of ["west", "north"]) expect(spread(left)[zone]).toBe(full[zone]);
    expect(left.flatMap(({ metadata }) => Object.keys(metadata.annotations ?? {}))).not.toContain(
      "isochrone.dev/surplus",
    );
  });

  test("beside a HorizontalPodAutoscaler nothing is scaled, and an Event says so", async () => {
    const before = await replicas("db");
    await order("db", "scale");
    await expect.poll(async () => (await row("db"))?.refused?.reason, WITHIN).toBe("other_controller");
    const told = async (): Promise<string[]> => {
      const events = await cluster.list(KINDS.event, { namespace: "default" });
      return events.filter(({ reason }) => reason === "ReplicasRefused").map(({ note }) => String(note));
    };
    await expect.poll(told, WITHIN).toEqual([expect.stringContaining("HorizontalPodAutoscaler db scales")]);
    expect(await replicas("db")).toBe(before);
  });

  test("a scale-down of an app that nobody orchestrates takes the pods that are missed least", async () => {
    await app("cart", 4);
    const before = await untilRunning("cart", 4);
    const zone = ZONE_OF.get(nodeNameOf(before[0]!)!)!;
    const near = before.filter((pod) => ZONE_OF.get(nodeNameOf(pod)!) === zone);
    expect(near.length).toBeLessThan(4);
    // All callers are in the first pod's zone.
    const callers = NODES.filter(([, at]) => at === zone).map(([name]) => name);
    const flow = workflowGraph({ db: [], web: callers, cart: [] }, [["web", "cart", 50_000]]);
    const shown = before.map((pod) => ({ name: pod.metadata.name, node: nodeNameOf(pod)! }));
    workflow = {
      ...flow,
      workloads: flow.workloads.map((each) => (each.name === "cart" ? { ...each, pods: shown } : each)),
    };
    say({});
    const costs = async (): Promise<string[]> =>
      (await pods("cart")).flatMap(({ metadata }) =>
        metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] === "-99" ? [metadata.name] : [],
      );
    await expect.poll(async () => (await costs()).length, WITHIN).toBe(4 - near.length);
    await cluster.patch(
      { ...KINDS.deployment, namespace: "default", name: "cart" },
      { spec: { replicas: near.length } },
    );
    const left = await untilRunning("cart", near.length);
    const namesOf = (found: readonly KubernetesObject[]): string[] =>
      found.map(({ metadata }) => metadata.name).sort();
    expect(namesOf(left)).toEqual(namesOf(near));
  });

  test("nothing else is asked for, and no right of its own is left unused", async () => {
    const isOurs = (user: string): boolean => user === ACCOUNT;
    const events = await cluster.auditEvents(({ user }) => isOurs(user));
    const uses = events.flatMap((event) => usesOf(event, isOurs));
    const grants = OWN.flatMap((file) => grantsOf(manifest("rbac", file)));
    const verdict = verdictOf({ grants, uses, scenarios: [], faultsOnly: {}, byChance: new Set() });
    expect({ unused: verdict.unused, denied: verdict.denied }).toEqual({ unused: [], denied: [] });
  });
});
