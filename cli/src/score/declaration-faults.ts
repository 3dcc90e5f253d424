import { DEPENDENCIES_ANNOTATION } from "@isochrone/aggregator/offline";
import {
  CHANNELS_ANNOTATION,
  isGeneratedAppGroup,
  MAX_CHANNELS_CHARACTERS,
  parseChannels,
} from "@isochrone/kubernetes/basics";
import type { AnnotatedChannel } from "@isochrone/kubernetes";
import { isRecord, parseBitsPerSecond } from "@isochrone/primitives";
import { readAppGroup } from "@isochrone/topology";
import type { AppGroupDependency, AppGroupText } from "@isochrone/topology";
import { annotationsOf } from "./annotations.ts";
import { kubernetesObject } from "./api-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** Throws DumpError for a dependency that a service would ignore or read differently. */
export function checkDeclarations(object: DumpObject): void {
  if (object.kind !== "AppGroup") return checkDependencies(object);
  if (isGeneratedAppGroup(kubernetesObject(object))) return;
  for (const dependency of appGroupText(object).dependencies) limitsOf(object, dependency);
}

/** Throws DumpError for an annotation that cannot be parsed. */
export function appGroupText(group: DumpObject): AppGroupText<AnnotatedChannel> {
  const { namespace, name, json } = group;
  const text = annotationsOf(group)[CHANNELS_ANNOTATION];
  if (text === undefined) return readAppGroup({ namespace, name }, json.spec);
  const annotated = typeof text === "string" ? parseChannels(text, namespace) : null;
  if (annotated === null) {
    const rule = `must be a JSON list of at most ${MAX_CHANNELS_CHARACTERS} characters`;
    throw group.fail(["metadata", "annotations", CHANNELS_ANNOTATION], rule, text);
  }
  return readAppGroup({ namespace, name }, json.spec, annotated);
}

/** Returns a dependency's limits, as in the spec. Throws DumpError. */
export function limitsOf(
  group: DumpObject,
  { fields, path }: AppGroupDependency<AnnotatedChannel>,
): { readonly maxNetworkCost: number | null; readonly minBandwidthBitsPerSecond: number | null } {
  const { maxNetworkCost: cost = null, minBandwidth = null } = fields;
  if (cost !== null && (typeof cost !== "number" || !(cost >= 0)))
    throw group.fail([...path, "maxNetworkCost"], "must be a number of at least 0", cost);
  const bandwidth = minBandwidth === null ? null : parseBitsPerSecond(minBandwidth);
  if (minBandwidth !== null && bandwidth === null)
    throw group.fail([...path, "minBandwidth"], "must be a quantity", minBandwidth);
  return { maxNetworkCost: cost, minBandwidthBitsPerSecond: bandwidth };
}

function checkDependencies(object: DumpObject): void {
  const text = annotationsOf(object)[DEPENDENCIES_ANNOTATION];
  if (text === undefined) return;
  const fail = (rule: string, value: unknown): Error =>
    object.fail(["metadata", "annotations", DEPENDENCIES_ANNOTATION], rule, value);
  const entries = parsed(text);
  if (!Array.isArray(entries) || !entries.every(isRecord)) throw fail("must be a JSON list of objects", text);
  for (const { name, priority, maxNetworkCost, minBandwidth } of entries) {
    if (typeof name !== "string" || name === "") throw fail("must give each entry a name", name);
    for (const [field, value] of Object.entries({ priority, maxNetworkCost }))
      if (value !== undefined && !(typeof value === "number" && value >= 0))
        throw fail(`must give a ${field} of at least 0`, value);
    if (minBandwidth !== undefined && parseBitsPerSecond(minBandwidth) === null)
      throw fail("must give minBandwidth as a quantity", minBandwidth);
  }
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}
