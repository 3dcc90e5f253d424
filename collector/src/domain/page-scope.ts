// Limits whose traffic a page may report. A pod writes its own page, so labels about others are unproven and
// rejected.
import type { LabelLookup } from "@isochrone/telemetry";

/** Metric label `reason` of isochrone_collector_rows_refused_total. */
export const ROW_REFUSALS = [
  "not_an_end",
  "name",
  /** The far end's certificate names another namespace than the row. */
  "principal",
  "too_large",
  "too_many",
] as const;
export type RowRefusal = (typeof ROW_REFUSALS)[number];

/** Page of a proxy beside one workload: sidecar, gateway or waypoint. */
export interface PodScope {
  readonly of: "pod";
  readonly namespace: string;
  readonly workloads: readonly string[];
  /** Namespaces served by a waypoint; "*": any. Empty for other proxies. */
  readonly serves: readonly string[];
}

export interface NodeScope {
  readonly of: "node";
  /** Whether the workload has or recently had pods on the node. */
  runs(namespace: string, workload: string): boolean;
}

export type PageScope = PodScope | NodeScope;

export interface RowEnds {
  readonly reporter: string;
  readonly source: string;
  readonly destination: string;
}

const UNKNOWN = "unknown";
const WORKLOAD = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SPIFFE_NAMESPACE = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/sa\/[^/]+$/;
const MAX_SHOWN_CHARACTERS = 80;

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

function isName(rule: RegExp, name: string): boolean {
  return name === "" || name === UNKNOWN || rule.test(name);
}

/** The proxy verified the far end's certificate, so a peer claiming another namespace is refused. */
function contradicts(principal: string, namespace: string): boolean {
  if (namespace === "" || namespace === UNKNOWN) return false;
  const proven = SPIFFE_NAMESPACE.exec(principal)?.[1];
  return proven !== undefined && proven !== namespace;
}

function shown(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)}...`;
}
