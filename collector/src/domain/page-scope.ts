// Whose traffic a page may tell of. A pod writes its page itself: what its labels say of others is a claim,
// and is not taken.
import type { LabelLookup } from "@isochrone/telemetry";

/** Why a row was not taken. Metric label `reason` of isochrone_collector_rows_refused_total. */
export const ROW_REFUSALS = [
  /** The row is about a channel that the page's pod is no end of. */
  "not_an_end",
  /** An end has a name that no workload or namespace can have. */
  "name",
  /** The far end's certificate names another namespace than the row does. */
  "principal",
  /** The labels that are kept are longer than a row may have. */
  "too_large",
  /** The page has as many series as a pod's page may have. */
  "too_many",
] as const;
export type RowRefusal = (typeof ROW_REFUSALS)[number];

/** The page of a proxy that stands beside one workload: sidecar, gateway, waypoint. */
export interface PodScope {
  readonly of: "pod";
  readonly namespace: string;
  /** Names that Istio may give the pod's own workload. */
  readonly workloads: readonly string[];
  /** Namespaces whose workloads a waypoint stands before; "*": any. Empty for all other proxies. */
  readonly serves: readonly string[];
}

/** The page of a proxy of a whole node: ztunnel. */
export interface NodeScope {
  readonly of: "node";
  /** Whether pods of the workload are on the node, or were a moment ago. */
  runs(namespace: string, workload: string): boolean;
}

export type PageScope = PodScope | NodeScope;

/** The ends that a row names, as they are shown to people. */
export interface RowEnds {
  readonly reporter: string;
  readonly source: string;
  readonly destination: string;
}

/** What Istio writes where it can't tell who it was. */
const UNKNOWN = "unknown";
const WORKLOAD = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SPIFFE_NAMESPACE = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/sa\/[^/]+$/;
const MAX_SHOWN_CHARACTERS = 80;

/** Null for a row of the mesh's metrics that a page of this scope may have. */
export function rowRefusal(scope: PageScope, label: LabelLookup): RowRefusal | null {
  const reporter = label("reporter");
  const near = reporter === "source" ? "source" : "destination";
  const far = near === "source" ? "destination" : "source";
  const namespace = label(`${near}_workload_namespace`);
  if (!speaksFor(scope, reporter, namespace, label(`${near}_workload`))) return "not_an_end";
  const farNamespace = label(`${far}_workload_namespace`);
  const named = [near, far].every(
    (end) =>
      isName(WORKLOAD, label(`${end}_workload`)) && isName(NAMESPACE, label(`${end}_workload_namespace`)),
  );
  if (!named) return "name";
  return contradicts(label(`${far}_principal`), farNamespace) ? "principal" : null;
}

/** For the log: what a refused row claims. */
export function rowEnds(label: LabelLookup): RowEnds {
  const end = (side: string): string =>
    shown(`${label(`${side}_workload_namespace`)}/${label(`${side}_workload`)}`);
  return { reporter: shown(label("reporter")), source: end("source"), destination: end("destination") };
}

function speaksFor(scope: PageScope, reporter: string, namespace: string, workload: string): boolean {
  if (scope.of === "node") return isEnd(reporter) && scope.runs(namespace, workload);
  if (reporter === "waypoint") return scope.serves.includes("*") || scope.serves.includes(namespace);
  return isEnd(reporter) && namespace === scope.namespace && scope.workloads.includes(workload);
}

function isEnd(reporter: string): boolean {
  return reporter === "source" || reporter === "destination";
}

/** An end that a proxy doesn't know has no name, or this one. */
function isName(rule: RegExp, name: string): boolean {
  return name === "" || name === UNKNOWN || rule.test(name);
}

/**
 * The proxy has verified the certificate of the far end: a peer that calls itself by another namespace's name
 * is not believed.
 */
function contradicts(principal: string, namespace: string): boolean {
  if (namespace === "" || namespace === UNKNOWN) return false;
  const proven = SPIFFE_NAMESPACE.exec(principal)?.[1];
  return proven !== undefined && proven !== namespace;
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}...`;
}
