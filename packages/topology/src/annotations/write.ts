import type { Bytes, Millicores } from "@isochrone/primitives";
import { ANNOTATION_NAMES, FamilyNames, peerName } from "./names.ts";
import type { AnnotatedPeer } from "./names.ts";

export interface NodeFigures {
  readonly availableCpuMillicores: Millicores | null;
  readonly availableMemoryBytes: Bytes | null;
  /** Costs to other nodes by name, ms. */
  readonly networkCostsMs: ReadonlyMap<string, number>;
  /** Network coordinate [x..., height], ms. */
  readonly coordinate: readonly number[] | null;
}

export interface WorkloadFigures {
  readonly namespace: string;
  readonly cpuMillicores: Millicores | null;
  readonly memoryBytes: Bytes | null;
  /** Traffic with each peer, both directions, and whether the workload calls it. */
  readonly traffic: readonly (AnnotatedPeer & {
    readonly bytesPerSecond: number;
    readonly isCalled: boolean;
  })[];
}

export type AnnotationTexts = ReadonlyMap<string, string>;

/** The smallest cost written: 0 would mean no network in between. */
const LEAST_COST_MS = 0.001;

export function writeNodeAnnotations(figures: NodeFigures, observedAtMs: number): AnnotationTexts {
  const texts = new Map<string, string>();
  const { availableCpuMillicores: cpu, availableMemoryBytes: memory, coordinate } = figures;
  // Round availability down and use up, so that rounding never overstates room.
  if (cpu !== null) texts.set(ANNOTATION_NAMES.availableCpu, `${Math.floor(cpu)}m`);
  if (memory !== null) texts.set(ANNOTATION_NAMES.availableMemory, `${Math.floor(memory / 1024)}Ki`);
  if (coordinate !== null)
    texts.set(ANNOTATION_NAMES.networkCoordinate, JSON.stringify(coordinate.map(rounded)));
  const names = new FamilyNames("network-cost");
  for (const [node, costMs] of figures.networkCostsMs)
    texts.set(names.nameOf(node), Math.max(costMs, LEAST_COST_MS).toFixed(3));
  return finished(texts, names, observedAtMs);
}

export function writeWorkloadAnnotations(figures: WorkloadFigures, observedAtMs: number): AnnotationTexts {
  const texts = new Map<string, string>();
  const { cpuMillicores: cpu, memoryBytes: memory } = figures;
  if (cpu !== null) texts.set(ANNOTATION_NAMES.cpuUsage, `${Math.ceil(cpu)}m`);
  if (memory !== null) texts.set(ANNOTATION_NAMES.memoryUsage, `${Math.ceil(memory / 1024)}Ki`);
  const names = new FamilyNames("traffic");
  const called: string[] = [];
  for (const peer of figures.traffic) {
    const { subject, plain } = peerName(figures, peer);
    const name = names.nameOf(subject, plain);
    texts.set(name, String(Math.ceil(peer.bytesPerSecond)));
    if (peer.isCalled) called.push(name.slice("traffic-".length));
  }
  if (figures.traffic.length > 0) texts.set(ANNOTATION_NAMES.calls, JSON.stringify(called.sort()));
  return finished(texts, names, observedAtMs);
}

function finished(texts: Map<string, string>, names: FamilyNames, observedAtMs: number): AnnotationTexts {
  if (texts.size === 0) return texts;
  const map = names.map();
  if (map !== null) texts.set(map.name, map.value);
  texts.set(ANNOTATION_NAMES.observedAt, `${new Date(observedAtMs).toISOString().slice(0, 19)}Z`);
  return texts;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
