import { LabClient, readControlToken } from "@isochrone/lab/testing";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { EmbeddedSystem } from "./embedded.ts";

interface ObjectList {
  readonly items: readonly {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec?: { readonly nodeName?: string };
  }[];
}

interface RecordedDump {
  /** Request time, Unix ms. The dump contains everything that happened before. */
  readonly atMs: number;
  readonly pods: ReadonlySet<string>;
  readonly json: string;
}

const PAUSE_MS = 100;

export class Recorder {
  readonly clusters = new Map<number, ClusterGraphSnapshot>();
  readonly workflows = new Map<number, WorkflowGraphSnapshot>();
  readonly dumps: RecordedDump[] = [];
  readonly #system: EmbeddedSystem;
  readonly #workflow: string;
  readonly #done: Promise<unknown>;
  #isStopped = false;
  #state = "";

  constructor(system: EmbeddedSystem, workflow: string) {
    this.#system = system;
    this.#workflow = workflow;
    this.#done = Promise.all([this.#repeat(() => this.#readGraphs()), this.#repeat(() => this.#readDump())]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  /** Returns the first dump that shows the decision of that time. */
  dumpAfter(atMs: number, pod: string): RecordedDump | undefined {
    return this.dumps.find((dump) => dump.atMs >= atMs && dump.pods.has(pod));
  }

  async #repeat(read: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      // A failed read on a busy machine skips a version.
      await read().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #readGraphs(): Promise<void> {
    const cluster = await this.#system.cluster();
    this.clusters.set(cluster.version, cluster);
    const workflow = await this.#system.get<WorkflowGraphSnapshot>(
      "page",
      `/api/v1/graph/workflows/${this.#workflow}`,
    );
    this.workflows.set(workflow.version, workflow);
  }

  async #readDump(): Promise<void> {
    const { lab } = this.#system.urls;
    const atMs = Date.now();
    const list = (await new LabClient(lab, {
      token: await readControlToken(lab, process.env),
    }).objects()) as ObjectList;
    const pods = list.items.filter(({ kind }) => kind === "Pod");
    const state = pods
      .map(({ metadata, spec }) => `${metadata.name} ${spec?.nodeName} ${metadata.deletionTimestamp}`)
      .join();
    if (state === this.#state) return;
    this.#state = state;
    this.dumps.push({
      atMs,
      pods: new Set(pods.map(({ metadata }) => metadata.name)),
      json: JSON.stringify(list),
    });
  }
}
