// `@isochrone/aggregator/offline`: workflow graphs of static objects, by the service's own code. Loads
// neither the service nor a cluster client.
import { KINDS, keyOf, workloadOf } from "@isochrone/kubernetes/basics";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { entriesOf, recordOf } from "@isochrone/primitives";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { ClusterReader, READ_KINDS } from "./adapters/cluster-reader.ts";
import type { RefusedDeclarations } from "./adapters/declared-objects.ts";
import { channelBetween } from "./domain/channel-key.ts";
import type { ClusterState, NamespacedName } from "./domain/cluster-state.ts";
import { Figures } from "./domain/graphs/figures.ts";
import type { ChannelSource } from "./domain/graphs/observed-channels.ts";
import { buildWorkflows } from "./domain/graphs/workflows.ts";
import type { ChannelRates } from "./domain/traffic/channels.ts";

export { DEPENDENCIES_ANNOTATION } from "./adapters/declared-channels.ts";

/** Traffic of a channel, both directions in total, as stated by an object in `statedIn`. */
export interface StatedTraffic {
  readonly source: NamespacedName;
  readonly target: NamespacedName;
  readonly bytesPerSecond: number;
  /** Namespace of the statement. Graphs of other namespaces ignore it. */
  readonly statedIn: string;
}

export class OfflineCluster {
  readonly state: ClusterState;
  readonly refused: readonly (RefusedDeclarations & { readonly object: KubernetesObject })[];
  readonly #replicaSets: ReadonlyMap<string, KubernetesObject>;

  /** @param objects as returned by an API server; other kinds are ignored */
  constructor(objects: readonly KubernetesObject[]) {
    const byKind = Map.groupBy(objects, ({ kind }) => kind);
    const items = recordOf(READ_KINDS, (kind) => byKind.get(KINDS[kind].kind) ?? []);
    this.#replicaSets = new Map(items.replicaSet.map((each) => [keyOf(each), each]));
    const refused: (RefusedDeclarations & { readonly object: KubernetesObject })[] = [];
    const reader = new ClusterReader({
      source: {
        items: (kind) => (kind === "destinationRule" ? [] : items[kind]),
        replicaSet: (namespace, name) => this.#replicaSets.get(`${namespace}/${name}`) ?? null,
        isComplete: () => true,
      },
      networkCapacityOf: () => null,
      onRefusedDeclarations: (object, why) => refused.push({ object, ...why }),
    });
    for (const [kind, listed] of entriesOf(items))
      for (const object of listed) reader.take(kind, { type: "added", object });
    this.state = reader.current();
    this.refused = refused;
  }

  /** Returns the workload of a pod, including ended pods. */
  workloadOf(pod: KubernetesObject): ReturnType<typeof workloadOf> {
    return workloadOf(pod, (namespace, name) => this.#replicaSets.get(`${namespace}/${name}`));
  }

  workflows(traffic: readonly StatedTraffic[]): WorkflowGraphSnapshot[] {
    const tables = {
      channels: statedChannels(traffic),
      rememberedChannels: { note: () => undefined, recall: () => [] },
      pods: { get: () => undefined },
      figures: new Figures(),
    };
    return buildWorkflows(tables, this.state, { version: 0, nowMs: 0 }, "full");
  }
}

function statedChannels(traffic: readonly StatedTraffic[]): ChannelSource {
  const channels = traffic.map(({ source, target, bytesPerSecond, statedIn }) => ({
    key: channelBetween(
      { namespace: source.namespace, workload: source.name },
      { namespace: target.namespace, workload: target.name },
    ),
    rates: (_nowMs: number, _window: string, end: "source" | "target" = "source") =>
      (end === "source" ? source : target).namespace === statedIn ? { ...UNMEASURED, bytesPerSecond } : null,
    flowRates: () => null,
  }));
  return { values: () => channels };
}

const UNMEASURED = {
  reporter: "source",
  requestsReporter: "source",
  requestsPerSecond: null,
  errorRatio: null,
  eventsPerSecond: null,
  newestMs: Number.NaN,
} as const satisfies Omit<ChannelRates, "bytesPerSecond">;
