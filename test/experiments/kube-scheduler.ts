// One control plane for all trials. Each selects its own nodes, so leftovers have no effect.
import type { KubeScheduler } from "@isochrone/experiments";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { setTimeout as sleep } from "node:timers/promises";
import type { SchedulingRequest, WaitingPod } from "@isochrone/experiments/testing";
import {
  controlPlaneSupport,
  KUBERNETES_VERSION,
  nodeNameOf,
  startControlPlane,
  type ControlPlane,
} from "../harness/control-plane/index.ts";

const NAMESPACE = "default";
const TRIAL = "trial";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const AT_ONCE = 12;
const POLL_MS = 10;
const NOW = { gracePeriodSeconds: 0, propagationPolicy: "Background" };
/** Exceeds every node. */
const TOO_MUCH_CPU = "100000";
/** kube-scheduler watches Services separately from pods and can't report what it has seen. */
const HEARD_MS = 500;

type Fate = { readonly node: string } | { readonly message: string };

/** A cluster within the control plane, isolated from the view of its pods. */
export interface Trial {
  /** Resolves when the pod is bound or unschedulable. */
  schedule(pod: WaitingPod): Promise<Fate>;
  /** Schedules all pods at once, in order. Returns their nodes or the first message. */
  scheduleAll(pods: readonly WaitingPod[]): Promise<ReadonlyMap<string, string> | string>;
  readonly inside: (name: string) => string;
  readonly outside: (name: string) => string;
  close(): Promise<void>;
}

export class RealKubeScheduler implements KubeScheduler {
  readonly version = KUBERNETES_VERSION;
  readonly #plane: ControlPlane;
  readonly #workloads = new Set<string>();
  #trials = 0;

  /** Whether its binaries exist or Go can build them. */
  static support(): ReturnType<typeof controlPlaneSupport> {
    return controlPlaneSupport(["scheduler"]);
  }

  static async start(): Promise<RealKubeScheduler> {
    return new RealKubeScheduler(await startControlPlane({ components: ["scheduler"] }));
  }

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  async schedule(request: SchedulingRequest): Promise<ReadonlyMap<string, string>> {
    const trial = await this.begin(request);
    try {
      const placed = await trial.scheduleAll(request.pods);
      if (typeof placed === "string") throw new Error(placed);
      return placed;
    } finally {
      await trial.close();
    }
  }

  /** Creates nodes and placed pods. Resolves when kube-scheduler knows them. */
  async begin({ nodes, pods, placed }: SchedulingRequest): Promise<Trial> {
    const trial = `t${this.#trials++}`;
    const inside = (name: string): string => `${trial}-${name}`;
    const outside = (name: string): string => name.slice(trial.length + 1);
    const all = [...pods, ...placed.map(([pod]) => pod)];
    await this.#serve(new Set(all.map(({ workload }) => workload)));
    await inParallel(nodes, (node) => {
      const { name, zone, region } = node;
      const labels = {
        "kubernetes.io/hostname": inside(name),
        ...(zone === "" ? {} : { "topology.kubernetes.io/zone": zone }),
        ...(region === "" ? {} : { "topology.kubernetes.io/region": region }),
        [TRIAL]: trial,
      };
      const allocatable = {
        cpu: `${node.cpuMillicores}m`,
        memory: String(node.memoryBytes),
        pods: String(node.maxPods),
      };
      return this.#plane.request("POST", "/api/v1/nodes", {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: inside(name), labels },
        status: { allocatable, capacity: allocatable, conditions: [{ type: "Ready", status: "True" }] },
      });
    });
    await inParallel(placed, ([pod, node]) => this.#create(trial, pod, { nodeName: inside(node) }));
    await this.#untilKnown(trial, nodes.length);
    const schedule = async (pod: WaitingPod): Promise<Fate> => {
      await this.#create(trial, pod);
      const [fate] = await this.#fates(trial, [inside(pod.name)]);
      return "node" in fate! ? { node: outside(fate.node) } : fate!;
    };
    const scheduleAll = async (waiting: readonly WaitingPod[]): Promise<Map<string, string> | string> => {
      for (const pod of waiting) await this.#create(trial, pod);
      const fates = await this.#fates(
        trial,
        waiting.map(({ name }) => inside(name)),
      );
      const lost = fates.findIndex((fate) => !("node" in fate));
      if (lost >= 0)
        return `pod ${waiting[lost]!.name} can't be scheduled: ${(fates[lost] as { message: string }).message}`;
      return new Map(
        fates.map((fate, index) => [waiting[index]!.name, outside((fate as { node: string }).node)]),
      );
    };
    return { schedule, scheduleAll, inside, outside, close: () => this.#clear(trial) };
  }

  close(): Promise<void> {
    return this.#plane.close();
  }

  /** Creates a ReplicaSet and a Service, by which default spreading identifies the replicas. */
  async #serve(workloads: ReadonlySet<string>): Promise<void> {
    const fresh = [...workloads].filter((name) => !this.#workloads.has(name));
    if (fresh.length === 0) return;
    for (const name of fresh) {
      this.#workloads.add(name);
      const metadata = { name, namespace: NAMESPACE };
      const app = { app: name };
      const template = { metadata: { labels: app }, spec: { containers: [{ name: "main", image: "none" }] } };
      await this.#plane.create([
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          metadata,
          spec: { replicas: 1, selector: { matchLabels: app }, template },
        },
        { apiVersion: "v1", kind: "Service", metadata, spec: { selector: app, ports: [{ port: 80 }] } },
      ] as KubernetesObject[]);
    }
    await sleep(HEARD_MS);
  }

  async #create(
    trial: string,
    { name, workload, cpuMillicores, memoryBytes, pinnedTo }: WaitingPod,
    spec: object = {},
  ): Promise<void> {
    const requests = {
      ...(cpuMillicores === 0 ? {} : { cpu: `${cpuMillicores}m` }),
      ...(memoryBytes === 0 ? {} : { memory: String(memoryBytes) }),
    };
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: workload, uid: workload };
    await this.#plane.request("POST", PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `${trial}-${name}`,
        labels: { app: workload, [TRIAL]: trial },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: {
        containers: [{ name: "main", image: "none", resources: { requests } }],
        nodeSelector: {
          [TRIAL]: trial,
          ...(pinnedTo === null ? {} : { "kubernetes.io/hostname": `${trial}-${pinnedTo}` }),
        },
        ...spec,
      },
    });
  }

  async #fates(trial: string, names: readonly string[]): Promise<Fate[]> {
    for (;;) {
      const pods = await this.#plane.list("pods", { namespace: NAMESPACE, labels: `${TRIAL}=${trial}` });
      const byName = new Map(pods.map((pod) => [pod.metadata.name, fateOf(pod)]));
      const fates = names.map((name) => byName.get(name) ?? null);
      if (!fates.includes(null)) return fates as Fate[];
      await sleep(POLL_MS);
    }
  }

  /** An unschedulable pod's message contains the number of nodes that kube-scheduler knows. */
  async #untilKnown(trial: string, nodes: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const name = `known-${attempt}`;
      const resources = { requests: { cpu: TOO_MUCH_CPU } };
      await this.#plane.request("POST", PODS, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `${trial}-${name}`, labels: { [TRIAL]: trial } },
        spec: {
          containers: [{ name: "main", image: "none", resources }],
          nodeSelector: { [TRIAL]: trial },
        },
      });
      const [fate] = await this.#fates(trial, [`${trial}-${name}`]);
      await this.#plane.request("DELETE", `${PODS}/${trial}-${name}`, NOW);
      const known = /(\d+) Insufficient cpu/.exec("message" in fate! ? fate.message : "");
      if (Number(known?.[1]) === nodes) return;
    }
  }

  async #clear(trial: string): Promise<void> {
    const query = `?labelSelector=${TRIAL}%3D${trial}`;
    await this.#plane.request("DELETE", `${PODS}${query}`, NOW);
    await this.#plane.request("DELETE", `/api/v1/nodes${query}`, NOW);
  }
}

/** Returns null before kube-scheduler has decided. */
function fateOf(pod: KubernetesObject): Fate | null {
  const node = nodeNameOf(pod);
  if (node !== null) return { node };
  const conditions = (pod.status?.["conditions"] ?? []) as {
    type: string;
    reason: string;
    message: string;
  }[];
  const refusal = conditions.find(({ type }) => type === "PodScheduled");
  return refusal?.reason === "Unschedulable" ? { message: refusal.message } : null;
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await act(items[next++]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
