// What AppGroups of a dump declare, read as everywhere (docs/appgroup.md); here what makes no sense is an
// error that names its place.
import {
  CHANNELS_ANNOTATION,
  GENERATED_ANNOTATION,
  MAX_CHANNELS_CHARACTERS,
  parseChannels,
} from "@isochrone/kubernetes/basics";
import type { AnnotatedChannel } from "@isochrone/kubernetes";
import { parseBitsPerSecond } from "@isochrone/primitives";
import {
  appGroupLabels,
  boundedDemands,
  OWN_NAMESPACE_ONLY,
  readAppGroup,
  unmatchedSelectors,
  unmatchedText,
} from "@isochrone/topology";
import type { AppGroupDependency, AppGroupText, ChannelDemands, DeclaredWorkload } from "@isochrone/topology";
import { annotationsOf } from "./annotations.ts";
import { labelsOf } from "./dump-pods.ts";
import type { WorkloadIndex } from "./dump-pods.ts";
import type { DumpObject } from "./read-objects.ts";

type Dependency = AppGroupDependency<AnnotatedChannel>;

/** Throws DumpError for an annotation that can't be read. */
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

/** A channel that an AppGroup declares. */
interface AppGroupChannel {
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
  readonly demands: ChannelDemands;
}

/** Channels of workloads of its own namespace: it declares for no other. Throws DumpError. */
export function appGroupChannels(group: DumpObject, { members }: WorkloadIndex): AppGroupChannel[] {
  const text = appGroupText(group);
  return text.dependencies.flatMap((dependency) => {
    const demands = demandsOf(group, dependency);
    const targets = members.refer(text, dependency.target).workloads;
    return members
      .refer(text, dependency.source)
      .workloads.filter(({ namespace }) => OWN_NAMESPACE_ONLY.mayDeclareFor(group.namespace, namespace))
      .flatMap((source) => targets.map((target) => ({ source, target, demands })));
  });
}

function demandsOf(group: DumpObject, dependency: Dependency): ChannelDemands {
  const { annotated } = dependency;
  return boundedDemands({
    ...limitsOf(group, dependency),
    priority: annotated?.priority,
    relationshipType: annotated?.relationshipType,
  });
}

/** A dependency's limits, as the spec has them. Throws DumpError. */
export function limitsOf(
  group: DumpObject,
  { fields, path }: Dependency,
): { readonly maxNetworkCost: number | null; readonly minBandwidthBitsPerSecond: number | null } {
  const { maxNetworkCost: cost = null, minBandwidth = null } = fields;
  if (cost !== null && (typeof cost !== "number" || !(cost >= 0)))
    throw group.fail([...path, "maxNetworkCost"], "must be a number of at least 0", cost);
  const bandwidth = minBandwidth === null ? null : parseBitsPerSecond(minBandwidth);
  if (minBandwidth !== null && bandwidth === null)
    throw group.fail([...path, "minBandwidth"], "must be a quantity", minBandwidth);
  return { maxNetworkCost: cost, minBandwidthBitsPerSecond: bandwidth };
}

/** Generated ones say what was seen: they declare nothing, as for the aggregator. */
export function isGenerated(group: DumpObject): boolean {
  return annotationsOf(group)[GENERATED_ANNOTATION] !== undefined;
}

/** Selectors that nothing in the dump carries, a sentence for each AppGroup. */
function unmatchedRemarks(groups: readonly DumpObject[], { members }: WorkloadIndex): string[] {
  return groups.flatMap((group) => {
    const text = appGroupText(group);
    const unmatched = unmatchedSelectors(text, members);
    return unmatched.length === 0 ? [] : [unmatchedText(text.id, unmatched)];
  });
}

/**
 * AppGroups of the pod's own namespace that it may be of: the one that its label names, any without the
 * label.
 */
export function appGroupsOf(objects: readonly DumpObject[], pod: DumpObject): DumpObject[] {
  const group = appGroupLabels(labelsOf(pod))?.group ?? null;
  return objects.filter(
    ({ kind, namespace, name }) =>
      kind === "AppGroup" && namespace === pod.namespace && (group === null || name === group),
  );
}

const MAX_REMARKS = 5;

/** What of the AppGroups that it may be of can't be as it was meant. */
export function appGroupRemarks(
  objects: readonly DumpObject[],
  pod: DumpObject,
  index: WorkloadIndex,
): string[] {
  const group = appGroupLabels(labelsOf(pod))?.group ?? null;
  const own = appGroupsOf(objects, pod);
  const remarks = unmatchedRemarks(own, index);
  if (group !== null && own.length === 0) {
    const elsewhere = objects
      .filter(({ kind, name }) => kind === "AppGroup" && name === group)
      .map(({ namespace }) => namespace);
    const where =
      elsewhere.length === 0 ? "" : `; that of ${elsewhere.join(", ")} binds pods of its own namespace alone`;
    remarks.push(
      `the pod's label names AppGroup ${group}, which isn't in namespace ${pod.namespace}${where}`,
    );
  }
  return remarks.slice(0, MAX_REMARKS);
}
