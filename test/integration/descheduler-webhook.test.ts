// The whole way of a pod that nobody gave a gate by hand: its namespace opts in by a label, the real API
// server asks our webhook, the planner lands it, the network changes, the descheduler evicts it, and its
// replacement goes the same way to the recorded target.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { gatesOf, KINDS, PLACEMENT_GATE, PLACEMENT_LABEL } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import { controlPlaneSupport, nodeNameOf, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler } from "../harness/descheduler/service.ts";
import type { RunningDescheduler } from "../harness/descheduler/service.ts";
import { CHANNELS, farAway, REPLICAS, ZONES } from "../harness/descheduler/three-zones.ts";

const NAMESPACE = "opted-in";
const WAIT = { timeout: 150_000, interval: 500 };

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported) console.warn(`webhook and descheduler together are not tested: ${support.reason}`);

describe.runIf(support.supported)("pods of a namespace that opts in", { timeout: 400_000 }, () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["scheduler", "controller-manager", "kwok"] });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
    await cluster.createNamespace(NAMESPACE, { [PLACEMENT_LABEL]: "enabled" });
  }, 900_000);
  afterAll(() => cluster?.close());

  test("get the gate of the webhook, are planned, moved within their budget, and land where the record says", async () => {
    const workloads = Object.keys(REPLICAS);
    const graphs = new FollowedGraphs({
      cluster,
      namespace: NAMESPACE,
      zones: ZONES,
      workloads,
      channels: CHANNELS,
    });
    graphs.costMs = farAway("zc");
    const port = await freePort();
    const webhook = { enabled: true, host: "127.0.0.1", port, url: `https://127.0.0.1:${port}` };
    const running = await startDescheduler(cluster.kubeconfig, graphs, { coolDownMs: 1_000 }, {}, webhook);
    onTestFinished(() => running.stop().catch(() => undefined));
    await expect.poll(() => admitted(), WAIT).toEqual([PLACEMENT_GATE]);

    for (const [name, replicas] of Object.entries(REPLICAS))
      await cluster.createWorkload(name, {
        namespace: NAMESPACE,
        replicas,
        requests: { cpu: "100m", memory: "64Mi" },
        spec: {
          terminationGracePeriodSeconds: 0,
          ...(name === "db" ? { nodeSelector: { "kubernetes.io/hostname": "n0" } } : {}),
        },
      });
    // All replicas of api must be there at all times.
    await cluster.create(budgetOf("api", 2));
    await ready(5);
    await graphs.refresh();
    const first = await pods();
    expect(zonesOf(first)).not.toContain("zc");
    // Templates have no gate: only the webhook can have set it, and only gated pods are planned.
    for (const { metadata } of await cluster.list("/apis/apps/v1/replicasets", { namespace: NAMESPACE }))
      expect(JSON.stringify(metadata)).not.toContain(PLACEMENT_GATE);
    expect(await planned(running)).toEqual(
      expect.arrayContaining(first.map(({ metadata }) => metadata.name)),
    );

    graphs.costMs = farAway("zb");
    await expect
      .poll(() => running.metric("isochrone_descheduler_eviction_failures_total", 'reason="pdb"'), WAIT)
      .toBeGreaterThan(0);
    expect(namesOf(await pods(), "api")).toEqual(namesOf(first, "api"));

    const budget = { ...KINDS.podDisruptionBudget, namespace: NAMESPACE, name: "api" };
    await cluster.patch(budget, { spec: { minAvailable: 1 } });
    // Whoever was refused is asked again after a minute, then two.
    await expect
      .poll(
        async () => {
          const now = await pods();
          return now.length === 5 && !zonesOf(now).includes("zb");
        },
        { ...WAIT, timeout: 300_000 },
      )
      .toBe(true);
    await ready(5);
    await expect
      .poll(
        async () => new Set((await running.evictionDecisions()).map(({ outcome }) => outcome?.result)),
        WAIT,
      )
      .toEqual(new Set(["on_target"]));
    const last = await pods();
    const moved = last.filter(({ metadata }) => !first.some((old) => old.metadata.uid === metadata.uid));
    expect(moved.length).toBeGreaterThanOrEqual(2);
    const targets = (await running.evictionDecisions()).map(({ best }) => best);
    for (const pod of moved) expect(targets).toContain(nodeNameOf(pod));
    expect(await planned(running)).toEqual(
      expect.arrayContaining(moved.map(({ metadata }) => metadata.name)),
    );
    expect(await running.metric("isochrone_descheduler_moves_total", 'outcome="elsewhere"')).toBe(0);
  });

  const pods = (): Promise<KubernetesObject[]> => cluster.list("pods", { namespace: NAMESPACE });

  /** Gates that a pod would be created with now. */
  const admitted = async (): Promise<string[]> => {
    const container = { name: "main", image: "none" };
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { generateName: "trial-" },
      spec: { containers: [container] },
    };
    const path = `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`;
    return gatesOf(await cluster.request("POST", path, pod));
  };

  const ready = (count: number): Promise<unknown> =>
    cluster.waitFor(
      "pods",
      (all) =>
        all.length === count &&
        all.every(({ status }) => JSON.stringify(status?.["conditions"] ?? []).includes('"Ready"'))
          ? all
          : null,
      { namespace: NAMESPACE },
    );

  /** Names of pods that a plan was made for. */
  const planned = async (running: RunningDescheduler): Promise<string[]> =>
    (await running.decisions("plan")).map(({ pod }) => pod.name);
});

function zonesOf(pods: readonly KubernetesObject[]): string[] {
  return pods.map((pod) => ZONES[nodeNameOf(pod) ?? ""] ?? "none");
}

function namesOf(pods: readonly KubernetesObject[], workload: string): string[] {
  return pods
    .filter(({ metadata }) => metadata.labels?.["app"] === workload)
    .map(({ metadata }) => metadata.name)
    .sort();
}

function budgetOf(app: string, minAvailable: number): KubernetesObject {
  return {
    ...KINDS.podDisruptionBudget,
    metadata: { name: app, namespace: NAMESPACE },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  };
}

/** The API server must know the webhook's address before it listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
