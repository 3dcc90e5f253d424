// Changes that admission plugins of the API server make to new pods by other objects: LimitRanger,
// RuntimeClass and Priority. Only what scheduling depends on.
import { isList, isRecord, looseFields, looseList, type LooseFields } from "@isochrone/primitives";

/** An object that a file holds beside the pod. */
interface BesideObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly json: LooseFields;
}

/** Kinds by which pods are changed. */
export const ADMISSION_KINDS: ReadonlySet<string> = new Set(["LimitRange", "RuntimeClass", "PriorityClass"]);

/** Kubernetes' own classes. */
const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

/**
 * The completed pod as the API server stores it in a cluster with these objects. A pod with a uid was stored
 * before, and stays as it is.
 */
export function admittedPod(
  pod: LooseFields,
  namespace: string,
  beside: readonly BesideObject[],
): LooseFields {
  const { spec } = pod;
  if (!isRecord(spec) || looseFields<{ uid: unknown }>(pod["metadata"]).uid !== undefined) return pod;
  const limits = beside.filter((object) => object.kind === "LimitRange" && object.namespace === namespace);
  const classOf = (kind: string, name: unknown): LooseFields | undefined =>
    beside.find((object) => object.kind === kind && object.name === name)?.json;
  return {
    ...pod,
    spec: {
      ...withLimits(spec, limits),
      ...ofRuntimeClass(spec, classOf("RuntimeClass", spec["runtimeClassName"])),
      ...ofPriority(spec, beside, classOf),
    },
  };
}

function withLimits(spec: LooseFields, ranges: readonly BesideObject[]): LooseFields {
  const items = ranges
    .flatMap(({ json }) => looseList<LooseFields>(looseFields<{ limits: unknown }>(json["spec"]).limits))
    .filter(({ type }) => type === "Container");
  if (items.length === 0) return spec;
  const result: Record<string, unknown> = { ...spec };
  for (const list of ["containers", "initContainers"])
    if (isList(spec[list]))
      result[list] = spec[list].map((one) => items.reduce(withDefaults, looseFields(one)));
  return result;
}

/** A LimitRange's own defaults: limits from its maxima, requests from its limits and minima. */
function withDefaults(container: LooseFields, item: LooseFields): LooseFields {
  const resources = looseFields<Record<"limits" | "requests", unknown>>(container["resources"]);
  const limits = { ...looseFields(item["max"]), ...looseFields(item["default"]) };
  const requests = { ...looseFields(item["min"]), ...limits, ...looseFields(item["defaultRequest"]) };
  return {
    ...container,
    resources: {
      ...resources,
      limits: { ...limits, ...looseFields(resources.limits) },
      requests: { ...requests, ...looseFields(resources.requests) },
    },
  };
}

/** What the runtime takes beside the containers, and the nodes that have it. */
function ofRuntimeClass(spec: LooseFields, runtime: LooseFields | undefined): LooseFields {
  if (runtime === undefined) return {};
  const { podFixed } = looseFields<{ podFixed: unknown }>(runtime["overhead"]);
  const { nodeSelector, tolerations } = looseFields<Record<"nodeSelector" | "tolerations", unknown>>(
    runtime["scheduling"],
  );
  const own = isList(spec["tolerations"]) ? spec["tolerations"] : [];
  return {
    ...(spec["overhead"] === undefined && podFixed !== undefined ? { overhead: podFixed } : {}),
    ...(isRecord(nodeSelector)
      ? { nodeSelector: { ...looseFields(spec["nodeSelector"]), ...nodeSelector } }
      : {}),
    ...(isList(tolerations) ? { tolerations: [...own, ...tolerations] } : {}),
  };
}

function ofPriority(
  { priority, priorityClassName }: LooseFields,
  beside: readonly BesideObject[],
  classOf: (kind: string, name: unknown) => LooseFields | undefined,
): LooseFields {
  if (priority !== undefined) return {};
  const found =
    typeof priorityClassName === "string" && priorityClassName !== ""
      ? (classOf("PriorityClass", priorityClassName)?.["value"] ?? SYSTEM_PRIORITIES[priorityClassName])
      : beside.find(({ kind, json }) => kind === "PriorityClass" && json["globalDefault"] === true)?.json[
          "value"
        ];
  return found === undefined ? {} : { priority: found };
}
