// Execution of plans on a real control plane: in order, after a crash, without graphs, and for moved pods.
import { PLANNER_LEASE } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { MOVES_ANNOTATION } from "@isochrone/kubernetes/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, nodeNameOf } from "../harness/control-plane/index.ts";
import { boundPods, gated, plannedNodes, SHOP_NODES, shopGraphs } from "../harness/planner.ts";
import { PLANNER_COMPONENTS, plannerTestbed } from "../harness/planner-testbed.ts";
import { TUNED, tunedEnvironment } from "../harness/components/tuned.ts";

const MAIN = join(import.meta.dirname, "../../scheduler-plugin/src/main.ts");
const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`landing on a real control plane is not tested: ${support.reason}`);

describe.runIf(support.supported)("plans on a real control plane", () => {
  const testbed = plannerTestbed();
  const { planner, begin } = testbed;
  const lease = (): Promise<KubernetesObject | null> =>
    testbed.cluster.get({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      namespace: "default",
      name: PLANNER_LEASE,
    });

  test("in ordered mode a workload is released when those before it are bound", async () => {
    const namespace = "ordered";
    await begin(namespace);
    for (const workload of ["db", "api", "web"])
      await testbed.cluster.createPods([`${workload}-1`, `${workload}-2`], gated(namespace, workload));
    const running = await planner({ planner: { release: "ordered" } });
    const tooEarly: string[] = [];
    const order = ["web", "api", "db"];
    await testbed.cluster.waitFor(
      "pods",
      (pods) => {
        const of = (workload: string) => pods.filter(({ metadata }) => metadata.name.startsWith(workload));
        for (const [index, workload] of order.entries()) {
          const isReleased = of(workload).some(({ spec }) => spec?.["schedulingGates"] === undefined);
          const waitsFor = order
            .slice(0, index)
            .flatMap(of)
            .filter((pod) => nodeNameOf(pod) === null);
          if (isReleased && waitsFor.length > 0) tooEarly.push(workload);
        }
        return pods.length === 6 && pods.every((pod) => nodeNameOf(pod) !== null);
      },
      { namespace },
    );
    expect(tooEarly).toEqual([]);
    await expect
      .poll(() => running.sum("isochrone_planner_landings_total", "landed"), { timeout: 10_000 })
      .toBe(6);
  });

  test("a replacement of a moved pod lands on the recorded target", async () => {
    const namespace = "moved";
    await begin(namespace);
    const running = await planner();
    await testbed.cluster.createWorkload("web", { ...gated(namespace, "web"), replicas: 3 });
    const before = await boundPods(testbed.cluster, namespace, 3);
    const [pod] = [...before.keys()];
    const [replicaSet] = await testbed.cluster.list(`/apis/apps/v1/namespaces/${namespace}/replicasets`);
    const { uid } = (await testbed.cluster.request("GET", `/api/v1/namespaces/${namespace}/pods/${pod!}`))
      .metadata;
    // In the same zone, because a move of all replicas into one zone would be rejected.
    const zoneOf = (node: string) => SHOP_NODES.find(({ name }) => name === node)!.zone;
    const { name: to } = SHOP_NODES.find(
      ({ name, zone }) => zone === zoneOf(before.get(pod!)!) && ![...before.values()].includes(name),
    )!;
    const deadline = new Date(Date.now() + 120_000).toISOString().replace(/\.\d+/, "");
    await testbed.cluster.request(
      "PATCH",
      `/apis/apps/v1/namespaces/${namespace}/replicasets/${replicaSet!.metadata.name}`,
      {
        metadata: {
          annotations: {
            [MOVES_ANNOTATION]: JSON.stringify([{ podUid: uid, from: before.get(pod!), to, deadline }]),
          },
        },
      },
    );
    await testbed.cluster.remove({ apiVersion: "v1", kind: "Pod", namespace, name: pod! });
    const landed = await testbed.cluster.waitFor(
      "pods",
      (pods) => {
        const fresh = pods.find((each) => !before.has(each.metadata.name));
        return fresh === undefined ? null : nodeNameOf(fresh) === null ? null : fresh;
      },
      { namespace },
    );
    expect(nodeNameOf(landed)).toBe(to);
    const [decision] = await running.decisions(namespace, landed.metadata.name);
    expect(decision!.explanation.join(" ")).toContain(`moved away from ${before.get(pod!)}`);
    expect(await running.sum("isochrone_planner_moves_total", "redeemed")).toBe(1);
  });

  test("without graphs pods are released unplanned, and the heartbeat pauses until there are some", async () => {
    const namespace = "blind";
    await begin(namespace);
    testbed.graphs.say(null);
    const running = await planner({ planner: { graphWaitMs: 500 } });
    await testbed.cluster.createPods(["early"], gated(namespace, "web"));
    await boundPods(testbed.cluster, namespace, 1);
    expect((await running.decisions(namespace, "early"))[0]!.explanation[0]).toContain("(no_graph)");
    expect(await running.sum("isochrone_planner_heartbeat ")).toBe(0);
    testbed.graphs.say(shopGraphs(namespace));
    await expect.poll(() => running.sum("isochrone_planner_heartbeat "), { timeout: 15_000 }).toBe(1);
    const renewed = Date.parse(String((await lease())?.spec?.["renewTime"]));
    expect(Date.now() - renewed).toBeLessThan(30_000);
    await testbed.cluster.createPods(["late"], gated(namespace, "web"));
    const bound = await boundPods(testbed.cluster, namespace, 2);
    expect((await plannedNodes(running, namespace)).get("late")).toBe(bound.get("late"));
    await running.stop();
    expect((await lease())?.spec?.["renewTime"] ?? null).toBeNull();
  });

  test("a preference is written for schedulers that ignore nominations, beside those that the pod has", async () => {
    const namespace = "preferred";
    await begin(namespace);
    const own = { weight: 1, preference: { matchExpressions: [{ key: "disk", operator: "Exists" }] } };
    await testbed.cluster.createPods(["bare"], gated(namespace, "web"));
    await testbed.cluster.createPods(
      ["choosy"],
      gated(namespace, "api", "100m", undefined, {
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [own] } },
      }),
    );
    const running = await planner({ planner: { landing: "preferred-affinity" } });
    await boundPods(testbed.cluster, namespace, 2);
    const planned = await plannedNodes(running, namespace);
    const pods = await testbed.cluster.list("pods", { namespace });
    for (const { metadata, spec } of pods) {
      const terms = (spec as any).affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution; // oxlint-disable-line typescript/no-explicit-any
      expect(terms.at(-1)).toEqual({
        weight: 100,
        preference: {
          matchFields: [{ key: "metadata.name", operator: "In", values: [planned.get(metadata.name)] }],
        },
      });
      expect(terms).toHaveLength(metadata.name === "choosy" ? 2 : 1);
    }
    // The scheduler's other scores decide whether it follows the hint. A metric counts it.
    await expect.poll(() => running.sum("isochrone_planner_landings_total"), { timeout: 10_000 }).toBe(2);
  });

  test("pods of a workload are bound to three nodes by one request, and land on the planned one", async () => {
    const namespace = "narrowed";
    await begin(namespace);
    const own = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "NotIn", values: ["n0"] }] };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [own] } },
    };
    const running = await planner();
    await testbed.cluster.createWorkload("web", { ...gated(namespace, "web"), replicas: 4 });
    await testbed.cluster.createWorkload("db", {
      ...gated(namespace, "db", "100m", undefined, { affinity }),
      replicas: 4,
    });
    const bound = await boundPods(testbed.cluster, namespace, 8);
    expect(await plannedNodes(running, namespace)).toEqual(bound);
    for (const { metadata, spec, status } of await testbed.cluster.list("pods", { namespace })) {
      expect(status?.["nominatedNodeName"]).toBeUndefined();
      const among = metadata.annotations!["isochrone.dev/planned-among"]!.split(",");
      expect([among.length, among[0]]).toEqual([3, bound.get(metadata.name)]);
      const { nodeSelectorTerms } = (spec as any).affinity.nodeAffinity // oxlint-disable-line typescript/no-explicit-any
        .requiredDuringSchedulingIgnoredDuringExecution;
      const added = { key: "kubernetes.io/hostname", operator: "In", values: among };
      const fieldOf = (node: string): object => ({ key: "metadata.name", operator: "In", values: [node] });
      const isOfDb = metadata.name.startsWith("db");
      expect(nodeSelectorTerms).toEqual(
        isOfDb
          ? [{ matchExpressions: [...own.matchExpressions, added] }]
          : among.map((node) => ({ matchFields: [fieldOf(node)] })),
      );
      expect(isOfDb && among.includes("n0")).toBe(false);
    }
    expect(await running.sum("isochrone_planner_landings_total", "landed")).toBe(8);
  });

  test("a pod whose nodes are all cordoned before kube-scheduler comes is replaced, and the next one runs", async () => {
    const namespace = "cordoned";
    await begin(namespace);
    const running = await planner();
    await testbed.cluster.stop("scheduler");
    const cordon = (nodes: readonly string[], unschedulable: boolean): Promise<unknown> =>
      Promise.all(
        nodes.map((node) =>
          testbed.cluster.request("PATCH", `/api/v1/nodes/${node}`, { spec: { unschedulable } }),
        ),
      );
    await testbed.cluster.createWorkload("web", { ...gated(namespace, "web"), replicas: 1 });
    const among = await testbed.cluster.waitFor(
      "pods",
      (pods) => pods[0]?.metadata.annotations?.["isochrone.dev/planned-among"]?.split(",") ?? null,
      { namespace },
    );
    const [first] = await testbed.cluster.list("pods", { namespace });
    await cordon(among, true);
    onTestFinished(() => cordon(among, false).then(() => undefined));
    await testbed.cluster.restartScheduler();
    const next = await testbed.cluster.waitFor(
      "pods",
      (pods) =>
        pods.find((pod) => pod.metadata.uid !== first!.metadata.uid && nodeNameOf(pod) !== null) ?? null,
      { namespace, timeoutMs: 60_000 },
    );
    expect(among).not.toContain(nodeNameOf(next));
    expect(await running.sum("isochrone_planner_stranded_pods_total", "replaced")).toBe(1);
    expect(await running.sum("isochrone_planner_unplanned_total", "replacement")).toBe(1);
    const pods = await testbed.cluster.list("pods", { namespace });
    expect(pods.map(({ metadata }) => metadata.name)).toEqual([next.metadata.name]);
  });

  test("a planner that is killed half-way loses no pod, and no pod is bound twice", async () => {
    const namespace = "killed";
    await begin(namespace);
    const first = startProcess();
    const names = ["web", "api", "db"].flatMap((workload) =>
      Array.from({ length: 30 }, (_, index) => [workload, `${workload}-${index}`] as const),
    );
    for (const [workload, name] of names)
      await testbed.cluster.createPods([name], gated(namespace, workload, "10m"));
    await boundPods(testbed.cluster, namespace, 5);
    first.kill("SIGKILL");
    await once(first, "exit");
    const left = await testbed.cluster.list("pods", { namespace });
    expect(left.some(({ spec }) => spec?.["schedulingGates"] !== undefined)).toBe(true);
    startProcess();
    const bound = await boundPods(testbed.cluster, namespace, names.length);
    expect(bound.size).toBe(names.length);
    const uids = new Map(left.map(({ metadata }) => [metadata.name, metadata.uid]));
    const pods = await testbed.cluster.list("pods", { namespace });
    for (const pod of pods) {
      expect(pod.metadata.uid).toBe(uids.get(pod.metadata.name));
      expect(pod.spec?.["schedulingGates"]).toBeUndefined();
    }
    // Pods placed by the first leader stay.
    const stood = left.filter((pod) => nodeNameOf(pod) !== null);
    expect(stood.map(({ metadata }) => bound.get(metadata.name))).toEqual(stood.map(nodeNameOf));
  });

  function startProcess(): ChildProcess {
    const child = spawn(process.execPath, [...TUNED, MAIN], {
      env: {
        PATH: process.env["PATH"],
        ISOCHRONE_KUBERNETES_KUBECONFIG: testbed.cluster.kubeconfig,
        ISOCHRONE_SCHEDULER_PORT: "0",
        ISOCHRONE_SCHEDULER_GRAPH_URL: testbed.graphs.url,
        ISOCHRONE_KUBERNETES_NAMESPACE: "default",
        ISOCHRONE_SCHEDULER_POD_EVENTS: "false",
        ISOCHRONE_PLANNER_ENABLED: "true",
        ...tunedEnvironment({ scheduler: { refreshMs: 100 }, planner: { maxPods: 10, settleMs: 0 } }),
      },
      stdio: ["ignore", "ignore", "inherit"],
    });
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    return child;
  }
});
