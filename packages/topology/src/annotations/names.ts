// Names of the annotations by which graphs stand on Kubernetes objects. A public contract:
// docs/annotations.md.
import { createHash } from "node:crypto";

/** What comes before every name. Empty gives the bare names of the paper that they are from. */
export const DEFAULT_ANNOTATION_PREFIX = "isochrone.dev/";

/** Prefixes that readers try in turn: the product's own, then none. */
export const DEFAULT_ANNOTATION_PREFIXES: readonly string[] = [DEFAULT_ANNOTATION_PREFIX, ""];

/** Names without their prefix. */
export const ANNOTATION_NAMES = {
  /** Of a node: what is allocatable less what is used, a quantity. */
  availableCpu: "available-cpu",
  /** Of a node: what is allocatable less the working set, a quantity. */
  availableMemory: "available-memory",
  /** Of a node: a JSON list of ms, the height last. */
  networkCoordinate: "network-coordinate",
  /** Of a workload: mean use of one pod, a quantity. */
  cpuUsage: "cpu-usage",
  /** Of a workload: mean use of one pod, a quantity. */
  memoryUsage: "memory-usage",
  /**
   * Of a workload: of the peers that its traffic is with, those that it calls; a JSON list of what stands
   * behind `traffic-`.
   */
  calls: "calls",
  /** Of nodes and workloads: when the figures were read from the graph, RFC 3339. */
  observedAt: "observed-at",
} as const;

/**
 * Of nodes and workloads, whatever the prefix: which aggregator annotated it last, since when that one runs,
 * and when it wrote.
 */
export const ANNOTATED_BY = "isochrone.dev/annotated-by";

/** Annotation of a pod that was released by plan: the node it is meant for. */
export const PLANNED_NODE_ANNOTATION = "isochrone.dev/planned-node";

/** Names that end in the name of another object. `<family>-names` maps hashes back. */
export type AnnotationFamily = "network-cost" | "traffic";

/**
 * Another workload as the annotations of one in `namespace` call it: by its name, or `<namespace>/<name>` of
 * another namespace.
 */
export interface AnnotatedPeer {
  readonly namespace: string;
  readonly name: string;
}

/** The API server's limit of an annotation's name, without the prefix. */
const MAX_NAME_LENGTH = 63;
/** Of SHA-256, in hexadecimal: 128 bits. */
const HASH_LENGTH = 32;
const HASHED = /^sha256-[0-9a-f]{32}$/;
/** What a name may end in; names of objects hold nothing else. */
const PLAIN = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/;
const MAP = "names";

/** Builds the names of one family, and the map of those that had to be hashed. */
export class FamilyNames {
  readonly #family: AnnotationFamily;
  readonly #hashed: [string, string][] = [];

  constructor(family: AnnotationFamily) {
    this.#family = family;
  }

  /**
   * The annotation's name for `subject`. It is hashed when it doesn't fit, when it could be taken for a hash
   * or for the map, or when `plain`, what would stand there otherwise, could be taken for another subject
   * (null).
   */
  nameOf(subject: string, plain: string | null = subject): string {
    const fits =
      plain !== null &&
      this.#family.length + 1 + plain.length <= MAX_NAME_LENGTH &&
      plain !== MAP &&
      PLAIN.test(plain) &&
      !HASHED.test(plain);
    if (fits) return `${this.#family}-${plain}`;
    const hash = `sha256-${createHash("sha256").update(subject).digest("hex").slice(0, HASH_LENGTH)}`;
    this.#hashed.push([hash, subject]);
    return `${this.#family}-${hash}`;
  }

  /** Name and value of the map; null while nothing was hashed. */
  map(): { readonly name: string; readonly value: string } | null {
    if (this.#hashed.length === 0) return null;
    const sorted = this.#hashed.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { name: mapName(this.#family), value: JSON.stringify(Object.fromEntries(sorted)) };
  }
}

/**
 * A workload's name for annotations of one in `namespace`, and how it stands there: null where only a hash is
 * clear.
 */
export function peerName(
  { namespace: own }: { readonly namespace: string },
  { namespace, name }: AnnotatedPeer,
): { readonly subject: string; readonly plain: string | null } {
  if (namespace !== own) return { subject: `${namespace}/${name}`, plain: `${namespace}.${name}` };
  // Namespaces have no dots: up to the first one it is a namespace, so that a name with one is unclear.
  return { subject: name, plain: name.includes(".") ? null : name };
}

export function mapName(family: AnnotationFamily): string {
  return `${family}-${MAP}`;
}

/** Whether a name (without prefix) is one that Isochrone writes on nodes. */
export function isNodeAnnotation(name: string): boolean {
  return NODE_NAMES.has(name) || (name.startsWith("network-cost-") && name.length > "network-cost-".length);
}

/** Whether a name (without prefix) is one that Isochrone writes on workloads. */
export function isWorkloadAnnotation(name: string): boolean {
  return WORKLOAD_NAMES.has(name) || (name.startsWith("traffic-") && name.length > "traffic-".length);
}

const NODE_NAMES: ReadonlySet<string> = new Set([
  ANNOTATION_NAMES.availableCpu,
  ANNOTATION_NAMES.availableMemory,
  ANNOTATION_NAMES.networkCoordinate,
  ANNOTATION_NAMES.observedAt,
]);
const WORKLOAD_NAMES: ReadonlySet<string> = new Set([
  ANNOTATION_NAMES.cpuUsage,
  ANNOTATION_NAMES.memoryUsage,
  ANNOTATION_NAMES.calls,
  ANNOTATION_NAMES.observedAt,
]);
