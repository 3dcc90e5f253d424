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

export interface SchedulingPod {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly set: LabelSet;
  readonly priority: number;
  readonly terminating: boolean;
  readonly spec: PodSpec;
  readonly requests: Amounts;
  /** With kube-scheduler's defaults for containers without requests. */
  readonly scoredRequests: Amounts;
  readonly ports: readonly HostPort[];
  readonly affinity: readonly PodTerm[];
  readonly antiAffinity: readonly PodTerm[];
  readonly spread: readonly SpreadRule[];
  readonly claims: readonly string[];
  /** Controller of the pod. Null: none. */
  readonly controller: string | null;
  /** Invalid rules; such a pod can't be judged. */
  readonly faults: readonly string[];
}

export interface SpreadRule {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly test: LabelSetTest;
  /** Selects everything: kube-scheduler then counts no placed pod. */
  readonly countsNone: boolean;
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
}

const NONE: readonly never[] = Object.freeze([]);

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
    // Only the anti-affinity of a placed pod still matters.
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

export function requiredAffinity(spec: PodSpec, kind: AffinityKind): unknown {
  return record(record(spec.affinity)[kind]).requiredDuringSchedulingIgnoredDuringExecution;
}

/** Equal keys mean that pods may exchange nodes. */
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

/** As filterTopologySpreadConstraints, including matchLabelKeys. Null: an invalid selector. */
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

/** @param namespace of the counted pods */
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
