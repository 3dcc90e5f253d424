// Two scheduler-plugin processes, one of them leading, behind one address.
import { conditionsOf, KINDS, WEBHOOK_ANSWER } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Decision } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ComponentProcess } from "../harness/components/index.ts";
import { controlPlaneSupport, nodeNameOf, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { gated, SHOP_NODES, shopGraphs } from "../harness/planner.ts";
import { PLANNER_COMPONENTS } from "../harness/planner-testbed.ts";
import { CONFIGURATION, ENABLED, WebhookTestbed } from "../harness/webhook.ts";

const NAMESPACE = "shop";
/** Control group, scheduled by kube-scheduler alone with the same operations. */
const PLAIN = "plain";
const PLAIN_REPLICAS = 16;
const WORKLOADS = ["web", "api", "db"];
const PLANNED_NODE = "isochrone.dev/planned-node";
/** A busy machine must not make the planner appear dead. */
const PATIENT = { heartbeatMaxAgeMs: 10_000 };
const LEASES = {
  refreshMs: 200,
  leaseDurationMs: 8_000,
  leaseRenewDeadlineMs: 6_000,
  leaseRetryPeriodMs: 500,
};
const WITHIN = { timeout: 60_000, interval: 200 };

const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`landing at admission is not tested: ${support.reason}`);

describe.runIf(support.supported)("pods that are created with their nodes", { timeout: 120_000 }, () => {
  let cluster: ControlPlane;
  let testbed: WebhookTestbed;
  let plugins: ComponentProcess[];
  let graphs: NodeJS.Timeout | undefined;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: PLANNER_COMPONENTS });
    testbed = new WebhookTestbed(cluster);
    await testbed.prepare(0, ["scheduler-plugin-planner"]);
    await cluster.addNodes(SHOP_NODES);
    await cluster.createNamespace(NAMESPACE, ENABLED);
    await cluster.createNamespace(PLAIN);
    await sayGraphs();
    graphs = setInterval(() => void sayGraphs().catch(() => undefined), 500);
    plugins = await Promise.all(
      ["plugin-0", "plugin-1"].map((name) =>
        testbed.plugin(name, PATIENT, { planner: { enabled: true }, scheduler: LEASES }),
      ),
    );
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await testbed.untilGating();
    for (const workload of WORKLOADS) {
      await cluster.createWorkload(workload, { ...gated(NAMESPACE, workload, "50m", []), replicas: 4 });
      // The first workload's pods must exist before the others.
      await cluster.waitFor("pods", (all) => all.length >= 4, { namespace: NAMESPACE, timeoutMs: 60_000 });
    }
    await cluster.createWorkload("web", { ...gated(PLAIN, "web", "10m", []), replicas: PLAIN_REPLICAS });
    await Promise.all([running(12), running(PLAIN_REPLICAS, PLAIN)]);
  }, 900_000);

  afterAll(async () => {
    clearInterval(graphs);
    await testbed?.close();
    await cluster?.close();
  });

  async function sayGraphs(): Promise<number> {
    const { cluster: ofNodes, workflow } = shopGraphs(NAMESPACE);
    const bound = (await pods()).filter((pod) => nodeNameOf(pod) !== null);
    const workloads = workflow.workloads.map((workload) => ({
      ...workload,
      pods: bound
        .filter(({ metadata }) => metadata.labels?.["app"] === workload.name)
        .map((pod) => ({ name: pod.metadata.name, node: nodeNameOf(pod) })),
    }));
    testbed.say({ cluster: ofNodes, workflow: { ...workflow, workloads } });
    return bound.length;
  }
  const pods = async (namespace = NAMESPACE): Promise<KubernetesObject[]> =>
    (await cluster.list("pods", { namespace })).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const running = (count: number, namespace = NAMESPACE): Promise<KubernetesObject[]> =>
    cluster.waitFor(
      "pods",
      (all) => {
        const alive = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
        return alive.length === count && alive.every((pod) => nodeNameOf(pod) !== null) ? alive : null;
      },
      { namespace, timeoutMs: 60_000 },
    );
  const shown = (count: number): Promise<void> => expect.poll(sayGraphs, WITHIN).toBe(count);
  const evict = ({ metadata }: KubernetesObject): Promise<unknown> =>
    cluster.request("POST", `${pathOf(metadata)}/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: metadata.name, namespace: metadata.namespace },
    });
  const change = (workload: string, spec: object, namespace = NAMESPACE): Promise<unknown> =>
    cluster.request("PATCH", `/apis/apps/v1/namespaces/${namespace}/deployments/${workload}`, { spec });
  const scale = (workload: string, replicas: number, namespace = NAMESPACE): Promise<unknown> =>
    change(workload, { replicas }, namespace);
  /** Waits until none of kube-scheduler's earlier pods is left. */
  const replaced = (before: ReadonlySet<string>): Promise<void> =>
    expect
      .poll(async () => (await pods(PLAIN)).filter(({ metadata }) => before.has(metadata.name)), WITHIN)
      .toEqual([]);
  const keys = (of: readonly KubernetesObject[]): Set<string> =>
    new Set(of.map(({ metadata }) => metadata.name));
  const answers = (of: readonly KubernetesObject[]): (string | undefined)[] => [
    ...new Set(of.map(({ metadata }) => metadata.annotations?.[WEBHOOK_ANSWER])),
  ];

  /** On a busy machine a late response makes a pod wait for its plan. */
  function expectAtOnce(of: readonly KubernetesObject[]): void {
    const said = of.map(({ metadata }) => metadata.annotations?.[WEBHOOK_ANSWER]);
    const atOnce = said.filter((answer) => answer === "planned");
    expect(said.filter((answer) => answer !== "planned" && answer !== "gated")).toEqual([]);
    expect(atOnce.length).toBeGreaterThan(0);
  }

  /** Checks that kube-scheduler never failed to find a node. @param before its earlier pods' names */
  async function reportWaits(
    what: string,
    added: readonly KubernetesObject[],
    before: ReadonlySet<string>,
    replicas = PLAIN_REPLICAS,
  ): Promise<void> {
    const plain = (await running(replicas, PLAIN)).filter(({ metadata }) => !before.has(metadata.name));
    const longest = (of: readonly KubernetesObject[]): string =>
      `${Math.max(0, ...of.map(waitedSeconds))} s of ${of.length} pods`;
    console.log(`${what}: longest wait ${longest(added)}; by kube-scheduler alone ${longest(plain)}`);
    const names = keys(added);
    const events = await cluster.list("events", { namespace: NAMESPACE });
    const failed = (events as unknown as readonly SchedulingEvent[]).filter(
      ({ reason, involvedObject }) => reason === "FailedScheduling" && names.has(involvedObject.name),
    );
    expect(failed).toEqual([]);
  }

  async function decisionsOn(pod: string): Promise<Decision[]> {
    const all = await Promise.all(
      plugins.map(async (plugin) => {
        if (plugin.pid === null) return [];
        const path = `/api/v1/decisions?kind=plan&namespace=${NAMESPACE}&pod=${pod}&limit=5`;
        return ((await (await plugin.get(path)).json()) as { decisions: Decision[] }).decisions;
      }),
    );
    return all.flat();
  }

  async function expectExplained(of: readonly KubernetesObject[]): Promise<void> {
    const elsewhere = of.filter((pod) => nodeNameOf(pod) !== pod.metadata.annotations?.[PLANNED_NODE]);
    for (const { metadata } of elsewhere) {
      const reasons = async (): Promise<(string | null | undefined)[]> =>
        (await decisionsOn(metadata.name)).map(({ outcome }) => outcome?.reason);
      await expect.poll(reasons, WITHIN).toContainEqual(expect.any(String));
    }
  }

  async function expectWithinAllocatable(): Promise<void> {
    const used = new Map<string, number>();
    for (const pod of await cluster.list("pods")) {
      const node = nodeNameOf(pod);
      const containers = pod.spec?.["containers"] as { resources: { requests?: { cpu: string } } }[];
      const cpu = containers.reduce(
        (sum, { resources }) => sum + Number((resources.requests?.cpu ?? "0m").replace("m", "")),
        0,
      );
      if (node !== null) used.set(node, (used.get(node) ?? 0) + cpu);
    }
    for (const [node, millicores] of used) expect([node, millicores <= 4_000]).toEqual([node, true]);
  }

  test("a workflow that is new is planned as a whole: its pods wait while workloads of it are missing", async () => {
    const all = await pods();
    expect(answers(all.filter(({ metadata }) => metadata.labels?.["app"] === "web"))).toEqual(["gated"]);
    await expectExplained(all);
  });

  test("a new workflow whose workloads are all there waits for nothing", async () => {
    const scaleAll = (replicas: number): Promise<unknown> =>
      Promise.all(WORKLOADS.map((workload) => scale(workload, replicas)));
    const said: (string | undefined)[] = [];
    // On a busy machine the plan may come too late for all pods.
    for (let attempt = 0; attempt < 5 && !said.includes("planned"); attempt++) {
      await scaleAll(0);
      await running(0);
      await cluster.waitFor("pods", (all) => all.length === 0, { namespace: NAMESPACE, timeoutMs: 60_000 });
      await shown(0);
      // Creates objects of a kind together, like a package manager.
      await scaleAll(4);
      const all = await running(12);
      said.push(...all.map(({ metadata }) => metadata.annotations?.[WEBHOOK_ANSWER]));
      await expectExplained(all);
      await expectWithinAllocatable();
    }
    expect(said).toContain("planned");
    expect(said.filter((answer) => answer !== "planned" && answer !== "gated")).toEqual([]);
  });

  test("a scale-up by 20 waits for nothing, whichever replica is asked", async () => {
    const before = keys(await pods());
    const plain = keys(await pods(PLAIN));
    await Promise.all([scale("web", 24), scale("web", PLAIN_REPLICAS + 20, PLAIN)]);
    const added = (await running(32)).filter(({ metadata }) => !before.has(metadata.name));
    onTestFinished(async () => {
      await Promise.all([scale("web", 4), scale("web", PLAIN_REPLICAS, PLAIN)]);
      await Promise.all([running(12), running(PLAIN_REPLICAS, PLAIN)]);
    });
    await reportWaits("scale-up by 20", added, plain, PLAIN_REPLICAS + 20);
    expectAtOnce(added);
    await expectExplained(added);
    const landed = added.filter((pod) => nodeNameOf(pod) === pod.metadata.annotations?.[PLANNED_NODE]);
    expect(landed.length).toBeGreaterThanOrEqual(18);
    await expectWithinAllocatable();
    const atOnce = added.find(({ metadata }) => metadata.annotations?.[WEBHOOK_ANSWER] === "planned")!;
    const [decision] = await decisionsOn(atOnce.metadata.name);
    expect(decision).toMatchObject({ mode: "admission", outcome: { result: expect.any(String) } });
  });

  test("so do the pods of a rolling update", async () => {
    await shown(12);
    const before = keys(await pods());
    const plain = keys(await pods(PLAIN));
    const update = { template: { metadata: { annotations: { version: "2" } } } };
    await Promise.all([change("api", update), change("web", update, PLAIN)]);
    const added = await cluster.waitFor(
      "pods",
      (all) => {
        const fresh = all.filter(
          (pod) => pod.metadata.annotations?.["version"] === "2" && nodeNameOf(pod) !== null,
        );
        return fresh.length === 4 ? fresh : null;
      },
      { namespace: NAMESPACE, timeoutMs: 60_000 },
    );
    expect(added.some(({ metadata }) => before.has(metadata.name))).toBe(false);
    expectAtOnce(added);
    await expectExplained(added);
    await Promise.all([running(12), replaced(plain)]);
    await reportWaits("rolling update", added, plain);
  });

  test.each(["drained", "dead"])("so do those in the place of pods of a node that is %s", async (what) => {
    await shown(12);
    const all = await pods();
    const node = nodeNameOf(all.find(({ metadata }) => metadata.labels?.["app"] === "web")!)!;
    const before = keys(all);
    const plain = await pods(PLAIN);
    const left = all.filter((pod) => nodeNameOf(pod) === node);
    const leaving = [...left, ...plain.filter((pod) => nodeNameOf(pod) === node)];
    if (what === "drained") {
      const cordon = (unschedulable: boolean): Promise<unknown> =>
        cluster.request("PATCH", `/api/v1/nodes/${node}`, { spec: { unschedulable } });
      onTestFinished(async () => void (await cordon(false)));
      await cordon(true);
      for (const pod of leaving) await evict(pod);
    } else {
      await cluster.remove({ ...KINDS.node, name: node });
      onTestFinished(
        async () => void (await cluster.addNodes([SHOP_NODES.find(({ name }) => name === node)!])),
      );
      // Like the pod garbage collector, which runs every 20 s.
      await Promise.all(
        leaving.map(({ metadata }) => cluster.request("DELETE", `${pathOf(metadata)}?gracePeriodSeconds=0`)),
      );
    }
    const added = (await running(12)).filter(({ metadata }) => !before.has(metadata.name));
    expect(added).toHaveLength(left.length);
    expect(added.map(nodeNameOf)).not.toContain(node);
    expectAtOnce(added);
    await expectExplained(added);
    await reportWaits(`node ${what}`, added, keys(plain));
  });

  test("a pod that is moved by hand goes where its mark says, and the mark ends with it", async () => {
    await shown(12);
    const all = await pods();
    const isWeb = ({ metadata }: KubernetesObject): boolean => metadata.labels?.["app"] === "web";
    const pod = all.find(isWeb)!;
    const from = nodeNameOf(pod)!;
    const taken = new Set(all.filter(isWeb).map(nodeNameOf));
    // In the same zone, so that the workload keeps its spread.
    const { zone } = SHOP_NODES.find(({ name }) => name === from)!;
    const to = SHOP_NODES.find((node) => node.zone === zone && !taken.has(node.name))!.name;
    const mark = `isochrone.dev/move-to=${to}`;
    await cluster.kubectl("-n", NAMESPACE, "annotate", "--overwrite", "pod", pod.metadata.name, mark);
    await evict(pod);
    const [added] = (await running(12)).filter(({ metadata }) => !keys(all).has(metadata.name));
    expect(nodeNameOf(added!)).toBe(to);
    const [decision] = await decisionsOn(added!.metadata.name);
    expect(decision!.explanation.join(" ")).toContain(`moved away from ${from}`);
    const before = keys(await pods());
    await scale("web", 5);
    onTestFinished(async () => {
      await scale("web", 4);
      await running(12);
    });
    expectAtOnce((await running(13)).filter(({ metadata }) => !before.has(metadata.name)));
  });

  test("200 pods at once, while the leader dies: none is lost, and no node has more than it can allocate", async () => {
    await shown(12);
    onTestFinished(async () => {
      await Promise.all([scale("web", 4), scale("api", 4)]);
      await running(12);
    });
    await scale("web", 104);
    await scale("api", 104);
    await cluster.waitFor("pods", (all) => all.length > 60, { namespace: NAMESPACE, timeoutMs: 60_000 });
    await expect.poll(leading, WITHIN).toBeDefined();
    const leader = (await leading())!;
    await leader.kill();
    const all = await running(212);
    await expectWithinAllocatable();
    for (const pod of all) expect(pod.spec?.["schedulingGates"]).toBeUndefined();
    await leader.start();
    await testbed.untilGating();
  });

  test("a webhook that hangs, is slow, has no certificate, has died or isn't trusted costs no pod", async () => {
    await shown(12);
    const grow = async (workload: string, replicas: number): Promise<KubernetesObject[]> => {
      const before = keys(await pods());
      await scale(workload, replicas);
      return (await running(8 + replicas)).filter(({ metadata }) => !before.has(metadata.name));
    };
    const { balancer } = testbed;
    balancer.cut();
    balancer.isSilent = true;
    expect(answers(await grow("web", 6))).toEqual([undefined]);
    balancer.isSilent = false;
    balancer.delayMs = 5_000;
    expect(answers(await grow("web", 7))).toEqual([undefined]);
    balancer.delayMs = 0;
    balancer.isPlain = true;
    expect(answers(await grow("web", 8))).toEqual([undefined]);
    balancer.isPlain = false;
    await Promise.all(plugins.map((plugin) => plugin.kill()));
    expect(answers(await grow("web", 9))).toEqual([undefined]);
    // No component runs that would repair it.
    const { webhooks } = (await cluster.get(CONFIGURATION)) as unknown as {
      webhooks: { clientConfig: { caBundle?: string } }[];
    };
    const wrong = Buffer.from(cluster.ca).toString("base64");
    await cluster.patch(CONFIGURATION, {
      webhooks: webhooks.map((webhook) => ({
        ...webhook,
        clientConfig: { ...webhook.clientConfig, caBundle: wrong },
      })),
    });
    expect(answers(await grow("web", 10))).toEqual([undefined]);
    await Promise.all(plugins.map((plugin) => plugin.start()));
    await testbed.untilGating();
  });

  async function leading(): Promise<ComponentProcess | undefined> {
    for (const plugin of plugins)
      if (/^isochrone_planner_leading 1$/m.test(await (await plugin.get("/metrics")).text())) return plugin;
    return undefined;
  }
});

interface SchedulingEvent {
  readonly reason: string;
  readonly involvedObject: { readonly name: string };
}

/** In whole seconds, the resolution of Kubernetes timestamps. */
function waitedSeconds(pod: KubernetesObject): number {
  const bound = conditionsOf(pod).find(({ type, status }) => type === "PodScheduled" && status === "True");
  return (Date.parse(bound!.lastTransitionTime!) - Date.parse(pod.metadata.creationTimestamp!)) / 1_000;
}

function pathOf({ namespace, name }: KubernetesObject["metadata"]): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
