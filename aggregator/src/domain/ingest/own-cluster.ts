// Tells this cluster's telemetry from that of others. Meshes, Prometheus and OpenTelemetry each have a label
// for the cluster, and may give the same cluster different names.
import { CLUSTER_LABELS, RESOURCE_ATTRIBUTES, type Series } from "@isochrone/telemetry";
import type { ClusterFacts } from "../speakers/authority.ts";
import { knownName, textOf, type Labels } from "../text.ts";

/** Who names clusters: Istio's ends, the label of a Prometheus, and OpenTelemetry. */
type ClusterNaming = "istio" | "prometheus" | "otel";

/** Istio's name of a cluster that nobody has named. */
const ISTIO_DEFAULT = "Kubernetes";
/** Bounds for memory: senders can invent names. */
const MAX_NAMES = 200;
const MAX_NAMESPACES = 1_000;

/** Sightings of a name. Namespaces count first, not series: a tenant has as many series as it likes. */
interface Sightings {
  readonly namings: Set<ClusterNaming>;
  /** Namespaces of series that name a node or pod of this cluster. */
  readonly here: Set<string>;
  readonly anywhere: Set<string>;
  series: number;
}

/** A cluster as telemetry names it. */
interface SeenCluster {
  readonly name: string;
  readonly isOwn: boolean;
  /** Series that named it since the start. */
  readonly series: number;
}

/**
 * Knows this cluster's names. They are configured, or detected for each naming: the name that most namespaces
 * have in series of this cluster's nodes or pods, else in any series.
 */
export class OwnCluster {
  readonly #configured: ReadonlySet<string>;
  readonly #seen = new Map<string, Sightings>();
  readonly #own = new Map<ClusterNaming, string>();
  #changes = 0;

  /** @param names configured ones; none: they are detected */
  constructor(names: readonly string[] = []) {
    this.#configured = new Set(names);
  }

  /** Grows when a detected name changes: what was bound before may be of another cluster. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether another cluster has the name; false while nothing is known. */
  isOther(naming: ClusterNaming, name: string): boolean {
    if (this.#configured.size === 0) return (this.#own.get(naming) ?? name) !== name;
    if (this.#configured.has(name)) return false;
    // A mesh whose clusters nobody has named calls each of them by the default.
    return naming !== "istio" || name !== ISTIO_DEFAULT || this.#hasConfigured(naming);
  }

  /**
   * Notes a name that a series has.
   * @param isHere whether the series names a node or pod of this cluster
   * @param isNew false for a series that is bound again
   * @returns whether another cluster has the name
   */
  note(naming: ClusterNaming, name: string, namespace: string, isHere: boolean, isNew: boolean): boolean {
    const seen = this.#sightingsOf(name);
    if (seen !== null) {
      if (isNew) seen.series++;
      seen.namings.add(naming);
      if (seen.anywhere.size < MAX_NAMESPACES) seen.anywhere.add(namespace);
      if (isHere && seen.here.size < MAX_NAMESPACES) seen.here.add(namespace);
      if (this.#configured.size === 0) this.#detect(naming, name, seen);
    }
    return this.isOther(naming, name);
  }

  /** The most series first. */
  list(): SeenCluster[] {
    return [...this.#seen]
      .map(([name, { namings, series }]) => ({
        name,
        isOwn: [...namings].some((naming) => !this.isOther(naming, name)),
        series,
      }))
      .sort((a, b) => b.series - a.series);
  }

  #sightingsOf(name: string): Sightings | null {
    let seen = this.#seen.get(name);
    if (seen !== undefined) return seen;
    if (this.#seen.size >= MAX_NAMES) return null;
    seen = { namings: new Set(), here: new Set(), anywhere: new Set(), series: 0 };
    this.#seen.set(name, seen);
    return seen;
  }

  #hasConfigured(naming: ClusterNaming): boolean {
    for (const name of this.#configured) if (this.#seen.get(name)?.namings.has(naming) === true) return true;
    return false;
  }

  /** The name that leads stays until another one has more. */
  #detect(naming: ClusterNaming, name: string, seen: Sightings): void {
    const own = this.#own.get(naming);
    if (own === name) return;
    const leader = own === undefined ? undefined : this.#seen.get(own);
    if (leader !== undefined && !leads(seen, leader)) return;
    this.#own.set(naming, name);
    if (leader !== undefined) this.#changes++;
  }
}

function leads(a: Sightings, b: Sightings): boolean {
  if (a.here.size !== b.here.size) return a.here.size > b.here.size;
  return a.anywhere.size === b.anywhere.size ? a.series > b.series : a.anywhere.size > b.anywhere.size;
}

type PlaceLabels = Labels<(typeof CLUSTER_LABELS)[number] | "namespace" | "node" | "pod">;

/** Whether a series says that it is of another cluster, by the label of a Prometheus or of OpenTelemetry. */
export function isOfOther(series: Series, clusters: OwnCluster, facts: ClusterFacts): boolean {
  const labels: PlaceLabels = series.attributes;
  const resource = knownName(series.resource[RESOURCE_ATTRIBUTES.cluster]);
  const [first, ...others] = CLUSTER_LABELS;
  const prometheus = knownName(labels[first]);
  const otel = others.map((label) => knownName(labels[label])).find((name) => name !== null) ?? resource;
  if (prometheus === null && otel === null) return false;
  const isNew = series.state === undefined;
  const namespace = textOf(labels.namespace) ?? textOf(series.resource[RESOURCE_ATTRIBUTES.namespace]) ?? "";
  const isHere = namesOurs(labels, facts) || (resource !== null && isOfOurNode(series, facts));
  const isOther = (naming: ClusterNaming, name: string | null): boolean =>
    name !== null && clusters.note(naming, name, namespace, isHere, isNew);
  // Both are noted, whatever the first one is.
  return [isOther("prometheus", prometheus), isOther("otel", otel)].includes(true);
}

/** Whether labels name a node or pod of the cluster: others have nodes and pods of their own. */
function namesOurs({ namespace, node, pod }: PlaceLabels, facts: ClusterFacts): boolean {
  const name = textOf(node);
  if (name !== null && facts.isNode(name) === "yes") return true;
  const [space, podName] = [textOf(namespace), textOf(pod)];
  return space !== null && podName !== null && typeof facts.podNamed(space, podName) === "object";
}

/** Whether the record is from a node of the cluster: what is scraped there, or tells of it. */
export function isOfOurNode({ resource }: Series, facts: ClusterFacts): boolean {
  const node = textOf(resource[RESOURCE_ATTRIBUTES.node]);
  return node !== null && facts.isNode(node) === "yes";
}
