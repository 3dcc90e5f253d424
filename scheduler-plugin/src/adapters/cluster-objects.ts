// Follows nodes, volumes, volume limits and namespaces, the inputs of feasibility besides pods. All parts
// share one watch, which runs while at least one part needs it.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type {
  ClusterStore,
  Informer,
  InformerChange,
  KindRef,
  KubernetesObject,
  NodeSpec,
  NodeStatus,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { looseFields, looseList } from "@isochrone/primitives";

const FOLLOWED = {
  nodes: KINDS.node,
  namespaces: KINDS.namespace,
  persistentVolumes: KINDS.persistentVolume,
  persistentVolumeClaims: KINDS.persistentVolumeClaim,
  csiNodes: KINDS.csiNode,
  volumeAttachments: KINDS.volumeAttachment,
} as const satisfies Record<string, KindRef>;
type Followed = keyof typeof FOLLOWED;

export type ClusterObjectLists = Readonly<Record<Followed, readonly KubernetesObject[]>>;

export interface ObjectSource {
  readonly isSynced: boolean;
  lists(): ClusterObjectLists;
}

/** One part's view. The watches stop with the last view. */
export interface FollowedObjects extends ObjectSource {
  stop(): Promise<void>;
}

interface ClusterObjectsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ClusterObjects {
  readonly #options: ClusterObjectsOptions;
  readonly #listeners = new Set<() => void>();
  #running: RunningInformers | null = null;

  constructor(options: ClusterObjectsOptions) {
    this.#options = options;
  }

  /** @param onChange called when a field that filters read has changed; node heartbeats don't count */
  follow(onChange: () => void): FollowedObjects {
    // A fresh closure: the same function may be registered twice and removed once.
    const listener = (): void => onChange();
    this.#listeners.add(listener);
    const running = (this.#running ??= new RunningInformers(this.#options, () => this.#tell()));
    return {
      get isSynced() {
        return running.isSynced;
      },
      lists: () => running.lists(),
      stop: async () => {
        if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
        this.#running = null;
        await running.stop();
      },
    };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

class RunningInformers implements FollowedObjects {
  readonly #informers: Readonly<Record<Followed, Informer>>;
  #isSynced = false;

  constructor(options: ClusterObjectsOptions, onChange: () => void) {
    const follow = (name: Followed): Informer => {
      const informer = createInformer({ ...options, kind: FOLLOWED[name], trim: TRIMS[name] });
      const known = new Map<string, string>();
      informer.onChange((change) => {
        if (isNews(change, known)) onChange();
      });
      return informer;
    };
    this.#informers = {
      nodes: follow("nodes"),
      namespaces: follow("namespaces"),
      persistentVolumes: follow("persistentVolumes"),
      persistentVolumeClaims: follow("persistentVolumeClaims"),
      csiNodes: follow("csiNodes"),
      volumeAttachments: follow("volumeAttachments"),
    };
    Promise.all(this.#all().map((informer) => informer.synced())).then(
      () => (this.#isSynced = true),
      () => undefined,
    );
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  lists(): ClusterObjectLists {
    const of = (name: Followed): readonly KubernetesObject[] => this.#informers[name].items();
    return {
      nodes: of("nodes"),
      namespaces: of("namespaces"),
      persistentVolumes: of("persistentVolumes"),
      persistentVolumeClaims: of("persistentVolumeClaims"),
      csiNodes: of("csiNodes"),
      volumeAttachments: of("volumeAttachments"),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.stop()));
  }

  #all(): Informer[] {
    return Object.values(this.#informers);
  }
}

const TRIMS: Readonly<Record<Followed, (object: KubernetesObject) => KubernetesObject>> = {
  nodes: trimmedNode,
  namespaces: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata: bare(metadata) }),
  persistentVolumes: withBareMetadata,
  persistentVolumeClaims: trimmedClaim,
  csiNodes: withBareMetadata,
  // Attachments in progress count as attached.
  volumeAttachments: ({ apiVersion, kind, metadata, spec }) => ({
    apiVersion,
    kind,
    metadata: bare(metadata),
    ...(spec === undefined ? {} : { spec }),
  }),
};

function trimmedNode({ apiVersion, kind, metadata, spec, status }: KubernetesObject): KubernetesObject {
  const { unschedulable, taints } = looseFields<NodeSpec>(spec);
  const { allocatable, addresses, conditions } = looseFields<NodeStatus>(status);
  return {
    apiVersion,
    kind,
    metadata: bare(metadata),
    spec: { unschedulable, taints },
    status: {
      allocatable,
      ...(addresses === undefined ? {} : { addresses }),
      // Drops the timestamps, which change with every heartbeat.
      conditions: looseList<Record<"type" | "status", unknown>>(conditions).map(
        ({ type, status: value }) => ({
          type,
          status: value,
        }),
      ),
    },
  };
}

/** Annotations name the node that a volume will be provisioned for. */
function trimmedClaim({ metadata, ...rest }: KubernetesObject): KubernetesObject {
  const { annotations } = metadata;
  return { ...rest, metadata: { ...bare(metadata), ...(annotations === undefined ? {} : { annotations }) } };
}

function withBareMetadata({ metadata, ...rest }: KubernetesObject): KubernetesObject {
  return { ...rest, metadata: bare(metadata) };
}

function bare({
  annotations: _annotations,
  ownerReferences: _owners,
  ...metadata
}: KubernetesObject["metadata"]): KubernetesObject["metadata"] {
  return metadata;
}

function isNews({ type, object }: InformerChange, known: Map<string, string>): boolean {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  const key = `${metadata.namespace ?? ""}/${metadata.name}`;
  if (type === "deleted") return known.delete(key);
  const text = JSON.stringify({ ...object, metadata });
  if (known.get(key) === text) return false;
  known.set(key, text);
  return true;
}
