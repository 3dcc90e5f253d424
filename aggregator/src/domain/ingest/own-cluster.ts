// Distinguishes this cluster's telemetry from that of others. Meshes, Prometheus and OpenTelemetry have
// different cluster labels, and may name a cluster differently.
import { CLUSTER_LABELS, RESOURCE_ATTRIBUTES, type Series } from "@isochrone/telemetry";
import type { ClusterFacts } from "../speakers/authority.ts";
import { knownName, textOf, type Labels } from "../text.ts";

/** Naming schemes: Istio's ends, Prometheus' label, and OpenTelemetry. */
type ClusterNaming = "istio" | "prometheus" | "otel";

const ISTIO_DEFAULT = "Kubernetes";
/** Bounds memory, because senders can invent names. */
const MAX_NAMES = 200;
const MAX_NAMESPACES = 1_000;

/** Evidence for a name. Namespaces count before series, because a tenant can create any number of series. */
interface Sightings {
  readonly namings: Set<ClusterNaming>;
  readonly here: Set<string>;
  readonly anywhere: Set<string>;
  series: number;
}

interface SeenCluster {
  readonly name: string;
  readonly isOwn: boolean;
  readonly series: number;
}

/**
 * This cluster's names: configured, or detected per naming scheme. Detection picks the name with the most
 * namespaces among series of this cluster's nodes or pods, else among all series.
 */
export class OwnCluster {
  readonly #configured: ReadonlySet<string>;
  readonly #seen = new Map<string, Sightings>();
  readonly #own = new Map<ClusterNaming, string>();
  #changes = 0;

  constructor(names: readonly string[] = []) {
    this.#configured = new Set(names);
  }

  /** Increases when a detected name changes, because bound series may then belong to another cluster. */
  get changes(): number {
    return this.#changes;
  }

  isOther(naming: ClusterNaming, name: string): boolean {
    if (this.#configured.size === 0) return (this.#own.get(naming) ?? name) !== name;
    if (this.#configured.has(name)) return false;
    // In a mesh without configured names every cluster has the default name.
    return naming !== "istio" || name !== ISTIO_DEFAULT || this.#hasConfigured(naming);
  }

  /**
   * Records the name of a series.
   * @param isHere the series names one of this cluster's nodes or pods
   * @param isNew false for a series that is bound again
   * @returns true if the name is another cluster's
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

  /** Sorted by number of series, descending. */
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

  /** The leading name stays until another one exceeds it. */
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
  // Evaluates both, so that both names are recorded.
  return [isOther("prometheus", prometheus), isOther("otel", otel)].includes(true);
}

function namesOurs({ namespace, node, pod }: PlaceLabels, facts: ClusterFacts): boolean {
  const name = textOf(node);
  if (name !== null && facts.isNode(name) === "yes") return true;
  const [space, podName] = [textOf(namespace), textOf(pod)];
  return space !== null && podName !== null && typeof facts.podNamed(space, podName) === "object";
}

/** Returns true if the record is from, or about, a node of this cluster. */
export function isOfOurNode({ resource }: Series, facts: ClusterFacts): boolean {
  const node = textOf(resource[RESOURCE_ATTRIBUTES.node]);
  return node !== null && facts.isNode(node) === "yes";
}
