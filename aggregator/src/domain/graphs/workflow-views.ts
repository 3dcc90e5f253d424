// Which workflows a channel is part of, and what each of them has of it.
import type { ChannelDemands, DeclaredChannel } from "@isochrone/topology";
import type { ChannelRates, FlowRates } from "../traffic/channels.ts";
import { fullName, type NamespacedName, type PodState } from "../cluster-state.ts";
import { ratesIn, type EndRates } from "./observed-channels.ts";

/** A workload with its pods, or one that is known by its traffic only. */
export interface Member extends NamespacedName {
  readonly kind: string;
  /** Null for workloads seen in traffic only: they belong where their peer belongs. */
  readonly workflow: NamespacedName | null;
  readonly pods: PodState[];
}

/** An ordered pair of workloads, observed, declared or both. */
export interface Edge {
  readonly source: Member;
  readonly target: Member;
  /** Null: nobody has seen it. */
  rates: EndRates | null;
  declared: DeclaredChannel | null;
  /** Null: none of its flows has a rate. */
  flow: FlowRates | null;
}

/** An edge as one workflow has it. */
export interface View {
  readonly workflow: NamespacedName;
  readonly edge: Edge;
  /** What this workflow's namespace believes of the traffic; null: nothing. */
  readonly rates: ChannelRates | null;
  /** What binds the pods of this workflow; null: nothing was declared that does. */
  readonly demands: ChannelDemands | null;
}

/**
 * A channel between two workflows is part of both, with its far end. What a namespace declares binds its own
 * pods: workflows of another one have the channel without demands, and only if there is traffic; or with
 * those that this other namespace agreed to.
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

/**
 * Pods of other workflows that one namespace may have in its graphs for channels that it declares and that
 * carry nothing.
 */
const MAX_FAR_PODS_PER_NAMESPACE = 50_000;

/**
 * Without a bound a thousand empty workflows that each declare a channel to a workload of a thousand pods
 * would be a million of them.
 */
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
