// The affinity that a plan has left on a pod. It says where this pod was to land; the next pod of its
// controller doesn't have it.
import { isList, looseFields, looseList, type Unchecked } from "@isochrone/primitives";
import type { Affinity, PodSpec } from "../kinds.ts";

/** Annotation of a pod that may land on these nodes alone, the planned one first; by commas. */
export const PLANNED_AMONG_ANNOTATION = "isochrone.dev/planned-among";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const HOSTNAME = "kubernetes.io/hostname";

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

interface Term {
  readonly matchExpressions: unknown;
  readonly matchFields: unknown;
}

/** The pod as its controller made it: without the nodes that a plan bound it to. Shares what is the same. */
export function withoutPlannedNodes<P extends { readonly metadata: object; readonly spec?: unknown }>(
  pod: P,
): P {
  const { annotations } = looseFields<{ annotations: unknown }>(pod.metadata);
  const planned = looseFields(annotations)[PLANNED_AMONG_ANNOTATION];
  if (typeof planned !== "string") return pod;
  const among = planned.split(",");
  const affinity = looseFields<Affinity>(looseFields<PodSpec>(pod.spec).affinity);
  const { [REQUIRED]: required, [PREFERRED]: preferred, ...rest } = looseFields(affinity.nodeAffinity);
  const terms = looseList<Term>(looseFields<{ nodeSelectorTerms: unknown }>(required).nodeSelectorTerms);
  const isAllOurs =
    terms.length === among.length && terms.every((term, index) => isNode(term, among[index]!));
  const own = terms.map((term) => withoutHostnames(term, among.length));
  // The last one is the plan's.
  const preferences = looseList(preferred).slice(0, -1);
  const nodeAffinity = {
    ...rest,
    ...(isAllOurs ? {} : { [REQUIRED]: { nodeSelectorTerms: own } }),
    ...(preferences.length === 0 ? {} : { [PREFERRED]: preferences }),
  };
  return { ...pod, spec: { ...looseFields(pod.spec), affinity: { ...affinity, nodeAffinity } } };
}

function isNode({ matchFields, matchExpressions }: Unchecked<Term>, node: string): boolean {
  const [field, ...others] = looseList<Requirement>(matchFields);
  return (
    field?.key === "metadata.name" &&
    isList(field.values) &&
    field.values.join(",") === node &&
    others.length + looseList(matchExpressions).length === 0
  );
}

function withoutHostnames(term: Unchecked<Term>, count: number): object {
  const expressions = looseList<Requirement>(term.matchExpressions);
  const last = expressions.at(-1);
  const values = isList(last?.values) ? last.values : [];
  const isOurs = last?.key === HOSTNAME && last.operator === "In" && values.length === count;
  return isOurs ? { ...term, matchExpressions: expressions.slice(0, -1) } : term;
}
