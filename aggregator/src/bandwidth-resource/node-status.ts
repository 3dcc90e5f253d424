import {
  conditionsOf,
  trimmedNode,
  withConditions,
  type JsonPatchOperation,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { looseFields, parseBitsPerSecond, type BitsPerSecond } from "@isochrone/primitives";
import type { BandwidthOrigin, NodeBandwidth } from "./domain/step.ts";
import { pointer } from "../network-topology/resource.ts";

/** Annotation of a node: the capacity of its network, bits per second, as a quantity (10G). */
export const CAPACITY_ANNOTATION = "isochrone.dev/bandwidth-capacity";
/**
 * Condition of a node whose extended resource is kept here. It changes in one write with the resource, so
 * that the two never differ, and tells what was written: another value is another one's.
 */
export const ADVERTISED_CONDITION = "isochrone.dev/BandwidthAdvertised";

const MESSAGE = /^(\d+) bit\/s as (\S+)$/;
const REASONS: Readonly<Record<BandwidthOrigin, string>> = { measured: "Measured", declared: "Declared" };

interface Advertisement {
  readonly bitsPerSecond: BitsPerSecond;
  readonly resource: string;
  readonly origin: BandwidthOrigin;
}

export function trimmedWithAdvertisement(node: KubernetesObject): KubernetesObject {
  const trimmed = trimmedNode(node);
  const ours = conditionsOf(node).filter(({ type }) => type === ADVERTISED_CONDITION);
  if (ours.length === 0) return trimmed;
  const conditions = [...conditionsOf(trimmed).filter(({ type }) => type !== ADVERTISED_CONDITION), ...ours];
  return { ...trimmed, status: { ...trimmed.status, conditions } };
}

/** Returns null if the condition is absent or was not written by us. */
export function advertisementOf(node: KubernetesObject): Advertisement | null {
  const condition = conditionsOf(node).find(({ type }) => type === ADVERTISED_CONDITION);
  const [, bitsPerSecond, resource] = MESSAGE.exec(condition?.message ?? "") ?? [];
  if (bitsPerSecond === undefined || resource === undefined) return null;
  const origin = condition?.reason === REASONS.declared ? "declared" : "measured";
  return { bitsPerSecond: Number(bitsPerSecond), resource, origin };
}

export function nodeBandwidth(node: KubernetesObject, resource: string): NodeBandwidth {
  const advertisement = advertisementOf(node);
  return {
    capacity: statusAmount(node, "capacity", resource),
    allocatable: statusAmount(node, "allocatable", resource),
    advertised: advertisement?.bitsPerSecond ?? null,
    advertisedOrigin: advertisement?.origin ?? null,
    declared: annotated(node),
  };
}

/** Bit/s: annotation, else KEP-260's extended resource (capacity, else allocatable). Skips our own value. */
export function declaredBandwidth(node: KubernetesObject, resource: string): number | null {
  const declared = annotated(node);
  if (declared !== null) return declared;
  if (advertisementOf(node)?.origin === "measured") return null;
  const amounts = [statusAmount(node, "capacity", resource), statusAmount(node, "allocatable", resource)];
  return amounts.find((amount) => amount !== null && amount > 0) ?? null;
}

function annotated(node: KubernetesObject): number | null {
  const amount = parseBitsPerSecond(node.metadata.annotations?.[CAPACITY_ANNOTATION]);
  return amount !== null && amount > 0 ? amount : null;
}

/** Parses an amount without a unit like memory: an integer with decimal or binary suffixes. */
function statusAmount(
  { status }: KubernetesObject,
  field: "capacity" | "allocatable",
  resource: string,
): number | null {
  return parseBitsPerSecond(looseFields(status?.[field])[resource]);
}

/** Sets allocatable too: a kubelet would derive it later, and KWOK nodes have no kubelet. */
export function advertisePatch(
  node: KubernetesObject,
  { bitsPerSecond, resource, origin }: Advertisement,
  time: string,
): JsonPatchOperation[] {
  const amount = String(bitsPerSecond);
  const condition = {
    type: ADVERTISED_CONDITION,
    status: "True",
    reason: REASONS[origin],
    message: `${bitsPerSecond} bit/s as ${resource}`,
  };
  return [
    unchanged(node),
    ...(["capacity", "allocatable"] as const).map((field): JsonPatchOperation => {
      const isThere = typeof node.status?.[field] === "object" && node.status[field] !== null;
      return isThere
        ? { op: "add", path: `/status/${field}/${pointer(resource)}`, value: amount }
        : { op: "add", path: `/status/${field}`, value: { [resource]: amount } };
    }),
    { op: "add", path: "/status/conditions", value: withConditions(node, [condition], time) },
  ];
}

/** Patch that removes our resource. Keeps a value that another component has set meanwhile. */
export function withdrawPatch(node: KubernetesObject): JsonPatchOperation[] {
  const advertisement = advertisementOf(node);
  const conditions = conditionsOf(node).filter(({ type }) => type !== ADVERTISED_CONDITION);
  const fields = ["capacity", "allocatable"] as const;
  return [
    unchanged(node),
    ...fields.flatMap((field): JsonPatchOperation[] => {
      if (advertisement === null) return [];
      const amount = statusAmount(node, field, advertisement.resource);
      const isOurs = amount === advertisement.bitsPerSecond || amount === 0;
      return isOurs ? [{ op: "remove", path: `/status/${field}/${pointer(advertisement.resource)}` }] : [];
    }),
    { op: "replace", path: "/status/conditions", value: conditions },
  ];
}

function unchanged(node: KubernetesObject): JsonPatchOperation {
  return { op: "test", path: "/metadata/resourceVersion", value: node.metadata.resourceVersion };
}
