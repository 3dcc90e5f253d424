import type { ChannelDemands, DeclaredChannel } from "@isochrone/topology";
import type { ChannelRates, FlowRates } from "../traffic/channels.ts";
import { fullName, type NamespacedName, type PodState } from "../cluster-state.ts";
import { ratesIn, type EndRates } from "./observed-channels.ts";

/** A workload with its pods, or one that is only known from traffic. */
export interface Member extends NamespacedName {
  readonly kind: string;
  /** Null: only seen in traffic; belongs to its peer's workflow. */
  readonly workflow: NamespacedName | null;
  readonly pods: PodState[];
}

export interface Edge {
  readonly source: Member;
  readonly target: Member;
  rates: EndRates | null;
  declared: DeclaredChannel | null;
  flow: FlowRates | null;
}

export interface View {
  readonly workflow: NamespacedName;
  readonly edge: Edge;
  /** Traffic as this workflow's namespace believes it; null: none. */
  readonly rates: ChannelRates | null;
  /** Demands that apply to this workflow's pods; null: none. */
  readonly demands: ChannelDemands | null;
}

/**
 * A channel between two workflows belongs to both. A declaration applies to its own namespace's pods. The
 * other workflow shows the channel without demands, and only with traffic, unless its namespace has agreed to
 * the demands.
 */
export function viewsOf(edge: Edge): View[] {
  const { source, target, declared } = edge;
  const home = source.workflow ?? { namespace: source.namespace, name: source.namespace };
  if (declared === null || source.namespace === target.namespace) {
    const own = source.workflow ?? target.workflow ?? home;
    const view = viewIn(own, edge, declared);
    const other = target.workflow ?? own;
    const views = isSame(other, own) ? [view] : [view, viewIn(other, edge, declared)];
    return views.filter(isShown);
  }
  const near = viewIn(home, edge, declared);
  if (target.workflow === null) return [near];
  return [near, viewIn(target.workflow, edge, declared.agreed ?? null)].filter(isShown);
}

function viewIn(workflow: NamespacedName, edge: Edge, demands: View["demands"]): View {
  return { workflow, edge, rates: ratesIn(edge.rates, workflow.namespace), demands };
}

function isSame(a: NamespacedName, b: NamespacedName): boolean {
  return a === b || (a.namespace === b.namespace && a.name === b.name);
}

function isShown({ rates, demands, edge }: View): boolean {
  return rates !== null || demands !== null || edge.flow !== null;
}

/** Pods of other workflows in a namespace's graphs for declared channels without traffic. */
const MAX_FAR_PODS_PER_NAMESPACE = 50_000;

/** Otherwise 1,000 empty workflows with a channel to 1,000 pods would add a million pods. */
export class FarPods {
  readonly #byNamespace = new Map<string, number>();

  admits({ workflow, edge, rates }: View, members: ReadonlyMap<string, Member> | undefined): boolean {
    if (rates !== null) return true;
    const { namespace } = workflow;
    const far = [edge.source, edge.target].filter(
      (member) => !isOf(member, workflow) && members?.has(fullName(member)) !== true,
    );
    const before = this.#byNamespace.get(namespace) ?? 0;
    const after = far.reduce((sum, { pods }) => sum + pods.length, before);
    if (after > before && after > MAX_FAR_PODS_PER_NAMESPACE) return false;
    this.#byNamespace.set(namespace, after);
    return true;
  }
}

function isOf(member: Member, workflow: NamespacedName): boolean {
  return member.workflow !== null && isSame(member.workflow, workflow);
}
