// Builds a cluster graph from node annotations, for when the graph API is unreachable.
import { STALE_AFTER_WINDOWS } from "../cost.ts";
import type { ClusterGraphSnapshot, ClusterNode, CoordinateFit, Link } from "../schema.ts";
import { DEFAULT_ANNOTATION_PREFIXES } from "./names.ts";
import { readNodeAnnotations } from "./read.ts";
import type { AnnotationFault, RawAnnotations, ReadNodeAnnotations } from "./read.ts";

/** Maximum age of annotations, 2.5 refresh intervals. */
export const ANNOTATIONS_STALE_AFTER_SECONDS = 1500;

export type AnnotatedNode = Pick<
  ClusterNode,
  | "name"
  | "zone"
  | "region"
  | "segment"
  | "ready"
  | "cordoned"
  | "allocatableCpuMillicores"
  | "allocatableMemoryBytes"
> & { readonly annotations: RawAnnotations };

interface AnnotatedClusterOptions {
  /** Current time, ms since the epoch. Null: annotations have no age, as in a dump. */
  readonly nowMs: number | null;
  readonly prefixes?: readonly string[];
  readonly maxAgeSeconds?: number;
}

interface AnnotatedCluster {
  readonly snapshot: ClusterGraphSnapshot;
  /** Nodes with missing or stale annotations. */
  readonly staleNodes: readonly string[];
  readonly faults: readonly (AnnotationFault & { readonly node: string })[];
}

/**
 * Annotated costs become links of origin `declared`; coordinates estimate the other pairs. Omits stale
 * annotations. Never throws.
 */
export function annotatedCluster(
  annotated: readonly AnnotatedNode[],
  options: AnnotatedClusterOptions,
): AnnotatedCluster {
  const { nowMs, prefixes = DEFAULT_ANNOTATION_PREFIXES } = options;
  const maxAgeSeconds = options.maxAgeSeconds ?? ANNOTATIONS_STALE_AFTER_SECONDS;
  const nodes: ClusterNode[] = [];
  const links: Link[] = [];
  const staleNodes: string[] = [];
  const faults: (AnnotationFault & { node: string })[] = [];
  const coordinateAgesSeconds: number[] = [];
  for (const { annotations, ...node } of annotated) {
    const read = readNodeAnnotations(annotations, prefixes);
    for (const fault of read.faults) faults.push({ node: node.name, ...fault });
    const ageSeconds = ageOf(read, nowMs);
    const isFresh = nowMs === null || (ageSeconds !== null && ageSeconds <= maxAgeSeconds);
    nodes.push({ ...node, ...measured(isFresh ? read : NOTHING, ageSeconds) });
    if (!isFresh) {
      staleNodes.push(node.name);
      continue;
    }
    if (read.coordinate !== null) coordinateAgesSeconds.push(ageSeconds ?? 0);
    for (const [target, costMs] of read.networkCostsMs)
      links.push(declaredLink(node.name, target, costMs, ageSeconds));
  }
  const timeMs = nowMs ?? 0;
  const snapshot = {
    version: 0,
    observedAt: new Date(timeMs).toISOString(),
    windowSeconds: nowMs === null ? 0 : maxAgeSeconds / STALE_AFTER_WINDOWS,
    coordinates: fitOf(coordinateAgesSeconds, timeMs),
    nodes,
    links,
  };
  return { snapshot, staleNodes, faults };
}

function fitOf(agesSeconds: readonly number[], nowMs: number): CoordinateFit | null {
  if (agesSeconds.length === 0) return null;
  const ageSeconds = agesSeconds.reduce((most, each) => Math.max(most, each), 0);
  const fittedAt = new Date(nowMs - ageSeconds * 1000).toISOString();
  return { fittedAt, ageSeconds, pairs: 0, medianRelativeError: null, p90RelativeError: null };
}

/** Age of annotations, seconds; 0 if the reader's clock is behind the writer's. */
function ageOf({ observedAtMs }: ReadNodeAnnotations, nowMs: number | null): number | null {
  return observedAtMs === null || nowMs === null ? null : Math.max(0, nowMs - observedAtMs) / 1000;
}

function measured(
  read: Pick<ReadNodeAnnotations, "availableCpuMillicores" | "availableMemoryBytes" | "coordinate">,
  ageSeconds: number | null,
): Pick<ClusterNode, "availableCpuMillicores" | "availableMemoryBytes" | "coordinate" | "usageAgeSeconds"> {
  return {
    availableCpuMillicores: read.availableCpuMillicores,
    availableMemoryBytes: read.availableMemoryBytes,
    coordinate: read.coordinate === null ? null : [...read.coordinate],
    usageAgeSeconds: ageSeconds,
  };
}

const NOTHING = { availableCpuMillicores: null, availableMemoryBytes: null, coordinate: null };

function declaredLink(source: string, target: string, costMs: number, ageSeconds: number | null): Link {
  return {
    source,
    target,
    method: "icmp",
    ipFamily: 4,
    rttMs: { p50: null, p90: null, p99: null, mean: null, count: 0 },
    lossRatio: null,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "declared",
    provisional: false,
    ageSeconds,
    observedAt: null,
  };
}
