// Kubernetes' own controllers replace pods, and the planner plans each for the final workflow.
import { hasCondition } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import {
  clusterSnapshot,
  CPU,
  labelsOf,
  NODES,
  overBestOf,
  snapshotOf,
  type GraphSource,
} from "@isochrone/scheduler-plugin/testing";
import { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  controlPlaneSupport,
  nodeNameOf,
  startControlPlane,
  workloadObject,
  type ControlPlane,
} from "../harness/control-plane/index.ts";
import { PLACEMENT_GATE, startPlanner, type RunningPlanner } from "../harness/planner.ts";
import { PLANNER_COMPONENTS } from "../harness/planner-testbed.ts";

const NAMESPACE = "shop";
const CHANNELS = [
  ["web", "cart", 9_000],
  ["web", "search", 4_000],
  ["cart", "db", 12_000],
  ["cart", "pay", 2_000],
  ["pay", "db", 3_000],
  ["search", "index", 8_000],
  ["web", "auth", 1_000],
] as const;
const WORKLOADS = ["web", "cart", "search", "db", "pay", "index", "auth"];
const REPLICAS = 2;
const POLL_MS = 100;
const WITHIN_MS = 90_000;

const support = controlPlaneSupport(PLANNER_COMPONENTS);
if (!support.supported) console.warn(`restarts on a real control plane are not tested: ${support.reason}`);

describe.runIf(support.supported)("a rolling restart", { timeout: 2 * WITHIN_MS }, () => {
  let cluster: ControlPlane;
  let planner: RunningPlanner;
  let graphs: RestartGraphs;

  beforeAll(async () => {
    cluster = await startControlPlane({ components: PLANNER_COMPONENTS });
    await cluster.createNamespace(NAMESPACE);
    await cluster.addNodes(NODES.map((name) => ({ name, zone: name, region: name.slice(0, 2) })));
    graphs = new RestartGraphs(cluster);
    planner = await startPlanner({ kubeconfig: cluster.kubeconfig, graphs, planner: { maxCpuUse: 0 } });
  }, 900_000);
  afterAll(async () => {
    await planner?.stop();
    await cluster?.close();
  });

  type Kind = "Deployment" | "StatefulSet";

  async function deployFarAway(kindOf: (workload: string) => Kind): Promise<void> {
    for (const resource of ["deployments", "statefulsets"])
      await cluster.request("DELETE", `/apis/apps/v1/namespaces/${NAMESPACE}/${resource}`);
    await cluster.waitFor("pods", (pods) => pods.length === 0, { namespace: NAMESPACE });
    graphs.isMirrored = true;
    await graphs.refresh();
    for (const name of WORKLOADS)
      await cluster.create(
        workloadObject(name, {
          namespace: NAMESPACE,
          kind: kindOf(name),
          replicas: REPLICAS,
          labels: labelsOf(name),
          requests: { cpu: CPU },
          schedulingGates: [PLACEMENT_GATE],
          spec: { terminationGracePeriodSeconds: 0 },
        }),
      );
    await settled();
    graphs.isMirrored = false;
    await graphs.refresh();
    expect((await overBest()).total).toBeGreaterThan(1.05);
  }

  /** Restarts like a user. @param what such as deployment/web */
  const restart = (...what: readonly string[]): Promise<string> =>
    cluster.kubectl("-n", NAMESPACE, "rollout", "restart", ...what);

  async function settled(): Promise<void> {
    const options = { namespace: NAMESPACE, timeoutMs: WITHIN_MS };
    for (const resource of ["deployments", "statefulsets"])
      await cluster.waitFor(resource, (all) => all.every(isRolledOut), options);
    await cluster.waitFor(
      "pods",
      (pods) =>
        pods.length === WORKLOADS.length * REPLICAS &&
        pods.every((pod) => pod.metadata.deletionTimestamp === undefined && hasCondition(pod, "Ready")),
      options,
    );
  }

  /** @param planned workloads that may run anywhere while others stay. @default all */
  async function overBest(
    planned: readonly string[] = WORKLOADS,
  ): Promise<{ readonly network: number; readonly total: number }> {
    const nodes = await cluster.list("nodes");
    const pods = await cluster.list("pods", { namespace: NAMESPACE });
    const byWorkload = Map.groupBy(pods, ({ metadata }) => metadata.labels?.["app"]);
    const found = Object.fromEntries(
      WORKLOADS.map((name) => [name, byWorkload.get(name)!.map((pod) => nodeNameOf(pod)!)]),
    );
    return overBestOf({ found, nodes, channels: CHANNELS, planned, nowMs: Date.now() });
  }

  async function expectBest(planned: readonly string[] = WORKLOADS): Promise<void> {
    const { network, total } = await overBest(planned);
    expect(network).toBeLessThan(1.05);
    expect(total).toBeLessThan(1.05);
  }

  test("of one, three and all Deployments ends within 5 % of the best plan", async () => {
    await deployFarAway(() => "Deployment");
    for (const restarted of [["cart"], ["web", "db", "index"], WORKLOADS]) {
      await restart(...restarted.map((name) => `deployment/${name}`));
      await settled();
      await expectBest(restarted);
    }
  });

  test("of StatefulSets and Deployments together does, too", async () => {
    const sets = ["cart", "db", "index"];
    const kindOf = (name: string): Kind => (sets.includes(name) ? "StatefulSet" : "Deployment");
    await deployFarAway(kindOf);
    await restart("statefulset/db");
    await settled();
    await expectBest(["db"]);
    await restart(...WORKLOADS.map((name) => `${kindOf(name).toLowerCase()}/${name}`));
    await settled();
    await expectBest();
  });
});

/** Costs of the planner's own rollout tests, with the pods' real nodes. */
class RestartGraphs implements GraphSource {
  /** Whether `ap` and `eu` are swapped. */
  isMirrored = false;
  readonly #control: ControlPlane;
  #graphs: { readonly cluster: ClusterGraph; readonly workflow: WorkflowGraph } | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: ControlPlane) {
    this.#control = control;
  }

  async start(): Promise<void> {
    await this.refresh();
    this.#timer = setInterval(() => void this.refresh().catch(() => undefined), POLL_MS);
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return Promise.resolve();
  }

  ready(): boolean {
    return this.#graphs !== null;
  }

  cluster(): ClusterGraph | null {
    return this.#graphs?.cluster ?? null;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    const workflow = this.#graphs?.workflow ?? null;
    return workflow?.namespace === namespace && workflow.name === name ? workflow : null;
  }

  async refresh(): Promise<void> {
    const pods = await this.#control.list("pods", { namespace: NAMESPACE });
    const bound = pods.filter((pod) => nodeNameOf(pod) !== null);
    const graph = clusterSnapshot(Date.now());
    const links = graph.links.map((link) => ({
      ...link,
      source: mirrored(link.source),
      target: mirrored(link.target),
    }));
    this.#graphs = {
      cluster: new ClusterGraph(this.isMirrored ? { ...graph, links } : graph),
      workflow: new WorkflowGraph(snapshotOf(CHANNELS, WORKLOADS, bound, Date.now())),
    };
  }
}

function mirrored(node: string): string {
  return node.replace(/^(eu|ap)/, (region) => (region === "eu" ? "ap" : "eu"));
}

function isRolledOut({ metadata, spec, status = {} }: KubernetesObject): boolean {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas } = status;
  return (
    observedGeneration === metadata.generation &&
    [replicas, updatedReplicas, readyReplicas].every((count) => count === spec?.["replicas"])
  );
}
