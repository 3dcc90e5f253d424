// The affinity by which a plan binds a gated pod to a few nodes, and the way back. While a pod is gated, the
// API server lets its required node affinity be set where there is none, and its terms be added to where
// there are some (Kubernetes KEP-3838): it may become narrower, never wider. It says where this pod is to
// land; the next pod of its controller doesn't have it.
import { isList, looseFields, looseList, type LooseFields, type Unchecked } from "@isochrone/primitives";
import type { Affinity, KubernetesObject, PodSpec } from "../kinds.ts";

/** Annotation of a pod that may land on these nodes alone, the planned one first; by commas. */
export const PLANNED_AMONG_ANNOTATION = "isochrone.dev/planned-among";

/** Longest such annotation that is read: three names of nodes. */
const MAX_PLANNED_CHARACTERS = 1_024;

/** A node that a pod may land on. */
export interface LandingNode {
  readonly name: string;
  /** Its label kubernetes.io/hostname; null where it has none. */
  readonly hostname: string | null;
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const HOSTNAME = "kubernetes.io/hostname";
/**
 * By place in the order of the nodes, at most three. kube-scheduler scores a node by its weight's share of
 * the greatest among the nodes that take the pod: whichever of them do, the first is far ahead of the next.
 */
const WEIGHTS = [100, 10, 1];

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** What is read of a term; the rest of it is kept as it is. */
interface Term {
  readonly matchExpressions: unknown;
  readonly matchFields: unknown;
}

/**
 * The pod's affinity, narrowed to the nodes, with preferences in their order. Null where its own terms can't
 * be narrowed to these nodes.
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

/** The pod's affinity with a preference for the node, beside those that it has. */
export function preferringAffinity(pod: KubernetesObject, node: string): object {
  const own = ownAffinity(pod.spec);
  return withNode(own, { ...own.node, [PREFERRED]: withPreferences(own.node, [node]) });
}

/** The pod as its controller made it: without the nodes that a plan bound it to. Shares what is the same. */
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
  // A field names one node, so each gets a term. kube-scheduler looks at no other nodes then.
  if (nodeSelectorTerms === undefined) return nodes.map(({ name }) => ({ matchFields: [nodeField(name)] }));
  const terms = looseList<Term>(nodeSelectorTerms);
  // Without a term no node is allowed; an empty one allows none, and can't be changed.
  if (terms.length === 0 || terms.some(isEmpty)) return null;
  // Terms are alternatives, and their number must stay: each is held to all of the nodes.
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

/** The plan's are the last ones; there may be one for the first node alone. */
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
