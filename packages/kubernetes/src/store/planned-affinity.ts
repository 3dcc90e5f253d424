// KEP-3838 allows narrowing the required affinity of a gated pod, never widening. Applies to one pod, not to
// its controller's next one.
import { isList, looseFields, looseList, type LooseFields, type Unchecked } from "@isochrone/primitives";
import type { Affinity, KubernetesObject, PodSpec } from "../kinds.ts";

/** Annotation of a pod restricted to these nodes, the planned one first; separated by commas. */
export const PLANNED_AMONG_ANNOTATION = "isochrone.dev/planned-among";

const MAX_PLANNED_CHARACTERS = 1_024;

export interface LandingNode {
  readonly name: string;
  /** The node's label kubernetes.io/hostname. Null: none. */
  readonly hostname: string | null;
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const HOSTNAME = "kubernetes.io/hostname";
/**
 * Weights by rank, for at most three nodes. kube-scheduler scales by the greatest weight among feasible
 * nodes, so the first always leads clearly.
 */
const WEIGHTS = [100, 10, 1];

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

interface Term {
  readonly matchExpressions: unknown;
  readonly matchFields: unknown;
}

/**
 * The pod's affinity, narrowed to the nodes with ranked preferences. Null: its own terms can't be narrowed.
 */
export function narrowedAffinity(pod: KubernetesObject, nodes: readonly LandingNode[]): object | null {
  const own = ownAffinity(pod.spec);
  const terms = narrowedTerms(looseFields<{ nodeSelectorTerms: unknown }>(own.node[REQUIRED]), nodes);
  if (terms === null || nodes.length === 0) return null;
  return withNode(own, {
    ...own.node,
    [REQUIRED]: { nodeSelectorTerms: terms },
    [PREFERRED]: withPreferences(
      own.node,
      nodes.map(({ name }) => name),
    ),
  });
}

export function preferringAffinity(pod: KubernetesObject, node: string): object {
  const own = ownAffinity(pod.spec);
  return withNode(own, { ...own.node, [PREFERRED]: withPreferences(own.node, [node]) });
}

/** Restores the controller's original pod. Shares unchanged parts. */
export function withoutPlannedNodes<P extends { readonly metadata: object; readonly spec?: unknown }>(
  pod: P,
): P {
  const { annotations } = looseFields<{ annotations: unknown }>(pod.metadata);
  const planned = looseFields(annotations)[PLANNED_AMONG_ANNOTATION];
  if (typeof planned !== "string" || planned.length > MAX_PLANNED_CHARACTERS) return pod;
  const among = planned.split(",");
  const own = ownAffinity(pod.spec);
  const { [REQUIRED]: required, [PREFERRED]: preferred, ...rest } = own.node;
  const terms = looseList<Term>(looseFields<{ nodeSelectorTerms: unknown }>(required).nodeSelectorTerms);
  const isAllOurs =
    terms.length === among.length && terms.every((term, index) => isNodeTerm(term, among[index]!));
  const preferences = withoutPreferences(looseList(preferred), among);
  const affinity = withNode(own, {
    ...rest,
    ...(isAllOurs
      ? {}
      : { [REQUIRED]: { nodeSelectorTerms: terms.map((term) => withoutHostnames(term, among.length)) } }),
    ...(preferences.length === 0 ? {} : { [PREFERRED]: preferences }),
  });
  return { ...pod, spec: { ...looseFields(pod.spec), affinity } };
}

function narrowedTerms(
  { nodeSelectorTerms }: { readonly nodeSelectorTerms?: unknown },
  nodes: readonly LandingNode[],
): object[] | null {
  // matchFields names one node, so each node gets a term. kube-scheduler then filters only these.
  if (nodeSelectorTerms === undefined) return nodes.map(({ name }) => ({ matchFields: [nodeField(name)] }));
  const terms = looseList<Term>(nodeSelectorTerms);
  // No term, or an empty one, matches no node, and can't be changed.
  if (terms.length === 0 || terms.some(isEmpty)) return null;
  // The number of alternative terms must stay, so each is restricted to all nodes.
  const hostnames = nodes.flatMap(({ hostname }) => (hostname === null ? [] : [hostname]));
  if (new Set(hostnames).size < nodes.length) return null;
  const among: Requirement = { key: HOSTNAME, operator: "In", values: hostnames };
  return terms.map((term) => ({ ...term, matchExpressions: [...looseList(term.matchExpressions), among] }));
}

function isEmpty({ matchExpressions, matchFields }: Unchecked<Term>): boolean {
  return looseList(matchExpressions).length + looseList(matchFields).length === 0;
}

function isNodeTerm({ matchFields, matchExpressions }: Unchecked<Term>, node: string): boolean {
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

function withPreferences(node: LooseFields, names: readonly string[]): object[] {
  const preferences = names.slice(0, WEIGHTS.length).map((name, place) => {
    return { weight: WEIGHTS[place]!, preference: { matchFields: [nodeField(name)] } };
  });
  return [...looseList(node[PREFERRED]), ...preferences];
}

/** Removes the plan's preferences, which come last; there may be only the first. */
function withoutPreferences(all: readonly LooseFields[], among: readonly string[]): LooseFields[] {
  const left = [...all];
  for (const name of among.toReversed()) {
    const { preference } = looseFields<{ preference: unknown }>(left.at(-1));
    if (isNodeTerm(looseFields<Term>(preference), name)) left.pop();
  }
  return left;
}

function nodeField(name: string): Requirement {
  return { key: "metadata.name", operator: "In", values: [name] };
}

interface OwnAffinity {
  readonly all: LooseFields;
  readonly node: LooseFields;
}

function ownAffinity(spec: unknown): OwnAffinity {
  const all = looseFields<Affinity>(looseFields<PodSpec>(spec).affinity);
  return { all, node: looseFields(all.nodeAffinity) };
}

function withNode({ all }: OwnAffinity, nodeAffinity: object): object {
  return { ...all, nodeAffinity };
}
