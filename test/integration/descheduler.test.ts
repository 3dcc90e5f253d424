// Uses the real eviction API, controller-manager and kube-scheduler, with our planner.
import {
  hasCondition,
  KINDS,
  moveOwnerOf,
  MOVING_ANNOTATION,
  withoutPlannedNodes,
} from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { plan, planProblem, replacementOf, SchedulingModel } from "@isochrone/placement";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { controlPlaneSupport, nodeNameOf, startControlPlane } from "../harness/control-plane/index.ts";
import type { ControlPlane } from "../harness/control-plane/index.ts";
import { FollowedGraphs, startDescheduler } from "../harness/descheduler/service.ts";
import type { RunningDescheduler } from "../harness/descheduler/service.ts";
import { CHANNELS, farAway, REPLICAS, ZONES } from "../harness/descheduler/three-zones.ts";
import { PLACEMENT_GATE } from "../harness/planner.ts";

const ALL_AT_ONCE = { maxEvictions: 10, maxEvictionsPerNode: 10, maxEvictionsPerNamespace: 10 };
const WAIT = { timeout: 45_000, interval: 250 };

const support = controlPlaneSupport(["scheduler", "controller-manager", "kwok"]);
if (!support.supported)
  console.warn(`the descheduler on a real control plane is not tested: ${support.reason}`);

describe.runIf(support.supported)("the descheduler", () => {
  let cluster: ControlPlane;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: ["scheduler", "controller-manager", "kwok"] });
    await cluster.addNodes(Object.entries(ZONES).map(([name, zone]) => ({ name, zone, cpu: "4" })));
  }, 900_000);
  afterAll(() => cluster?.close());

  const followed = (namespace: string, far: string): FollowedGraphs => {
    const workloads = Object.keys(REPLICAS);
    const graphs = new FollowedGraphs({ cluster, namespace, zones: ZONES, workloads, channels: CHANNELS });
    graphs.costMs = farAway(far);
    return graphs;
  };

  const start = async (graphs: FollowedGraphs, settings: Record<string, unknown> = {}) => {
    const started = await startDescheduler(cluster.kubeconfig, graphs, settings);
    onTestFinished(() => started.stop().catch(() => undefined));
    return started;
  };

  const deploy = async (namespace: string): Promise<void> => {
    await cluster.createNamespace(namespace);
    for (const [name, replicas] of Object.entries(REPLICAS))
      await cluster.createWorkload(name, {
        namespace,
        replicas,
        requests: { cpu: "100m", memory: "64Mi" },
        schedulingGates: [PLACEMENT_GATE],
        spec: {
          terminationGracePeriodSeconds: 0,
          ...(name === "db" ? { nodeSelector: { "kubernetes.io/hostname": "n0" } } : {}),
        },
      });
    await ready(namespace, 5);
  };

  const ready = (namespace: string, count: number): Promise<readonly KubernetesObject[]> =>
    cluster.waitFor(
      "pods",
      (pods) => {
        const all = pods.filter(({ status }) => JSON.stringify(status?.["conditions"]).includes('"Ready"'));
        return all.length === count && pods.length === count ? all : null;
      },
      { namespace },
    );

  const zonesOf = (graphs: FollowedGraphs, workload: string): string[] =>
    graphs.nodesOf(workload).map((node) => ZONES[node]!);

  const costs = async (graphs: FollowedGraphs, namespace: string): Promise<{ now: number; best: number }> => {
    await graphs.refresh();
    const nodes = await cluster.list("nodes");
    const pods = (await cluster.list("pods")).map(withoutPlannedNodes);
    const problem = planProblem({
      model: SchedulingModel.of({ nodes, pods }),
      pods: pods.filter((pod) => pod.metadata.namespace === namespace).map(replacementOf),
      cluster: graphs.cluster()!,
      workflow: graphs.workflow(namespace, namespace)!,
    });
    const found = plan(problem, {
      seed: 1,
      now: () => performance.now(),
      deadlineMs: performance.now() + 1_000,
    });
    // Costs are not comparable while a pod is in flight.
    if (Object.entries(REPLICAS).some(([name, count]) => graphs.nodesOf(name).length !== count))
      return { now: Infinity, best: found.cost.network };
    let now = 0;
    for (const [source, target, rate] of CHANNELS) {
      const pairs = graphs
        .nodesOf(source)
        .flatMap((a) => graphs.nodesOf(target).map((b) => (a === b ? 0 : graphs.costMs(a, b))));
      now += (rate * pairs.reduce((sum, ms) => sum + ms, 0)) / pairs.length;
    }
    return { now, best: found.cost.network };
  };

  test("a zone goes far away: what is there moves to the recorded targets, and the cost returns to the plan's", async () => {
    const namespace = "drift";
    const graphs = followed(namespace, "zc");
    const running = await start(graphs, { coolDownMs: 1_000 });
    await deploy(namespace);
    await graphs.refresh();
    expect([...zonesOf(graphs, "web"), ...zonesOf(graphs, "api")]).not.toContain("zc");
    const planned = await costs(graphs, namespace);
    expect(planned.now).toBeLessThanOrEqual(planned.best * 1.05 + 1);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(0);

    graphs.costMs = farAway("zb");
    await expect
      .poll(async () => {
        const { now, best } = await costs(graphs, namespace);
        return now / best;
      }, WAIT)
      .toBeLessThanOrEqual(1.05);
    await ready(namespace, 5);
    for (const workload of ["web", "api"]) {
      expect(zonesOf(graphs, workload)).not.toContain("zb");
      expect(new Set(zonesOf(graphs, workload)).size).toBe(2);
    }
    await expect
      .poll(async () => (await running.evictionDecisions()).map(({ outcome }) => outcome?.result), WAIT)
      .toEqual(["on_target", "on_target"]);
    const [decision] = await running.evictionDecisions();
    expect(decision).toMatchObject({
      kind: "eviction",
      strategy: "descheduler",
      best: decision!.outcome!.node,
    });
    expect(decision!.explanation.join(" ")).toMatch(/cost .* on n[23] and .* on n[45]/);
    await expect.poll(() => recordsOf(namespace), WAIT).toEqual([]);
    await expect.poll(() => running.metric("isochrone_descheduler_regret"), WAIT).toBeLessThan(0.1);
    const events = await cluster.list("/apis/events.k8s.io/v1/namespaces/drift/events");
    expect(events.map(({ reason }) => reason)).toContain("NetworkAwareMove");
    // No further moves follow.
    const evictions = await running.metric("isochrone_descheduler_evictions_total");
    const runs = await running.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => running.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 3);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(evictions);
  });

  const recordsOf = async (namespace: string): Promise<unknown[]> =>
    (await cluster.list("/apis/apps/v1/replicasets", {}))
      .filter(({ metadata }) => metadata.namespace === namespace)
      .flatMap(
        ({ metadata }) => JSON.parse(metadata.annotations?.["isochrone.dev/moves"] ?? "[]") as unknown[],
      );

  test("what a PodDisruptionBudget forbids is promised by no dry run and asked of nobody; what it allows is done", async () => {
    const namespace = "budget";
    const graphs = followed(namespace, "zc");
    const first = await start(graphs, { mode: "dry-run" });
    await deploy(namespace);
    for (const name of ["web", "api"]) {
      await evictedFirst(namespace, name);
      await cluster.create(budgetOf(namespace, name));
    }
    const before = await podsOf(namespace);
    graphs.costMs = farAway("zb");
    const kept = async (running: RunningDescheduler): Promise<number> =>
      (await running.report()).skipped["disruption_budget"] ?? 0;
    await expect.poll(() => kept(first), WAIT).toBeGreaterThan(0);
    expect(await movesOf(first)).toBe(0);
    await first.stop();

    const second = await start(graphs);
    await expect.poll(() => kept(second), WAIT).toBeGreaterThan(0);
    const runs = await second.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => second.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 3);
    expect(await podsOf(namespace)).toEqual(before);
    expect(await second.metric("isochrone_descheduler_evictions_total")).toBe(0);
    expect(await second.metric("isochrone_descheduler_eviction_failures_total")).toBe(0);
    expect(await recordsOf(namespace)).toEqual([]);

    for (const app of ["web", "api"])
      await cluster.patch(
        { ...KINDS.podDisruptionBudget, namespace, name: app },
        { spec: { minAvailable: 1 } },
      );
    await expect.poll(() => second.metric("isochrone_descheduler_evictions_total"), WAIT).toBeGreaterThan(0);
    expect(await second.metric("isochrone_descheduler_eviction_failures_total", 'reason="pdb"')).toBe(0);
    await ready(namespace, 5);
  });

  test("pods move under a PodDisruptionBudget that keeps all replicas: each is replaced before it goes", async () => {
    const namespace = "kept";
    const graphs = followed(namespace, "zc");
    await deployWith(graphs, namespace);
    for (const name of ["web", "api"]) await cluster.create(budgetOf(namespace, name));
    graphs.costMs = farAway("zb");
    const running = await start(graphs, { coolDownMs: 1_000 });
    const outcomes = async (): Promise<unknown[]> =>
      (await running.evictionDecisions()).map(({ outcome }) => outcome?.result);
    let fewest = Infinity;
    await expect
      .poll(async () => {
        for (const app of ["web", "api"]) {
          const pods = await cluster.list("pods", { namespace });
          const ready = pods.filter(
            (pod) => pod.metadata.labels?.["app"] === app && hasCondition(pod, "Ready"),
          );
          fewest = Math.min(fewest, ready.length);
        }
        return await outcomes();
      }, WAIT)
      .toEqual(["on_target", "on_target"]);
    expect(fewest).toBe(2);
    for (const pod of await ready(namespace, 5)) {
      expect(pod.metadata.annotations?.[MOVING_ANNOTATION]).toBeUndefined();
      expect(moveOwnerOf(pod)).toMatchObject({ kind: "ReplicaSet" });
    }
    expect(zonesOf(graphs, "web")).not.toContain("zb");
  });

  /** The workload's limits allow no surge pod. */
  const evictedFirst = async (namespace: string, name: string): Promise<void> => {
    const spec = { strategy: { type: "Recreate", rollingUpdate: null } };
    await cluster.patch({ ...KINDS.deployment, namespace, name }, { spec });
  };

  const movesOf = async (running: RunningDescheduler): Promise<number> =>
    (await running.report()).pods.filter(({ decision }) => decision === "move").length;

  const podsOf = async (namespace: string): Promise<string[]> =>
    (await cluster.list("pods", { namespace }))
      .map((pod) => `${pod.metadata.name} ${nodeNameOf(pod)}`)
      .sort();

  test("a larger move isn't begun while a PodDisruptionBudget keeps one of its pods; then all of it is made", async () => {
    const namespace = "larger";
    const tiers = ["t0", "t1", "t2", "t3", "t4", "t5"];
    const channels = tiers.flatMap((a, index) => tiers.slice(index + 1).map((b) => [a, b, 100_000] as const));
    const graphs = new FollowedGraphs({ cluster, namespace, zones: ZONES, workloads: tiers, channels });
    graphs.costMs = farAway("zc");
    // One or two pods leaving zb lose almost as much to those that stay as they gain in za.
    const running = await start(graphs, {
      minGainRatio: 0.3,
      maxGroup: 2,
      coolDownMs: 1_000,
      ...ALL_AT_ONCE,
    });
    await cluster.createNamespace(namespace);
    for (const name of tiers)
      await cluster.createWorkload(name, {
        namespace,
        replicas: 2,
        requests: { cpu: "100m", memory: "64Mi" },
        schedulingGates: [PLACEMENT_GATE],
        spec: { terminationGracePeriodSeconds: 0 },
      });
    await ready(namespace, 12);
    await graphs.refresh();
    const before = await podsOf(namespace);
    for (const tier of tiers) expect(zonesOf(graphs, tier).sort()).toEqual(["za", "zb"]);
    await evictedFirst(namespace, "t5");
    await cluster.create(budgetOf(namespace, "t5"));
    graphs.costMs = farAway("zb");
    const kept = async () =>
      (await running.report()).pods.filter(({ decision }) => decision === "disruption_budget");
    await expect.poll(async () => (await kept()).length, WAIT).toBe(6);
    const [row] = await kept();
    expect(row).toMatchObject({ groupSize: 6, detail: expect.stringContaining("larger/t5 allows 0") });
    const runs = await running.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => running.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 5);
    expect(await podsOf(namespace)).toEqual(before);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(0);

    const budget = { ...KINDS.podDisruptionBudget, namespace, name: "t5" };
    await cluster.patch(budget, { spec: { minAvailable: 1 } });
    await expect
      .poll(() => tiers.flatMap((tier) => zonesOf(graphs, tier)).filter((zone) => zone === "zc").length, WAIT)
      .toBe(6);
    const [decision] = await running.evictionDecisions();
    expect(decision!.explanation.join(" ")).toContain("one of 6 pods of a larger move");
  });

  // Runs last, because the stop outlives the leader.
  test("a network that worsens wherever pods go makes it stop by itself", async () => {
    const namespace = "chased";
    const graphs = followed(namespace, "zc");
    await deployWith(graphs, namespace);
    // Nodes next to za become distant as soon as api is there.
    graphs.costMs = (a, b) => {
      const [x, y] = [ZONES[a]!, ZONES[b]!];
      if (x === y) return 1;
      const taken = ["zb", "zc"].filter((zone) => zonesOf(graphs, "api").includes(zone));
      return taken.includes(x) || taken.includes(y) ? 60 : 2;
    };
    const running = await start(graphs, { coolDownMs: 0, regretMoves: 2, rounds: 1, judgeAfterMs: 0 });
    await expect.poll(() => running.metric("isochrone_descheduler_stopped"), WAIT).toBe(1);
    const report = await running.report();
    expect(report.halt ?? { reason: "regret" }).toMatchObject({ reason: "regret" });
    expect(report.stoppedUntil).not.toBeNull();
    await ready(namespace, 5);
    const evictions = await running.metric("isochrone_descheduler_evictions_total");
    const runs = await running.metric("isochrone_descheduler_runs_total");
    await expect
      .poll(() => running.metric("isochrone_descheduler_runs_total"), WAIT)
      .toBeGreaterThan(runs + 3);
    expect(await running.metric("isochrone_descheduler_evictions_total")).toBe(evictions);
  });

  /** Plans with the initial network. */
  const deployWith = async (graphs: FollowedGraphs, namespace: string): Promise<void> => {
    const planner = await start(graphs, { mode: "dry-run" });
    await deploy(namespace);
    await planner.stop();
  };
});

function budgetOf(namespace: string, app: string): KubernetesObject {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: app, namespace },
    spec: { minAvailable: 2, selector: { matchLabels: { app } } },
  };
}
