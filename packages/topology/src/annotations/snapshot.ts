// A cluster graph from node annotations alone: for the time when the graph API can't be asked.
import { STALE_AFTER_WINDOWS } from "../cost.ts";
import type { ClusterGraphSnapshot, ClusterNode, CoordinateFit, Link } from "../schema.ts";
import { DEFAULT_ANNOTATION_PREFIXES } from "./names.ts";
import { readNodeAnnotations } from "./read.ts";
import type { AnnotationFault, RawAnnotations, ReadNodeAnnotations } from "./read.ts";

/** Annotations that were written longer ago count as stale: two and a half times their refresh. */
export const ANNOTATIONS_STALE_AFTER_SECONDS = 1500;

/** A node as its object says, without what is measured. */
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
  /** Now, ms since the epoch; null: annotations have no age (those of a dump). */
  readonly nowMs: number | null;
  /** @default isochrone.dev/, then none */
  readonly prefixes?: readonly string[];
  /** @default {@link ANNOTATIONS_STALE_AFTER_SECONDS} */
  readonly maxAgeSeconds?: number;
}

/** The graph, and what could not be read. */
interface AnnotatedCluster {
  readonly snapshot: ClusterGraphSnapshot;
  /** Nodes whose annotations are missing, or too old to be used. */
  readonly staleNodes: readonly string[];
  readonly faults: readonly (AnnotationFault & { readonly node: string })[];
}

/**
 * Annotated costs become links of origin `declared`, with the age of the annotations; nodes' coordinates
 * estimate the other pairs. What is stale is left out. Never throws.
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

/** Null without coordinates. How far they can be trusted, annotations don't say. */
function fitOf(agesSeconds: readonly number[], nowMs: number): CoordinateFit | null {
  if (agesSeconds.length === 0) return null;
  const ageSeconds = agesSeconds.reduce((most, each) => Math.max(most, each), 0);
  const fittedAt = new Date(nowMs - ageSeconds * 1000).toISOString();
  return { fittedAt, ageSeconds, pairs: 0, medianRelativeError: null, p90RelativeError: null };
}

/** A clock that is ahead of the writer's makes an age of 0, not a negative one. */
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

/** Annotations don't say by what method. */
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
