import type {
  ApartConstraint,
  DomainConstraint,
  SpreadConstraint,
  TogetherConstraint,
} from "../../planner/objective/plan-problem.ts";
import { ANY_IP, type HostPort } from "../objects/host-ports.ts";
import type { JudgedTemplate } from "../filters/judged-template.ts";
import type { PlannedPod } from "./plan-input.ts";
import { matchesAll } from "../filters/pod-affinity.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import type { DomainCounts, Topology } from "../filters/topologies.ts";
import type { SpreadCount } from "../filters/topology-spread.ts";

export function podRules(model: SchedulingModel, planned: readonly PlannedPod[]): DomainConstraint[] {
  const kinds = new Map<JudgedTemplate, PlannedPod[]>();
  for (const pod of planned) kinds.set(pod.template, [...(kinds.get(pod.template) ?? []), pod]);
  return [
    ...portRules(model, planned),
    ...[...kinds].flatMap(([template, pods]) => [
      ...apartRules(template, pods, planned),
      ...togetherRules(template, pods, planned),
      ...template.spread.counts.map((count) => spreadRule(count, pods, planned)),
    ]),
  ];
}

/** Pods that want one port exclude each other on the same address; on any address, all of them. */
function portRules(model: SchedulingModel, planned: readonly PlannedPod[]): ApartConstraint[] {
  const wanting = new Map<string, { readonly pod: number; readonly ip: string }[]>();
  for (const { pod, index } of planned)
    for (const port of pod.ports) append(wanting, nameOf(port), { pod: index, ip: port.ip });
  return [...wanting].flatMap(([name, pods]) => {
    const ips = new Set(pods.map(({ ip }) => ip).filter((ip) => ip !== ANY_IP));
    return [...(ips.size === 0 ? [ANY_IP] : ips)].flatMap((ip): ApartConstraint[] => {
      const sharing = [
        ...new Set(pods.filter((one) => one.ip === ip || one.ip === ANY_IP).map(({ pod }) => pod)),
      ];
      if (sharing.length < 2) return [];
      const nodes = model.nodes.length;
      return [
        {
          kind: "apart",
          name: `host port ${name} on ${ip}`,
          domainOf: Int32Array.from({ length: nodes }, (_, node) => node),
          placed: new Int32Array(nodes),
          subjects: sharing,
          members: sharing,
        },
      ];
    });
  });
}

function nameOf({ protocol, port }: HostPort): string {
  return `${protocol}/${port}`;
}

function apartRules(
  { affinity }: JudgedTemplate,
  pods: readonly PlannedPod[],
  planned: readonly PlannedPod[],
): ApartConstraint[] {
  return pods[0]!.pod.antiAffinity.flatMap(({ test, topologyKey }, term): ApartConstraint[] => {
    const members = planned.filter(({ pod }) => test.matches(pod.set)).map(({ index }) => index);
    const subjects = pods.map(({ index }) => index);
    if (members.length === 0 || (members.length === 1 && subjects.length === 1 && members[0] === subjects[0]))
      return [];
    return [
      {
        kind: "apart",
        name: `podAntiAffinity of ${namesOf(pods)} (${topologyKey})`,
        ...withLoners(affinity.apart[term]!),
        subjects,
        members,
      },
    ];
  });
}

function togetherRules(
  { affinity }: JudgedTemplate,
  pods: readonly PlannedPod[],
  planned: readonly PlannedPod[],
): TogetherConstraint[] {
  const terms = pods[0]!.pod.affinity;
  const members = planned.filter(({ pod }) => matchesAll(terms, pod.set)).map(({ index }) => index);
  if (members.length === 0) return [];
  return affinity.together.map(({ topology, counts }): TogetherConstraint => {
    return {
      kind: "together",
      name: `podAffinity of ${namesOf(pods)} (${topology.key})`,
      domainOf: topology.domainOf,
      placed: counts.slice(),
      subjects: pods.map(({ index }) => index),
      members,
    };
  });
}

/** Limited to domains that count for the minimum: the pod can't go to the others. */
function spreadRule(
  count: SpreadCount,
  pods: readonly PlannedPod[],
  planned: readonly PlannedPod[],
): SpreadConstraint {
  const { rule, topology, included } = count;
  const { domainOf, placed } = presentDomains(count);
  return {
    kind: "spread",
    name: `topologySpreadConstraints of ${namesOf(pods)} (${topology.key})`,
    domainOf: domainOf.map((domain, node) => (included[node] === 1 ? domain : -1)),
    placed,
    subjects: pods.map(({ index }) => index),
    members: rule.countsNone
      ? []
      : planned.filter(({ pod }) => rule.test.matches(pod.set)).map(({ index }) => index),
    maxSkew: rule.maxSkew,
    minDomains: rule.minDomains > 1 ? rule.minDomains : null,
  };
}

function presentDomains({ topology, present, counts }: SpreadCount): {
  domainOf: Int32Array;
  placed: Int32Array;
} {
  const ids = new Int32Array(present.length).fill(-1);
  let next = 0;
  for (let domain = 0; domain < present.length; domain++) if (present[domain] === 1) ids[domain] = next++;
  return {
    domainOf: topology.domainOf.map((domain) => (domain < 0 ? -1 : ids[domain]!)),
    placed: counts.filter((_, domain) => present[domain] === 1),
  };
}

/** Makes each node without the label a domain of its own. */
function withLoners({ topology, counts }: DomainCounts): { domainOf: Int32Array; placed: Int32Array } {
  const loners = lonersOf(topology);
  const placed = new Int32Array(counts.length + loners.length);
  placed.set(counts);
  const domainOf = topology.domainOf.slice();
  for (const [index, node] of loners.entries()) domainOf[node] = counts.length + index;
  return { domainOf, placed };
}

function lonersOf({ domainOf }: Topology): number[] {
  return [...domainOf.keys()].filter((node) => domainOf[node]! < 0);
}

function namesOf(pods: readonly PlannedPod[]): string {
  return pods.length === 1 ? pods[0]!.pod.key : `${pods[0]!.pod.key} and ${pods.length - 1} like it`;
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
