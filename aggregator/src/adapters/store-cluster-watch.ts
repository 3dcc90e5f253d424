import {
  createInformer,
  KINDS,
  nodeView,
  podView,
  workflowOf,
  workloadOf,
  type ClusterStore,
  type Informer,
  type KindRef,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { compareText } from "../domain/compare.ts";
import {
  EMPTY_CLUSTER,
  type ClusterState,
  type DeclaredChannel,
  type NamespacedName,
  type PodState,
  type WorkloadState,
} from "../domain/cluster-state.ts";
import type { ClusterWatch } from "../ports.ts";
import { channelsOfAnnotation, channelsOfAppGroup } from "./declared-channels.ts";

/** Kinds that the graphs can't be drawn without. */
const REQUIRED = ["node", "pod", "replicaSet", "deployment"] as const;
/** Kinds whose API may be missing (a CRD), or that few clusters use: a failing list of these doesn't hold up readiness. */
const OPTIONAL = ["statefulSet", "daemonSet", "appGroup"] as const;
const WORKLOAD_KINDS = ["deployment", "statefulSet", "daemonSet"] as const;
type WatchedKind = (typeof REQUIRED)[number] | (typeof OPTIONAL)[number];

/** What a watch needs. */
export interface StoreClusterWatchOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Follows a ClusterStore by informers, and reads its objects anew only when one changed. */
export class StoreClusterWatch implements ClusterWatch {
  readonly #options: StoreClusterWatchOptions;
  readonly #informers = new Map<WatchedKind, Informer>();
  readonly #synced = new Set<WatchedKind>();
  #state: ClusterState | null = EMPTY_CLUSTER;
  #pods: readonly KubernetesObject[] | null = null;

  constructor(options: StoreClusterWatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    for (const kind of [...REQUIRED, ...OPTIONAL]) this.#follow(kind, KINDS[kind]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
  }

  pending(): readonly string[] {
    return REQUIRED.filter((kind) => !this.#synced.has(kind)).map((kind) => KINDS[kind].kind);
  }

  current(): ClusterState {
    this.#state ??= this.#read();
    return this.#state;
  }

  /** All pods as they are. */
  pods(): readonly KubernetesObject[] {
    this.#pods ??= this.#items("pod");
    return this.#pods;
  }

  #follow(kind: WatchedKind, ref: KindRef): void {
    const { store, clock, random, logger } = this.#options;
    const informer = createInformer({ store, kind: ref, clock, random, logger });
    this.#informers.set(kind, informer);
    informer.onChange(() => {
      this.#state = null;
      if (kind === "pod") this.#pods = null;
    });
    void informer.synced().then(
      () => this.#synced.add(kind),
      () => undefined,
    );
  }

  #items(kind: WatchedKind): readonly KubernetesObject[] {
    return this.#informers.get(kind)?.items() ?? [];
  }

  #read(): ClusterState {
    const workloads = WORKLOAD_KINDS.flatMap((kind) => this.#items(kind).map(workloadState));
    return {
      nodes: this.#items("node")
        .map(nodeView)
        .sort((a, b) => compareText(a.name, b.name)),
      pods: this.pods().flatMap((pod) => this.#podState(pod)),
      workloads,
      declared: this.#declared(),
    };
  }

  /** Pods that ended or are about to are no replicas any more. */
  #podState(object: KubernetesObject): PodState[] {
    const view = podView(object);
    if (view.finished || view.terminating) return [];
    const { kind, name } = workloadOf(object, (namespace, replicaSet) =>
      this.#informers.get("replicaSet")!.get(replicaSet, namespace),
    );
    return [
      {
        namespace: view.namespace,
        name: view.name,
        node: view.node,
        workload: kind === "Pod" ? null : { kind, name },
        workflow: workflow(view.labels, view.namespace),
      },
    ];
  }

  /** A declaration by an AppGroup and one by annotation of the same pair: the annotation, nearer to the workload, wins. */
  #declared(): DeclaredChannel[] {
    const unreadable = (object: KubernetesObject, rule: string): void => {
      const { kind, metadata } = object;
      const subject = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
      this.#options.logger.warnOnce(`declared:${subject}`, "declared channel left out", { subject, rule });
    };
    return [
      ...this.#items("appGroup").flatMap((object) => channelsOfAppGroup(object, unreadable)),
      ...WORKLOAD_KINDS.flatMap((kind) => this.#items(kind)).flatMap((object) =>
        channelsOfAnnotation(object, unreadable),
      ),
    ];
  }
}

function workloadState(object: KubernetesObject): WorkloadState {
  const namespace = object.metadata.namespace ?? "default";
  const template = object.spec?.["template"] as
    | { metadata?: { labels?: Record<string, string> } }
    | undefined;
  const labels = { ...object.metadata.labels, ...template?.metadata?.labels };
  return { namespace, name: object.metadata.name, kind: object.kind, workflow: workflow(labels, namespace) };
}

function workflow(labels: Readonly<Record<string, string>>, namespace: string): NamespacedName {
  return { namespace, name: workflowOf(labels, namespace) };
}
