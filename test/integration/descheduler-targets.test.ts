// A replacement lands on its recorded target for every kind of controller, or the move fails visibly.
import { hasCondition, KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  controlPlaneSupport,
  nodeNameOf,
  startControlPlane,
  workloadObject,
} from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler } from "../harness/descheduler/service.ts";
import type { RunningDescheduler } from "../harness/descheduler/service.ts";
import { ZONES } from "../harness/descheduler/three-zones.ts";
import { PLACEMENT_GATE } from "../harness/planner.ts";

const WAIT = { timeout: 60_000, interval: 250 };
const LONG_MS = 3_600_000;
/** Finalizer that keeps an evicted StatefulSet pod until the test removes it. */
const HOLD = "example.com/hold";

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported)
  console.warn(`targets of moves on a real control plane are not tested: ${support.reason}`);

describe.runIf(support.supported)("the only pod of a workload", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["scheduler", "controller-manager", "kwok"] });
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
  }, 900_000);
  afterAll(() => cluster?.close());

  type Kind = "Deployment" | "StatefulSet" | "ReplicaSet";

  /** api talks to db on n0, but may not run there. Resolves when both run and api is next to db. */
  const deploy = async (namespace: string, kind: Kind): Promise<FollowedGraphs> => {
    const workloads = ["api", "db"];
    const channels = [["api", "db", 300_000]] as const;
    const graphs = new FollowedGraphs({ cluster, namespace, zones: ZONES, workloads, channels });
    graphs.costMs = nearestTo("n1");
    const planner = await start(graphs, { mode: "dry-run" });
    await cluster.createNamespace(namespace);
    await cluster.createWorkload("db", {
      namespace,
      spec: { nodeSelector: { "kubernetes.io/hostname": "n0" }, terminationGracePeriodSeconds: 0 },
    });
    const api = workloadObject("api", {
      namespace,
      kind: kind === "StatefulSet" ? kind : "Deployment",
      schedulingGates: [PLACEMENT_GATE],
      spec: { terminationGracePeriodSeconds: 0, affinity: notOn("n0") },
    });
    await cluster.create({ ...api, kind });
    await expect.poll(() => apiOn(namespace), WAIT).toEqual(["n1"]);
    await planner.stop();
    return graphs;
  };

  const start = async (
    graphs: FollowedGraphs,
    settings: Record<string, unknown>,
  ): Promise<RunningDescheduler> => {
    const started = await startDescheduler(cluster.kubeconfig, graphs, {
      allowSingleReplicas: true,
      allowStatefulSets: true,
      coolDownMs: LONG_MS,
      // The leader's memory outlives a test, so it must not judge moves of other tests here.
      judgeAfterMs: LONG_MS,
      ...settings,
    });
    onTestFinished(() => started.stop().catch(() => undefined));
    return started;
  };

  const podsOf = (namespace: string): Promise<readonly KubernetesObject[]> =>
    cluster.list("pods", { namespace, labels: "app=api" });

  /** Nodes of its ready pods that are not terminating. */
  const apiOn = async (namespace: string): Promise<(string | null)[]> =>
    (await podsOf(namespace))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .filter((pod) => hasCondition(pod, "Ready"))
      .map(nodeNameOf);

  const outcomesOf = async (running: RunningDescheduler): Promise<unknown[]> =>
    (await running.evictionDecisions()).map(({ outcome }) => outcome?.result);

  test.each<Kind>(["Deployment", "StatefulSet", "ReplicaSet"])(
    "of a %s lands on the recorded target",
    async (kind) => {
      const namespace = `target-${kind.toLowerCase()}`;
      const graphs = await deploy(namespace, kind);
      const running = await start(graphs, {});
      graphs.costMs = nearestTo("n2");
      await expect.poll(() => outcomesOf(running), WAIT).toEqual(["on_target"]);
      await expect.poll(() => apiOn(namespace), WAIT).toEqual(["n2"]);
      const [decision] = await running.evictionDecisions();
      expect(decision).toMatchObject({ best: "n2", outcome: { node: "n2" } });
      expect(await running.metric("isochrone_descheduler_moves_total", 'outcome="on_target"')).toBe(1);
      expect(await running.metric("isochrone_planner_moves_total", 'outcome="redeemed"')).toBe(1);
    },
  );

  test("is moved once, and shown as a failed move, when its target fills up before it lands", async () => {
    const namespace = "filled";
    const graphs = await deploy(namespace, "StatefulSet");
    const pod = { ...KINDS.pod, namespace, name: "api-0" };
    await cluster.patch(pod, { metadata: { finalizers: [HOLD] } });
    const running = await start(graphs, {});
    graphs.costMs = nearestTo("n2");
    await expect.poll(() => outcomesOf(running), WAIT).toEqual([undefined]);
    await cluster.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name: "late" },
      spec: {
        nodeName: "n2",
        containers: [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }],
      },
    });
    await cluster.patch(pod, { metadata: { finalizers: null } });
    await expect.poll(() => outcomesOf(running), WAIT).toEqual(["elsewhere"]);
    const [node] = await apiOn(namespace);
    const [decision] = await running.evictionDecisions();
    expect(decision!.best).toBe("n2");
    expect(decision!.outcome).toMatchObject({ node, reason: expect.stringContaining("another node") });
    expect(node).not.toBe("n2");
    const report = await running.report();
    expect(report.regret).toBe(1);
    const runs = await running.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => running.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 3);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(1);
    expect(await running.metric("isochrone_descheduler_moves_total", 'outcome="elsewhere"')).toBe(1);
    const events = await cluster.list(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
    expect(events.map(({ reason }) => reason)).toContain("NetworkAwareMoveMissed");
  });
});

/** `near` is 1 ms away from n0, all others 60 ms. */
function nearestTo(near: string): (a: string, b: string) => number {
  return (a, b) => ([a, b].includes("n0") && [a, b].includes(near) ? 1 : 60);
}

function notOn(node: string): Readonly<Record<string, unknown>> {
  const expression = { key: "kubernetes.io/hostname", operator: "NotIn", values: [node] };
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [expression] }],
      },
    },
  };
}
