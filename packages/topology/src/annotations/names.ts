// Annotation names of the graphs on Kubernetes objects. A public contract: docs/annotations.md.
import { createHash } from "node:crypto";

/** Prefix of every name. Empty: the bare names of the paper. */
export const DEFAULT_ANNOTATION_PREFIX = "isochrone.dev/";

export const DEFAULT_ANNOTATION_PREFIXES: readonly string[] = [DEFAULT_ANNOTATION_PREFIX, ""];

export const ANNOTATION_NAMES = {
  /** Annotation of a node: allocatable CPU minus use, a quantity. */
  availableCpu: "available-cpu",
  /** Annotation of a node: allocatable memory minus working set, a quantity. */
  availableMemory: "available-memory",
  /** Annotation of a node: network coordinate, a JSON list of ms with the height last. */
  networkCoordinate: "network-coordinate",
  /** Annotation of a workload: mean CPU use of one pod, a quantity. */
  cpuUsage: "cpu-usage",
  /** Annotation of a workload: mean memory use of one pod, a quantity. */
  memoryUsage: "memory-usage",
  /** Annotation of a workload: peers that it calls, a JSON list of the suffixes of `traffic-`. */
  calls: "calls",
  /** Annotation of nodes and workloads: time when the figures were read from the graph, RFC 3339. */
  observedAt: "observed-at",
} as const;

/**
 * Annotation of nodes and workloads, always with this prefix: the aggregator that wrote last, its start time,
 * and the time of writing.
 */
export const ANNOTATED_BY = "isochrone.dev/annotated-by";

/** Annotation of a pod: the node that the plan assigned when it released the pod. */
export const PLANNED_NODE_ANNOTATION = "isochrone.dev/planned-node";

/** Names with another object's name as suffix. `<family>-names` maps hashes to names. */
export type AnnotationFamily = "network-cost" | "traffic";

/** A peer, relative to the annotated workload's namespace: `<name>` or `<namespace>/<name>`. */
export interface AnnotatedPeer {
  readonly namespace: string;
  readonly name: string;
}

const MAX_NAME_LENGTH = 63;
/** Hexadecimal digits of SHA-256 to keep: 128 bits. */
const HASH_LENGTH = 32;
const HASHED = /^sha256-[0-9a-f]{32}$/;
const PLAIN = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/;
const MAP = "names";

export class FamilyNames {
  readonly #family: AnnotationFamily;
  readonly #hashed: [string, string][] = [];

  constructor(family: AnnotationFamily) {
    this.#family = family;
  }

  /**
   * Hashes the subject if it doesn't fit, or could be read as a hash, as the map, or as another subject.
   * @param plain unhashed form; null: ambiguous
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

  map(): { readonly name: string; readonly value: string } | null {
    if (this.#hashed.length === 0) return null;
    const sorted = this.#hashed.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { name: mapName(this.#family), value: JSON.stringify(Object.fromEntries(sorted)) };
  }
}

/** A peer's subject and unhashed form; null: only a hash is unambiguous. */
export function peerName(
  { namespace: own }: { readonly namespace: string },
  { namespace, name }: AnnotatedPeer,
): { readonly subject: string; readonly plain: string | null } {
  if (namespace !== own) return { subject: `${namespace}/${name}`, plain: `${namespace}.${name}` };
  // Namespaces have no dots, so the part before the first dot reads as a namespace.
  return { subject: name, plain: name.includes(".") ? null : name };
}

export function mapName(family: AnnotationFamily): string {
  return `${family}-${MAP}`;
}

export function isNodeAnnotation(name: string): boolean {
  return NODE_NAMES.has(name) || (name.startsWith("network-cost-") && name.length > "network-cost-".length);
}

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
