// Mode paper with a real kube-scheduler and eviction API: no gates, one replica per workload.
import { gatesOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { MOVES_ANNOTATION } from "@isochrone/kubernetes/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler } from "../harness/descheduler/service.ts";
import { CHANNELS, farAway, ZONES } from "../harness/descheduler/three-zones.ts";

const NAMESPACE = "paper";
const WORKLOADS = ["web", "api", "db"];
const WAIT = { timeout: 150_000, interval: 500 };

const schedulerConfig = (urlPrefix: string): string =>
  JSON.stringify({
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig: "@KUBECONFIG@" },
    leaderElection: { leaderElect: false },
    extenders: [
      {
        urlPrefix,
        filterVerb: "filter",
        prioritizeVerb: "prioritize",
        weight: 5,
        nodeCacheCapable: true,
        ignorable: true,
      },
    ],
  });

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported)
  console.warn(`the paper's descheduler on a real control plane is not tested: ${support.reason}`);

describe.runIf(support.supported)("the paper's descheduler", { timeout: 500_000 }, () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["scheduler", "controller-manager", "kwok"] });
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
    await cluster.createNamespace(NAMESPACE);
  }, 900_000);
  afterAll(() => cluster?.close());

  const pods = (): Promise<KubernetesObject[]> => cluster.list("pods", { namespace: NAMESPACE });

  test("brings single replicas together with the extender alone, and then leaves them alone", async () => {
    for (const name of WORKLOADS)
      await cluster.createWorkload(name, {
        namespace: NAMESPACE,
        replicas: 1,
        requests: { cpu: "100m", memory: "64Mi" },
        spec: { terminationGracePeriodSeconds: 0 },
      });
    await cluster.waitFor("pods", (all) => (all.filter(isReady).length === 3 ? all : null), {
      namespace: NAMESPACE,
    });
    const graphs = new FollowedGraphs({
      cluster,
      namespace: NAMESPACE,
      zones: ZONES,
      workloads: WORKLOADS,
      channels: CHANNELS,
    });
    graphs.costMs = farAway("zc");
    await graphs.refresh();
    const nodesOf = (): string[] => WORKLOADS.flatMap((name) => graphs.nodesOf(name));
    // kube-scheduler does not use the extender yet and picks the emptiest nodes.
    expect(new Set(nodesOf()).size).toBe(3);

    const settings = { mode: "paper", coolDownMs: 0 };
    const running = await startDescheduler(cluster.kubeconfig, graphs, settings, { mode: "raw" });
    onTestFinished(() => running.stop().catch(() => undefined));
    await cluster.restartScheduler(schedulerConfig(running.extenderUrl));
    // Together on one node all three cost nothing. The extender's 500 points outweigh default plugins.
    const isContent = async (): Promise<boolean> => {
      const { skipped, inFlight } = await running.report();
      return skipped["no_gain"] === 3 && inFlight.length === 0 && new Set(nodesOf()).size === 1;
    };
    await expect.poll(isContent, WAIT).toBe(true);
    const evictions = await running.metric("isochrone_descheduler_evictions_total");
    expect(evictions).toBeGreaterThanOrEqual(2);
    const runs = await running.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => running.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 4);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(evictions);
    expect(await isContent()).toBe(true);
    expect((await pods()).flatMap(gatesOf)).toEqual([]);
    for (const { metadata } of await cluster.list("/apis/apps/v1/replicasets", { namespace: NAMESPACE }))
      expect(Object.keys(metadata.annotations ?? {})).not.toContain(MOVES_ANNOTATION);
    expect(await running.decisions("plan")).toEqual([]);
    const [first] = (await running.evictionDecisions()).toReversed();
    expect(first).toMatchObject({
      strategy: "resource-network",
      mode: "raw",
      outcome: { result: "on_target" },
    });
  });
});

function isReady({ status }: KubernetesObject): boolean {
  return JSON.stringify(status?.["conditions"] ?? []).includes('"Ready"');
}
