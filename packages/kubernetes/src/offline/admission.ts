// Effects of the admission plugins LimitRanger, RuntimeClass and Priority on new pods, as far as scheduling
// depends on them.
import { isList, isRecord, looseFields, looseList, type LooseFields } from "@isochrone/primitives";

type Fields<K extends string> = Record<K, unknown>;

interface BesideObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly json: LooseFields;
}

export const ADMISSION_KINDS: ReadonlySet<string> = new Set(["LimitRange", "RuntimeClass", "PriorityClass"]);

const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

/** The pod as the API server stores it. A pod with a uid was stored before, and stays unchanged. */
export function admittedPod(
  pod: LooseFields,
  namespace: string,
  beside: readonly BesideObject[],
): LooseFields {
  const { spec, metadata } = looseFields<Fields<"metadata" | "spec">>(pod);
  if (!isRecord(spec) || looseFields<Fields<"uid">>(metadata).uid !== undefined) return pod;
  const { runtimeClassName } = looseFields<Fields<"runtimeClassName">>(spec);
  const limits = beside.filter((object) => object.kind === "LimitRange" && object.namespace === namespace);
  const classOf = (kind: string, name: unknown): LooseFields | undefined =>
    beside.find((object) => object.kind === kind && object.name === name)?.json;
  return {
    ...pod,
    spec: {
      ...withLimits(spec, limits),
      ...ofRuntimeClass(spec, classOf("RuntimeClass", runtimeClassName)),
      ...ofPriority(spec, beside, classOf),
    },
  };
}

function withLimits(spec: LooseFields, ranges: readonly BesideObject[]): LooseFields {
  const items = ranges
    .flatMap(({ json }) => looseList<Fields<"type">>(limitsOf(json)))
    .filter(({ type }) => type === "Container");
  if (items.length === 0) return spec;
  const result: Record<string, unknown> = { ...spec };
  for (const list of ["containers", "initContainers"])
    if (isList(spec[list]))
      result[list] = spec[list].map((one) => items.reduce(withDefaults, looseFields(one)));
  return result;
}

function limitsOf(json: LooseFields): unknown {
  const { spec } = looseFields<Fields<"spec">>(json);
  return looseFields<Fields<"limits">>(spec).limits;
}

/** A LimitRange's derived defaults: limits from maxima, requests from limits and minima. */
function withDefaults(container: LooseFields, item: LooseFields): LooseFields {
  const resources = looseFields<Fields<"limits" | "requests">>(
    looseFields<Fields<"resources">>(container).resources,
  );
  const own = looseFields<Fields<"default" | "defaultRequest" | "max" | "min">>(item);
  const limits = { ...looseFields(own.max), ...looseFields(own.default) };
  const requests = { ...looseFields(own.min), ...limits, ...looseFields(own.defaultRequest) };
  return {
    ...container,
    resources: {
      ...resources,
      limits: { ...limits, ...looseFields(resources.limits) },
      requests: { ...requests, ...looseFields(resources.requests) },
    },
  };
}

function ofRuntimeClass(spec: LooseFields, runtime: LooseFields | undefined): LooseFields {
  if (runtime === undefined) return {};
  const { overhead, scheduling } = looseFields<Fields<"overhead" | "scheduling">>(runtime);
  const { podFixed } = looseFields<Fields<"podFixed">>(overhead);
  const added = looseFields<Fields<"nodeSelector" | "tolerations">>(scheduling);
  const own = looseFields<Fields<"nodeSelector" | "overhead" | "tolerations">>(spec);
  return {
    ...(own.overhead === undefined && podFixed !== undefined ? { overhead: podFixed } : {}),
    ...(isRecord(added.nodeSelector)
      ? { nodeSelector: { ...looseFields(own.nodeSelector), ...added.nodeSelector } }
      : {}),
    ...(isList(added.tolerations)
      ? { tolerations: [...(isList(own.tolerations) ? own.tolerations : []), ...added.tolerations] }
      : {}),
  };
}

function ofPriority(
  spec: LooseFields,
  beside: readonly BesideObject[],
  classOf: (kind: string, name: unknown) => LooseFields | undefined,
): LooseFields {
  const { priority, priorityClassName: name } = looseFields<Fields<"priority" | "priorityClassName">>(spec);
  if (priority !== undefined) return {};
  const found =
    typeof name === "string" && name !== ""
      ? (priorityOf(classOf("PriorityClass", name)) ?? SYSTEM_PRIORITIES[name])
      : priorityOf(beside.find(isDefaultPriority)?.json);
  return found === undefined ? {} : { priority: found };
}

function isDefaultPriority({ kind, json }: BesideObject): boolean {
  return kind === "PriorityClass" && looseFields<Fields<"globalDefault">>(json).globalDefault === true;
}

function priorityOf(priorityClass: LooseFields | undefined): unknown {
  return looseFields<Fields<"value">>(priorityClass).value;
}
