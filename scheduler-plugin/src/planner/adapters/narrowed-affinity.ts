// The affinity by which a gated pod is bound to a few nodes. While a pod is gated, the API server lets its
// required node affinity be set where there is none, and its terms be added to where there are some
// (Kubernetes KEP-3838): it may become narrower, never wider.
import { looseFields, looseList } from "@isochrone/kubernetes";
import type { Affinity, KubernetesObject, LooseFields, PodSpec } from "@isochrone/kubernetes";

/** A node that a pod may land on. */
export interface LandingNode {
  readonly name: string;
  /** Its label kubernetes.io/hostname; null where it has none. */
  readonly hostname: string | null;
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
/** As much as any preference can weigh. */
const WEIGHT = 100;

/** What is read of a term; the rest of it is kept as it is. */
interface Term {
  readonly matchExpressions: unknown;
  readonly matchFields: unknown;
}

/**
 * The pod's affinity, narrowed to the nodes, with a preference for the first of them. Null where its own
 * terms can't be narrowed to these nodes.
 */
export function narrowedAffinity(pod: KubernetesObject, nodes: readonly LandingNode[]): object | null {
  const own = ownAffinity(pod);
  const terms = narrowedTerms(looseFields<{ nodeSelectorTerms: unknown }>(own.node[REQUIRED]), nodes);
  if (terms === null || nodes[0] === undefined) return null;
  return withNode(own, { [REQUIRED]: { nodeSelectorTerms: terms }, ...preferring(own.node, nodes[0].name) });
}

/** The pod's affinity with a preference for the node, beside those that it has. */
export function preferringAffinity(pod: KubernetesObject, node: string): object {
  const own = ownAffinity(pod);
  return withNode(own, preferring(own.node, node));
}

function narrowedTerms(
  { nodeSelectorTerms }: { readonly nodeSelectorTerms?: unknown },
  nodes: readonly LandingNode[],
): object[] | null {
  const terms = looseList<Term>(nodeSelectorTerms);
  // A field names one node, so each gets a term. kube-scheduler looks at no other nodes then.
  if (nodeSelectorTerms === undefined) return nodes.map(({ name }) => ({ matchFields: [isNode(name)] }));
  const hostnames = nodes.flatMap(({ hostname }) => (hostname === null ? [] : [hostname]));
  // Without a term no node is allowed; an empty one allows none, and can't be changed.
  if (terms.length === 0 || terms.some(isEmpty)) return null;
  if (nodes.length === 1)
    return terms.map((term) => ({
      ...term,
      matchFields: [...looseList(term.matchFields), isNode(nodes[0]!.name)],
    }));
  // Terms are alternatives, and their number must stay: each is held to all of the nodes.
  if (new Set(hostnames).size < nodes.length) return null;
  const among = { key: "kubernetes.io/hostname", operator: "In", values: hostnames };
  return terms.map((term) => ({ ...term, matchExpressions: [...looseList(term.matchExpressions), among] }));
}

function isEmpty({ matchExpressions, matchFields }: Partial<Term>): boolean {
  return looseList(matchExpressions).length + looseList(matchFields).length === 0;
}

function preferring(node: LooseFields, name: string): Record<string, unknown> {
  const term = { weight: WEIGHT, preference: { matchFields: [isNode(name)] } };
  return { [PREFERRED]: [...looseList(node[PREFERRED]), term] };
}

function isNode(name: string): object {
  return { key: "metadata.name", operator: "In", values: [name] };
}

interface OwnAffinity {
  readonly all: LooseFields;
  readonly node: LooseFields;
}

function ownAffinity(pod: KubernetesObject): OwnAffinity {
  const all = looseFields<Affinity>(looseFields<PodSpec>(pod.spec).affinity);
  return { all, node: looseFields(all.nodeAffinity) };
}

function withNode({ all, node }: OwnAffinity, changed: Record<string, unknown>): object {
  return { ...all, nodeAffinity: { ...node, ...changed } };
}
