// Computes the webhook's changes of an EndpointSlice from all slices of the Service.
import { zoneHints, type HintedEndpoint, type ZonePlan } from "@isochrone/dispatch/zones";
import {
  addressTypeOf,
  readyEndpoints,
  zonesHinted,
  type JsonPatchOperation,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import { PLAN_ANNOTATION, planText } from "./plan-annotation.ts";

/** Ready endpoints; null if one has no zone, because then no endpoint may have a hint. */
export function endpointsIn(slices: readonly KubernetesObject[]): HintedEndpoint[] | null {
  const endpoints: HintedEndpoint[] = [];
  for (const slice of slices)
    for (const { id, zone } of readyEndpoints(slice)) {
      if (zone === null) return null;
      endpoints.push({ id, zone });
    }
  return endpoints;
}

/**
 * Zones that each endpoint of the slice is hinted to; empty: no hint. Unready endpoints get their own zone,
 * for when they become ready.
 * @param others further slices of the Service
 */
export function wantedHints(
  slice: KubernetesObject,
  others: readonly KubernetesObject[],
  plan: ZonePlan,
): string[][] {
  const alike = others.filter((other) => addressTypeOf(other) === addressTypeOf(slice));
  const endpoints = endpointsIn([slice, ...alike]);
  const all = looseList(slice.endpoints);
  const hints = endpoints === null ? null : zoneHints(plan, endpoints);
  if (hints === null) return all.map(() => []);
  const ready = new Map(readyEndpoints(slice).map(({ index, id }) => [index, id]));
  return all.map(({ zone }, index) => {
    const id = ready.get(index);
    if (id !== undefined) return [...hints.get(id)!];
    return typeof zone === "string" && zone !== "" ? [zone] : [];
  });
}

export function hintPatch(
  slice: KubernetesObject,
  plan: ZonePlan,
  wanted: readonly (readonly string[])[],
): JsonPatchOperation[] {
  const patch: JsonPatchOperation[] = [];
  const { annotations } = slice.metadata;
  if (annotations?.[PLAN_ANNOTATION] === undefined) {
    if (annotations === undefined) patch.push({ op: "add", path: "/metadata/annotations", value: {} });
    const path = `/metadata/annotations/${PLAN_ANNOTATION.replaceAll("/", "~1")}`;
    patch.push({ op: "add", path, value: planText(plan) });
  }
  for (const [index, has] of zonesHinted(slice).entries()) {
    const zones = wanted[index]!;
    const path = `/endpoints/${index}/hints`;
    if (zones.join("\n") === has.join("\n")) continue;
    if (zones.length === 0) patch.push({ op: "remove", path });
    else patch.push({ op: "add", path, value: { forZones: zones.map((name) => ({ name })) } });
  }
  return patch;
}

/** Patch that removes our plan and all hints; fails if the slice has changed. */
export function takeBackPatch(slice: KubernetesObject): JsonPatchOperation[] {
  const { resourceVersion } = slice.metadata;
  return [
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    { op: "remove", path: `/metadata/annotations/${PLAN_ANNOTATION.replaceAll("/", "~1")}` },
    ...zonesHinted(slice).flatMap((zones, index) =>
      zones.length === 0 ? [] : [{ op: "remove" as const, path: `/endpoints/${index}/hints` }],
    ),
  ];
}
