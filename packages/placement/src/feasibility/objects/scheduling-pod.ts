import { isList } from "@isochrone/primitives";
import type { Amounts } from "./amounts.ts";
import type { AffinityKind, AffinityTerm, Metadata, PodSpec, SpreadConstraint } from "./fields.ts";
import { hostPortsOf, type HostPort } from "./host-ports.ts";
import {
  integer,
  isTerminating,
  keyOf,
  labelsOf,
  namespaceOf,
  record,
  records,
  text,
  type ApiObject,
} from "./json.ts";
import {
  LabelSetTest,
  podTerm,
  type LabelSet,
  type LabelSets,
  type NamespaceLabels,
  type PodTerm,
} from "./label-sets.ts";
import { controllerKey } from "./owners.ts";
import { boundedSpec } from "./pod-limits.ts";
import { podRequests } from "./pod-requests.ts";
import { labelSelector, withLabels, type LabelSelector } from "./selectors.ts";

/** What the filters want to know of a pod. */
export interface SchedulingPod {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly set: LabelSet;
  readonly priority: number;
  readonly terminating: boolean;
  readonly spec: PodSpec;
  /** Of a pod on a node what it holds there, of others what they would. */
  readonly requests: Amounts;
  /** The same with kube-scheduler's defaults for containers that name no CPU or memory. */
  readonly scoredRequests: Amounts;
  readonly ports: readonly HostPort[];
  readonly affinity: readonly PodTerm[];
  readonly antiAffinity: readonly PodTerm[];
  /** Those that say DoNotSchedule. */
  readonly spread: readonly SpreadRule[];
  /** Names of its PersistentVolumeClaims. */
  readonly claims: readonly string[];
  /** What it is a replica of; null without a controller. */
  readonly controller: string | null;
  /** What is wrong with its rules; such a pod can't be judged. */
  readonly faults: readonly string[];
}

/** A topologySpreadConstraint. */
export interface SpreadRule {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Pods that it counts. */
  readonly test: LabelSetTest;
  /** It selects everything: kube-scheduler then counts no placed pod at all. */
  readonly countsNone: boolean;
  /** Nodes that the pod's nodeSelector and affinity leave out don't count. */
  readonly honorsAffinity: boolean;
  /** Nor do those whose taints it doesn't tolerate. */
  readonly honorsTaints: boolean;
}

const NONE: readonly never[] = Object.freeze([]);

/** What is known beside the pods. */
interface PodContext {
  readonly labelSets: LabelSets;
  readonly namespaceLabels: NamespaceLabels;
}

export function schedulingPod(pod: ApiObject, placed: boolean, context: PodContext): SchedulingPod {
  const { spec, faults: tooMany } = boundedSpec(record<PodSpec>(pod.spec));
  const namespace = namespaceOf(pod);
  const set = context.labelSets.of(namespace, labelsOf(pod));
  const faults: string[] = [...tooMany];
  const terms = (kind: "podAffinity" | "podAntiAffinity"): readonly PodTerm[] => {
    const required = records<AffinityTerm>(requiredAffinity(spec, kind));
    if (required.length === 0) return NONE;
    return valid(
      required.map((term) => podTerm(term, namespace, context.namespaceLabels)),
      kind,
      faults,
    );
  };
  const { requests, scored } = podRequests(pod, placed);
  return {
    key: keyOf(pod),
    uid: text(record<Metadata>(pod.metadata).uid),
    set,
    priority: integer(spec.priority, 0),
    terminating: isTerminating(pod),
    spec,
    requests,
    scoredRequests: scored,
    ports: hostPortsOf(spec),
    // Nobody asks a pod that is placed already what it wanted, but for whom it wants away.
    affinity: placed ? NONE : terms("podAffinity"),
    antiAffinity: terms("podAntiAffinity"),
    spread: placed
      ? NONE
      : valid(spreadRules(spec, set, "DoNotSchedule"), "topologySpreadConstraints", faults),
    claims: claimsOf(spec),
    controller: controllerKey(pod),
    faults,
  };
}

/** The rules that a node must keep; undefined without. */
export function requiredAffinity(spec: PodSpec, kind: AffinityKind): unknown {
  return record(record(spec.affinity)[kind]).requiredDuringSchedulingIgnoredDuringExecution;
}

/** Equal for pods that are one to kube-scheduler: either may take the other's node. */
export function templateKey(pod: SchedulingPod): string {
  const { spec } = pod;
  return JSON.stringify([
    pod.set.namespace,
    pod.set.labels,
    pod.priority,
    [...pod.requests],
    pod.ports,
    pod.claims,
    spec.nodeName,
    spec.nodeSelector,
    spec.tolerations,
    spec.topologySpreadConstraints,
    requiredAffinity(spec, "nodeAffinity"),
    requiredAffinity(spec, "podAffinity"),
    requiredAffinity(spec, "podAntiAffinity"),
  ]);
}

/**
 * As filterTopologySpreadConstraints: matchLabelKeys are added here as well. null: a selector isn't valid.
 */
export function spreadRules(
  spec: PodSpec,
  own: LabelSet,
  action: "DoNotSchedule" | "ScheduleAnyway",
): (SpreadRule | null)[] {
  return records(spec.topologySpreadConstraints)
    .filter((constraint) => constraint.whenUnsatisfiable === action)
    .map((constraint) => spreadRule(constraint, own));
}

function spreadRule(constraint: SpreadConstraint, own: LabelSet): SpreadRule | null {
  const selector = labelSelector(constraint.labelSelector);
  if (selector === null) return null;
  const keys = new Set<unknown>(isList(constraint.matchLabelKeys) ? constraint.matchLabelKeys : []);
  const same = Object.fromEntries(Object.entries(own.labels).filter(([key]) => keys.has(key)));
  return {
    topologyKey: text(constraint.topologyKey),
    maxSkew: integer(constraint.maxSkew, 1),
    minDomains: integer(constraint.minDomains, 1),
    ...countedPods(own.namespace, withLabels(selector, same)),
    honorsAffinity: constraint.nodeAffinityPolicy !== "Ignore",
    honorsTaints: constraint.nodeTaintsPolicy === "Honor",
  };
}

/** @param namespace of the pods that are counted */
export function countedPods(
  namespace: string,
  selector: LabelSelector,
): Pick<SpreadRule, "test" | "countsNone"> {
  return {
    test: new LabelSetTest((set) => set.namespace === namespace && selector.matches(set.labels)),
    countsNone: selector.matchesAll,
  };
}

function claimsOf(spec: PodSpec): readonly string[] {
  const claims = records(spec.volumes).flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [text(record(claim).claimName)],
  );
  return claims.length === 0 ? NONE : claims;
}

function valid<T>(items: readonly (T | null)[], where: string, faults: string[]): T[] {
  const good = items.filter((item) => item !== null);
  if (good.length < items.length) faults.push(`its ${where} has a selector that is not valid`);
  return good;
}
