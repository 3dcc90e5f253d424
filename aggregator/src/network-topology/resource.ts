import { createHash } from "node:crypto";
import {
  KINDS,
  type JsonPatchOperation,
  type KubernetesObject,
  type LooseFields,
} from "@isochrone/kubernetes";
import { parseBitsPerSecond } from "@isochrone/primitives";
import { NETWORK_TOPOLOGY_KEYS, networkTopologyWeights } from "@isochrone/topology";
import { AREA_KINDS, areaKey, areaPairOf } from "./domain/areas.ts";
import { compareAreaPairs, figuresText, type AreaFigures } from "./domain/figures.ts";

// NetworkTopology of diktyo's API (v1alpha1). KEP-260's text has other names for some fields. The status is
// no subresource.

const NETPERF_COSTS = "NetperfCosts";
/** Annotation of the NetworkTopology: milliseconds that one unit of networkCost stands for. */
export const SCALE_ANNOTATION = "isochrone.dev/network-cost-scale";
/**
 * Annotation of it: hash of the figures as they were written here, and the scale then; other figures than
 * these come from somebody else.
 */
export const WRITTEN_ANNOTATION = "isochrone.dev/network-costs-written";

type Figures = ReadonlyMap<string, AreaFigures>;

interface WrittenCosts {
  readonly index: number;
  readonly figures: Figures;
  /** We wrote these figures. False if nothing was written yet. */
  readonly isOurs: boolean;
  /** We wrote figures before, and another component has changed them. */
  readonly isChanged: boolean;
  /** Scale at our last write; null: none. */
  readonly unitMs: number | null;
}

export function writtenCosts(object: KubernetesObject): WrittenCosts {
  const weights = networkTopologyWeights(object, NETPERF_COSTS);
  const index = weights?.index ?? -1;
  const figures = new Map<string, AreaFigures>();
  for (const { area: kind, origin, destination, networkCost, ...bandwidth } of weights?.entries ?? [])
    figures.set(areaKey({ kind, origin, destination }), {
      networkCost,
      capacity: parseBitsPerSecond(bandwidth.bandwidthCapacity),
      allocated: wholeQuantity(bandwidth.bandwidthAllocated),
    });
  const mark = object.metadata.annotations?.[WRITTEN_ANNOTATION];
  if (mark === undefined) return { index, figures, isOurs: false, isChanged: false, unitMs: null };
  const [hash, unit] = mark.split("/");
  const isOurs = hash === hashOf(figures);
  return { index, figures, isOurs, isChanged: !isOurs, unitMs: isOurs ? Number(unit) : null };
}

/** Milliseconds per unit of cost: the annotation, else the default. Null: the annotation is invalid. */
export function costUnitMs(object: KubernetesObject, defaultMs: number): number | null {
  const text = object.metadata.annotations?.[SCALE_ANNOTATION];
  if (text === undefined) return defaultMs;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return value > 0 && Number.isFinite(value) ? value : null;
}

export interface Writing {
  readonly figures: Figures;
  readonly unitMs: number;
  readonly nodeCount: number;
  /** RFC 3339 in whole seconds. */
  readonly time: string;
}

export function newTopology(
  ref: { readonly namespace: string; readonly name: string },
  configMapName: string,
  writing: Writing,
): KubernetesObject {
  return {
    ...KINDS.networkTopology,
    metadata: { ...ref, annotations: annotationsOf(writing) },
    spec: { configmapName: configMapName, weights: [weightsOf(writing.figures)] },
    status: { ...statusOf(writing) },
  };
}

/** Patches only NetperfCosts, our annotations and the status of the object that was read. */
export function topologyPatch(object: KubernetesObject, writing: Writing): JsonPatchOperation[] {
  const { metadata, spec, status } = object;
  const weights = weightsOf(writing.figures);
  const { index } = writtenCosts(object);
  const operations: JsonPatchOperation[] = [
    { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
  ];
  const annotations = annotationsOf(writing);
  if (metadata.annotations === undefined)
    operations.push({ op: "add", path: "/metadata/annotations", value: annotations });
  else
    for (const [key, value] of Object.entries(annotations))
      operations.push({ op: "add", path: `/metadata/annotations/${pointer(key)}`, value });
  if (spec === undefined) operations.push({ op: "add", path: "/spec", value: { weights: [weights] } });
  else if (!Array.isArray(spec.weights))
    operations.push({ op: "add", path: "/spec/weights", value: [weights] });
  else if (index < 0) operations.push({ op: "add", path: "/spec/weights/-", value: weights });
  else operations.push({ op: "replace", path: `/spec/weights/${index}`, value: weights });
  if (status === undefined) operations.push({ op: "add", path: "/status", value: statusOf(writing) });
  else
    for (const [key, value] of Object.entries(statusOf(writing)))
      operations.push({ op: "add", path: `/status/${key}`, value });
  return operations;
}

function annotationsOf({ figures, unitMs }: Writing): Record<string, string> {
  return { [SCALE_ANNOTATION]: String(unitMs), [WRITTEN_ANNOTATION]: `${hashOf(figures)}/${unitMs}` };
}

function statusOf({ nodeCount, time }: Writing): { nodeCount: number; weightCalculationTime: string } {
  return { nodeCount, weightCalculationTime: time };
}

function weightsOf(figures: Figures): Record<string, unknown> {
  const pairs = [...figures]
    .map(([key, value]) => ({ pair: areaPairOf(key), value }))
    .sort((a, b) => compareAreaPairs(a.pair, b.pair));
  const topologyList = AREA_KINDS.flatMap((kind) => {
    const ofKind = pairs.filter(({ pair }) => pair.kind === kind);
    const origins = Map.groupBy(ofKind, ({ pair }) => pair.origin);
    const originList = [...origins].map(([origin, entries]) => ({
      origin,
      costList: entries.map(({ pair, value }) => costEntry(pair.destination, value)),
    }));
    return originList.length === 0 ? [] : [{ topologyKey: NETWORK_TOPOLOGY_KEYS[kind], originList }];
  });
  return { name: NETPERF_COSTS, topologyList };
}

function costEntry(destination: string, { networkCost, capacity, allocated }: AreaFigures): LooseFields {
  return {
    destination,
    networkCost,
    ...(capacity === null ? {} : { bandwidthCapacity: decimalQuantity(BigInt(capacity)) }),
    ...(allocated === null ? {} : { bandwidthAllocated: decimalQuantity(allocated) }),
  };
}

const SUFFIXES = ["", "k", "M", "G", "T", "P", "E"];

/** Parses integers of any size, because sums may exceed the exact range of a number. */
function wholeQuantity(quantity: unknown): bigint | null {
  const [, digits, suffix = ""] = /^(\d+)([kMGTPE]?)$/.exec(String(quantity)) ?? [];
  if (digits !== undefined) return BigInt(digits) * 1000n ** BigInt(SUFFIXES.indexOf(suffix));
  const amount = parseBitsPerSecond(quantity);
  return amount === null ? null : BigInt(amount);
}

/** The largest decimal suffix that leaves an integer, as in Kubernetes: 1500000000 is 1500M. */
export function decimalQuantity(amount: bigint): string {
  let rest = amount;
  let suffix = 0;
  while (rest !== 0n && rest % 1000n === 0n && suffix < SUFFIXES.length - 1) {
    rest /= 1000n;
    suffix++;
  }
  return `${rest}${SUFFIXES[suffix]}`;
}

function hashOf(figures: Figures): string {
  const text = figuresText([...figures].map(([key, value]) => [areaPairOf(key), value] as const));
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

export function pointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
