// Filters for bound claims. The volume of an unbound claim is up to the volume binder.
import type {
  AttachmentSpec,
  ClaimSpec,
  CsiNodeSpec,
  Metadata,
  PodStatus,
  VolumeSpec,
} from "../objects/fields.ts";
import {
  integer,
  isTerminating,
  keyOf,
  labelOf,
  labelsOf,
  record,
  records,
  text,
  texts,
  type ApiObject,
} from "../objects/json.ts";
import type { NodeState } from "../objects/node-state.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";
import { nodeSelector, type NodeTest } from "../objects/selectors.ts";
import type { Rejection } from "../objects/verdict.ts";

export interface StorageObjects {
  readonly persistentVolumes?: Iterable<ApiObject>;
  readonly persistentVolumeClaims?: Iterable<ApiObject>;
  /** CSINodes, for attach limits. Without them, pods with CSI volumes are unsupported. */
  readonly csiNodes?: Iterable<ApiObject>;
  /** Attached volumes count on a node even if no pod there uses them. */
  readonly volumeAttachments?: Iterable<ApiObject>;
}

const PLAIN_VOLUMES = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gitRepo",
  "glusterfs",
  "hostPath",
  "image",
  "nfs",
  "persistentVolumeClaim",
  "projected",
  "quobyte",
  "scaleIO",
  "secret",
  "storageos",
  "cephfs",
]);
/** PersistentVolume sources that no CSI migration rewrites. */
const PLAIN_SOURCES = [
  "local",
  "hostPath",
  "nfs",
  "csi",
  "fc",
  "iscsi",
  "rbd",
  "cephfs",
  "glusterfs",
  "flexVolume",
];
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const GA_LABELS: Readonly<Record<string, string>> = {
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
};
const ZONE_LABELS = [...Object.keys(GA_LABELS), ...Object.values(GA_LABELS)];

interface Volume {
  readonly labels: readonly (readonly [key: string, values: ReadonlySet<string>])[];
  readonly onNode: NodeTest | null;
  readonly driver: string | null;
  /** Identity of the volume, equal for all its claims. */
  readonly handle: string;
}

export interface BoundVolumes {
  readonly volumes: readonly Volume[];
  readonly exclusive: readonly string[];
}

export class Storage {
  readonly #volumes: ReadonlyMap<string, ApiObject>;
  readonly #claims: ReadonlyMap<string, ApiObject>;
  readonly #limits: ReadonlyMap<string, ReadonlyMap<string, number>> | null;
  readonly #attached = new Map<string, string[]>();
  readonly #parsed = new Map<string, Volume>();

  constructor(objects: StorageObjects) {
    const { persistentVolumes = [], persistentVolumeClaims = [], volumeAttachments = [], csiNodes } = objects;
    for (const { spec } of volumeAttachments) {
      const { nodeName, source } = record<AttachmentSpec>(spec);
      const names = this.#attached.get(text(nodeName)) ?? [];
      this.#attached.set(text(nodeName), [...names, text(record(source).persistentVolumeName)]);
    }
    this.#volumes = new Map(Array.from(persistentVolumes, (volume) => [volume.metadata.name, volume]));
    this.#claims = new Map(Array.from(persistentVolumeClaims, (claim) => [keyOf(claim), claim]));
    this.#limits =
      csiNodes === undefined
        ? null
        : new Map(Array.from(csiNodes, (node) => [node.metadata.name, limitsOf(node)]));
  }

  unsupported(pod: SchedulingPod): string[] {
    return records(pod.spec.volumes).flatMap((volume) => {
      const other = Object.keys(volume).find((kind) => kind !== "name" && !PLAIN_VOLUMES.has(kind));
      if (other !== undefined) return [`its volume ${text(volume.name)} is of type ${other}`];
      const claim = record(volume.persistentVolumeClaim).claimName;
      const fault = claim === undefined ? null : this.#faultOf(pod.set.namespace, text(claim));
      return fault === null ? [] : [fault];
    });
  }

  /** Bound volumes of the pod, which must be supported. */
  boundVolumes(pod: SchedulingPod): BoundVolumes {
    const claims = pod.claims.map((name) => this.#claims.get(`${pod.set.namespace}/${name}`)!);
    return {
      volumes: claims.map((claim) => this.#volume(text(record<ClaimSpec>(claim.spec).volumeName))),
      exclusive: claims
        .filter((claim) => texts(record<ClaimSpec>(claim.spec).accessModes).includes("ReadWriteOncePod"))
        .map(keyOf),
    };
  }

  exceedsLimits({ volumes }: BoundVolumes, node: NodeState, others: readonly SchedulingPod[]): boolean {
    const limits = this.#limits?.get(node.name);
    if (limits === undefined || limits.size === 0 || volumes.every(({ driver }) => driver === null))
      return false;
    const { used, attached } = this.attachedTo(node, others);
    // As in kube-scheduler, an attached volume that no pod on the node uses counts again.
    const added = driversOf(volumes.filter(({ handle }) => !used.has(handle)));
    const count = (drivers: ReadonlyMap<string, string>, driver: string): number =>
      [...drivers.values()].filter((one) => one === driver).length;
    return [...new Set(added.values())].some(
      (driver) => count(attached, driver) + count(added, driver) > (limits.get(driver) ?? Infinity),
    );
  }

  /** Attach limit of a driver on a node. Null: unknown. */
  limitOf(node: string, driver: string): number | null {
    return this.#limits?.get(node)?.get(driver) ?? null;
  }

  /**
   * Drivers by volume handle: `used` by pods on the node or `others`; `attached` adds those without a pod.
   */
  attachedTo(
    node: NodeState,
    others: readonly SchedulingPod[],
  ): { readonly used: ReadonlyMap<string, string>; readonly attached: Map<string, string> } {
    const used = driversOf([...node.pods.values(), ...others].flatMap((pod) => this.#knownVolumes(pod)));
    const names = (this.#attached.get(node.name) ?? []).filter((name) => this.#volumes.has(name));
    const attached = driversOf(names.map((name) => this.#volume(name)));
    for (const [handle, driver] of used) attached.set(handle, driver);
    return { used, attached };
  }

  #faultOf(namespace: string, name: string): string | null {
    const claim = this.#claims.get(`${namespace}/${name}`);
    if (claim === undefined) return `its PersistentVolumeClaim ${name} is not known`;
    if (isTerminating(claim)) return `its PersistentVolumeClaim ${name} is being deleted`;
    if (record<PodStatus>(claim.status).phase === "Lost")
      return `its PersistentVolumeClaim ${name} has lost its volume`;
    const volumeName = text(record<ClaimSpec>(claim.spec).volumeName);
    const annotations = record(record<Metadata>(claim.metadata).annotations);
    if (volumeName === "" || annotations[BIND_COMPLETED] === undefined)
      return `its PersistentVolumeClaim ${name} is not bound`;
    const volume = this.#volumes.get(volumeName);
    if (volume === undefined) return `PersistentVolume ${volumeName} of its claim ${name} is not known`;
    const source = PLAIN_SOURCES.find((kind) => record(volume.spec)[kind] !== undefined);
    if (source === undefined)
      return `PersistentVolume ${volumeName} of its claim ${name} is of an in-tree type`;
    if (source === "csi" && this.#limits === null)
      return `how many volumes of a CSI driver a node attaches is not known (claim ${name})`;
    return null;
  }

  #knownVolumes(pod: SchedulingPod): Volume[] {
    return pod.claims
      .map((name) =>
        text(record<ClaimSpec>(this.#claims.get(`${pod.set.namespace}/${name}`)?.spec).volumeName),
      )
      .filter((name) => this.#volumes.has(name))
      .map((name) => this.#volume(name));
  }

  #volume(name: string): Volume {
    let volume = this.#parsed.get(name);
    if (volume === undefined) {
      volume = parseVolume(this.#volumes.get(name)!);
      this.#parsed.set(name, volume);
    }
    return volume;
  }
}

export function driversOf(volumes: readonly Volume[]): Map<string, string> {
  return new Map(
    volumes.flatMap(({ driver, handle }) => (driver === null ? [] : [[handle, driver] as const])),
  );
}

/** VolumeBinding for bound claims, then VolumeZone. */
export function volumeFilter({ volumes }: BoundVolumes): (node: NodeState) => Rejection | null {
  return (node) => {
    if (volumes.some(({ onNode }) => onNode !== null && !onNode(node))) return NODE_CONFLICT;
    const isZoned = ZONE_LABELS.some((label) => labelOf(node.labels, label) !== undefined);
    return isZoned && volumes.some(({ labels }) => !labels.every(([key, values]) => isIn(node, key, values)))
      ? ZONE_CONFLICT
      : null;
  };
}

export const ONE_POD_ONLY: Rejection = {
  plugin: "VolumeRestrictions",
  message:
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
};
export const TOO_MANY_VOLUMES: Rejection = {
  plugin: "NodeVolumeLimits",
  message: "node(s) exceed max volume count",
};
const NODE_CONFLICT: Rejection = {
  plugin: "VolumeBinding",
  message: "node(s) didn't match PersistentVolume's node affinity",
};
const ZONE_CONFLICT: Rejection = { plugin: "VolumeZone", message: "node(s) had no available volume zone" };

function isIn(node: NodeState, key: string, values: ReadonlySet<string>): boolean {
  const value = labelOf(node.labels, key) ?? labelOf(node.labels, GA_LABELS[key] ?? key);
  return value !== undefined && values.has(value);
}

function parseVolume(volume: ApiObject): Volume {
  const spec = record<VolumeSpec>(volume.spec);
  const labels = labelsOf(volume);
  const required = record(spec.nodeAffinity).required;
  const csi = record(spec.csi);
  const driver = text(csi.driver);
  return {
    labels: ZONE_LABELS.flatMap((key) => {
      const values = zonesOf(labelOf(labels, key));
      return values === null ? [] : [[key, values] as const];
    }),
    onNode: required === undefined || required === null ? null : nodeSelector(required, false),
    driver: driver === "" ? null : driver,
    handle: driver === "" ? volume.metadata.name : `${driver}/${text(csi.volumeHandle)}`,
  };
}

/** Splits values joined by "__". Returns null if one is empty. */
function zonesOf(label: string | undefined): ReadonlySet<string> | null {
  const zones = label?.split("__").map((zone) => zone.trim());
  return zones === undefined || zones.includes("") ? null : new Set(zones);
}

function limitsOf(csiNode: ApiObject): Map<string, number> {
  const { drivers } = record<CsiNodeSpec>(csiNode.spec);
  return new Map(
    records(drivers)
      .map(({ name, allocatable }) => [text(name), integer(record(allocatable).count, -1)] as const)
      .filter(([, count]) => count >= 0),
  );
}
