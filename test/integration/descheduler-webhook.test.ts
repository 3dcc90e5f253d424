// The path of a pod without a manual gate, through webhook, planner, descheduler and back. No part touches
// the gangs beside it.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { gatesOf, KINDS, PLACEMENT_GATE, PLACEMENT_LABEL, WEBHOOK_ANSWER } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { OUR_CRDS } from "../harness/appgroups.ts";
import {
  controlPlaneSupport,
  GANG_FLAGS,
  gangObject,
  hasGangs,
  inGang,
  nodeNameOf,
  startControlPlane,
} from "../harness/control-plane/index.ts";
import type { ControlPlane, PodOptions } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler } from "../harness/descheduler/service.ts";
import type { RunningDescheduler } from "../harness/descheduler/service.ts";
import { COMMAND } from "../harness/extender.ts";
import { CHANNELS, farAway, REPLICAS, ZONES } from "../harness/descheduler/three-zones.ts";

const NAMESPACE = "opted-in";
/** Name of the Deployment and of the pods of gangs. Its pods have much traffic with others that move. */
const BATCH = "batch";
const WAIT = { timeout: 150_000, interval: 500 };

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported) console.warn(`webhook and descheduler together are not tested: ${support.reason}`);

describe.runIf(support.supported)("pods of a namespace that opts in", { timeout: 400_000 }, () => {
  let cluster: ControlPlane;
  let graphs: FollowedGraphs;
  let running: RunningDescheduler;

  beforeAll(async () => {
    cluster = await startControlPlane({
      components: ["scheduler", "controller-manager", "kwok"],
      ...GANG_FLAGS,
    });
    for (const file of OUR_CRDS) await cluster.createYaml(readFileSync(file, "utf8"));
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
    await cluster.createNamespace(NAMESPACE, { [PLACEMENT_LABEL]: "enabled" });
    graphs = new FollowedGraphs({
      cluster,
      namespace: NAMESPACE,
      zones: ZONES,
      workloads: [...Object.keys(REPLICAS), ...(hasGangs ? [BATCH] : [])],
      channels: [...CHANNELS, ...(hasGangs ? [[BATCH, "db", 20_000] as const] : [])],
    });
    graphs.costMs = farAway("zc");
    const port = await freePort();
    const webhook = { enabled: true, host: "127.0.0.1", port, url: `https://127.0.0.1:${port}` };
    running = await startDescheduler(cluster.kubeconfig, graphs, { coolDownMs: 1_000 }, {}, webhook);
    await vi.waitFor(async () => {
      if ((await admitted()).join() !== PLACEMENT_GATE) throw new Error("the webhook sets no gates yet");
    }, WAIT);
  }, 900_000);
  afterAll(async () => {
    await running?.stop();
    await cluster?.close();
  });

  test("get the gate of the webhook, are planned, moved within their budget, and land where the record says", async () => {
    if (hasGangs) {
      await cluster.create(gangObject(NAMESPACE, BATCH, 2));
      const spec = { terminationGracePeriodSeconds: 0, ...inGang(BATCH), ...onlyOn("n2", "n3", "n4", "n5") };
      await cluster.createWorkload(BATCH, { namespace: NAMESPACE, replicas: 2, spec });
    }
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
    for (const name of ["web", "api"]) await cluster.create(budgetOf(name, 2));
    const strategy = { type: "Recreate", rollingUpdate: null };
    await cluster.patch({ ...KINDS.deployment, namespace: NAMESPACE, name: "api" }, { spec: { strategy } });
    await ready(5);
    await expect
      .poll(nodesOf(BATCH), WAIT)
      .toEqual(Array.from({ length: hasGangs ? 2 : 0 }, () => expect.any(String)));
    const gang = await batch();
    await graphs.refresh();
    const first = await pods();
    expect(zonesOf(first)).not.toContain("zc");
    // Templates have no gate, so the webhook must have set it. Only gated pods are planned.
    for (const { metadata } of await cluster.list("/apis/apps/v1/replicasets", { namespace: NAMESPACE }))
      expect(JSON.stringify(metadata)).not.toContain(PLACEMENT_GATE);
    expect(await planned()).toEqual(expect.arrayContaining(first.map(({ metadata }) => metadata.name)));

    graphs.costMs = farAway("zb");
    await expect.poll(() => decisionsOf("api"), WAIT).toContain("disruption_budget");
    expect(namesOf(await pods(), "api")).toEqual(namesOf(first, "api"));

    const budget = { ...KINDS.podDisruptionBudget, namespace: NAMESPACE, name: "api" };
    await cluster.patch(budget, { spec: { minAvailable: 1 } });
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
    await expect
      .poll(planned, WAIT)
      .toEqual(expect.arrayContaining(moved.map(({ metadata }) => metadata.name)));
    expect(await running.metric("isochrone_descheduler_moves_total", 'outcome="elsewhere"')).toBe(0);
    // The descheduler never tries to evict pods that their budget protects.
    expect(await running.metric("isochrone_descheduler_eviction_failures_total", 'reason="pdb"')).toBe(0);
    // Distant from all others, and still there.
    expect((await batch()).map(({ metadata }) => metadata.uid)).toEqual(
      gang.map(({ metadata }) => metadata.uid),
    );
    const left = (await running.report()).pods.filter(({ name }) => name.startsWith(`${BATCH}-`));
    expect(left.map(({ decision }) => decision)).toEqual(gang.map(() => "gang"));
  });

  test.runIf(hasGangs)("a gang waits at no gate, and is bound as a whole or not at all", async () => {
    const of = async (gang: string): Promise<KubernetesObject[]> =>
      (await batch()).filter(({ metadata }) => metadata.name.startsWith(`${gang}-`));
    const uids = (all: readonly KubernetesObject[]): unknown[] => all.map(({ metadata }) => metadata.uid);
    const add = (
      gang: string,
      indexes: readonly number[],
      more: Partial<PodOptions> = {},
    ): Promise<unknown> =>
      cluster.createPods(
        indexes.map((index) => `${gang}-${index}`),
        {
          namespace: NAMESPACE,
          labels: { app: BATCH },
          requests: { cpu: "50m" },
          ...more,
          spec: { terminationGracePeriodSeconds: 0, ...inGang(gang), ...more.spec },
        },
      );
    for (const [name, minCount] of Object.entries({ large: 3, whole: 3, held: 2 }))
      await cluster.create(gangObject(NAMESPACE, name, minCount));
    // There is room for two of them.
    await add("large", [0, 1, 2], { requests: { cpu: "3500m" }, spec: onlyOn("n4", "n5") });
    await add("whole", [0, 1]);
    await add("held", [0]);
    await add("held", [1], { schedulingGates: [PLACEMENT_GATE] });

    // A manually set gate is opened without a plan.
    await expect.poll(nodesOf("held"), WAIT).toEqual([expect.any(String), expect.any(String)]);
    expect((await of("held")).map(answerOf)).toEqual(["gang", "already_gated"]);
    const decision = (await running.decisions("plan")).find(({ pod }) => pod.name === "held-1");
    expect(decision!.explanation[0]).toMatch(/^Released without a plan \(unsupported\): it belongs to a /);

    expect(await nodesOf("whole")()).toEqual([null, null]);
    const large = await of("large");
    await add("whole", [2]);
    await expect.poll(nodesOf("whole"), WAIT).toEqual(Array.from({ length: 3 }, () => expect.any(String)));
    for (const pod of [...(await of("whole")), ...large]) {
      expect([answerOf(pod), gatesOf(pod)]).toEqual(["gang", []]);
      expect(JSON.stringify(pod)).not.toContain("isochrone.dev/planned");
    }
    const words = [COMMAND, "explain", "whole-0", "-n", NAMESPACE, "--kubeconfig", cluster.kubeconfig];
    const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 60_000 });
    expect(stdout).toContain("It is one of a gang");

    // Other pods are placed while this one finds no room. Its own pods stay.
    const web = { namespace: NAMESPACE, labels: { app: "web" }, requests: { cpu: "50m" } };
    await cluster.createPods(["web-8", "web-9"], web);
    const isNew = ({ metadata }: KubernetesObject): boolean => /^web-[89]$/.test(metadata.name);
    const added = async (): Promise<(string | null)[]> => (await pods()).filter(isNew).map(nodeNameOf);
    await expect.poll(added, WAIT).toEqual([expect.any(String), expect.any(String)]);
    const still = await of("large");
    expect([still.map(nodeNameOf), uids(still)]).toEqual([[null, null, null], uids(large)]);
  });

  const all = (): Promise<KubernetesObject[]> => cluster.list("pods", { namespace: NAMESPACE });
  const isBatch = ({ metadata }: KubernetesObject): boolean => metadata.labels?.["app"] === BATCH;
  const pods = async (): Promise<KubernetesObject[]> => (await all()).filter((pod) => !isBatch(pod));
  const batch = async (): Promise<KubernetesObject[]> => (await all()).filter(isBatch);
  const nodesOf = (gang: string) => async (): Promise<(string | null)[]> =>
    (await batch()).filter(({ metadata }) => metadata.name.startsWith(`${gang}-`)).map(nodeNameOf);

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
      (found) => {
        const others = found.filter((pod) => !isBatch(pod));
        return others.length === count &&
          others.every(({ status }) => JSON.stringify(status?.["conditions"] ?? []).includes('"Ready"'))
          ? others
          : null;
      },
      { namespace: NAMESPACE },
    );

  const decisionsOf = async (workload: string): Promise<string[]> =>
    (await running.report()).pods
      .filter(({ name }) => name.startsWith(`${workload}-`))
      .map(({ decision }) => decision);

  const planned = async (): Promise<string[]> => (await running.decisions("plan")).map(({ pod }) => pod.name);
});

function answerOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[WEBHOOK_ANSWER];
}

function onlyOn(...values: readonly string[]): { readonly affinity: object } {
  const matchExpressions = [{ key: "kubernetes.io/hostname", operator: "In", values }];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
}

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
