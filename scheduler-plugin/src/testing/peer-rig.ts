// Whole scheduler-plugin replicas on one in-memory API server, connected over HTTP. The test plays the
// EndpointSlice controller and the scheduler.
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { MemoryLogger, type ManualClock } from "@isochrone/runtime/testing";
import type { DecisionList } from "@isochrone/topology";
import { onTestFinished, vi } from "vitest";
import type { LoggedPlan } from "../domain/plan-log.ts";
import type { SchedulerPluginDeps } from "../plugin-deps.ts";
import { createSchedulerPlugin } from "../service.ts";
import { MemoryGraphs, podJson, workflowSnapshot } from "./graphs.ts";
import { configOf, NAMES, rigClock } from "./rig.ts";

const NAMESPACE = "isochrone";
const SERVICE = "isochrone-scheduler-plugin";

interface PlanAnswer {
  readonly plans: readonly LoggedPlan[];
  readonly incomplete?: readonly string[];
}

export interface PeerReplica {
  readonly name: string;
  readonly url: string;
  readonly get: <T>(path: string) => Promise<T>;
  readonly decisions: (query?: string) => Promise<DecisionList>;
  readonly proposals: () => Promise<PlanAnswer>;
  readonly decide: (pod: string) => Promise<void>;
  readonly metric: (name: string) => Promise<number>;
  readonly stop: () => Promise<void>;
}

export class PeerRig {
  readonly clock: ManualClock = rigClock();
  readonly store: ClusterStore = createMemoryStore({ clock: this.clock });
  readonly graphs = new MemoryGraphs();
  readonly #listed = new Map<string, string>();
  #seed = 1;

  constructor() {
    const snapshot = workflowSnapshot();
    const channels = snapshot.channels.map((channel) => ({ ...channel, requestsPerSecond: 30 }));
    this.graphs.setWorkflow({ ...snapshot, channels });
  }

  async start(
    name: string,
    more: Partial<SchedulerPluginDeps> = {},
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<PeerReplica> {
    const { clock, store, graphs } = this;
    const registry = createRegistry();
    const plugin = createSchedulerPlugin(
      configOf({ replicaName: name, serviceName: SERVICE, podEvents: false, gamma: 0, ...settings }),
      {
        clock,
        store,
        graphs,
        random: seededRandom(this.#seed++),
        logger: new MemoryLogger(),
        registry,
        ...more,
      },
    );
    await plugin.start();
    let stopped: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      stopped ??= plugin.stop();
      await this.until(stopped);
    };
    onTestFinished(stop);
    await vi.waitFor(async () => {
      const { statusCode } = await plugin.app.inject("/readyz");
      if (statusCode !== 200) throw new Error(`/readyz answers ${statusCode}`);
    });
    const { url } = plugin.address();
    await this.list(name, url);
    const get = async <T>(path: string): Promise<T> => {
      const answer = await this.until(fetch(url + path));
      return (await answer.json()) as T;
    };
    return {
      name,
      url,
      get,
      decisions: (query = "") => get<DecisionList>(`/api/v1/decisions${query}`),
      proposals: () => get<PlanAnswer>("/api/v1/plans?kind=proposal"),
      decide: (pod) => this.#decide(url, pod),
      metric: async (metric) => {
        const found = (await registry.metrics()).split("\n").find((line) => line.startsWith(metric));
        return Number(found?.split(" ").at(-1) ?? 0);
      },
      stop,
    };
  }

  async list(name: string, url: string): Promise<void> {
    this.#listed.set(name, url);
    const { hostname, port } = new URL(url);
    const slice: KubernetesObject = {
      ...KINDS.endpointSlice,
      metadata: {
        namespace: NAMESPACE,
        name: `slice-${name}`,
        labels: { "kubernetes.io/service-name": SERVICE },
      },
      addressType: "IPv4",
      endpoints: [
        {
          addresses: [hostname],
          conditions: { ready: true },
          targetRef: { kind: "Pod", name, namespace: NAMESPACE },
        },
      ],
      ports: [{ name: "extender", port: Number(port) }],
    };
    await this.unlist(name);
    await this.store.create(slice);
  }

  async unlist(name: string): Promise<void> {
    const ref = { ...KINDS.endpointSlice, namespace: NAMESPACE, name: `slice-${name}` };
    if ((await this.store.get(ref)) !== null) await this.store.delete(ref);
  }

  /** Advances the clock until `work` settles. */
  async until<T>(work: Promise<T>): Promise<T> {
    const over = work.then(
      () => true,
      () => true,
    );
    const later = (): Promise<boolean> => new Promise((resolve) => setTimeout(() => resolve(false), 2));
    while (!(await Promise.race([over, later()]))) await this.clock.advance(10);
    return work;
  }

  /** Running pods of a workflow with p and q far apart. */
  async runWorkflow(): Promise<void> {
    const pods = { p: { "p-1": "n3" }, q: { "q-1": "n1" }, r: { "r-1": "n3" } };
    this.graphs.setWorkflow(workflowSnapshot(pods));
    for (const name of NAMES)
      await this.store.create({
        ...KINDS.node,
        metadata: { name, labels: { "kubernetes.io/hostname": name } },
        status: {
          allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
          conditions: [{ type: "Ready", status: "True" }],
        },
      });
    for (const [workload, placed] of Object.entries(pods))
      for (const [name, nodeName] of Object.entries(placed)) {
        const { metadata } = podJson(name, workload) as { metadata: KubernetesObject["metadata"] };
        const containers = [{ name: "main", resources: { requests: { cpu: "100m" } } }];
        await this.store.create({
          ...KINDS.pod,
          metadata,
          spec: { nodeName, containers },
          status: { phase: "Running" },
        });
      }
  }

  async bind(pod: string, node: string): Promise<void> {
    await this.store.bind({ namespace: "shop", name: pod }, node);
  }

  async #decide(url: string, name: string): Promise<void> {
    const pod = { ...KINDS.pod, ...podJson(name, "p") } as KubernetesObject;
    const { metadata } = await this.store.create(pod);
    const body = JSON.stringify({ Pod: podJson(name, "p", metadata.uid), NodeNames: NAMES });
    const headers = { "content-type": "application/json" };
    const answer = await this.until(fetch(`${url}/scheduler/prioritize`, { method: "POST", headers, body }));
    if (answer.status !== 200) throw new Error(`the extender answers ${answer.status}`);
  }
}
