// Spreads replicas as kube-scheduler does by default, and never all on one node or in one zone.
import type {
  DomainConstraint,
  SpanConstraint,
  SpreadConstraint,
} from "../../planner/objective/plan-problem.ts";
import { records } from "../objects/json.ts";
import type { PlannedPod } from "./plan-input.ts";
import { matchesAll } from "../filters/pod-affinity.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { ZONE, type SpreadLimits } from "../objects/spread-limits.ts";

interface AvailabilityInput {
  readonly model: SchedulingModel;
  readonly planned: readonly PlannedPod[];
  readonly limits: SpreadLimits;
  /** Nodes that could host the pod if they were empty. The result is cached by identity. */
  readonly fits: (pod: PlannedPod) => Int32Array;
}

interface AvailabilityRules {
  readonly rules: readonly DomainConstraint[];
  readonly notes: readonly string[];
}

/** One rule set per controller with a planned replica. Placed replicas count, terminating ones don't. */
export function availabilityRules({ model, planned, limits, fits }: AvailabilityInput): AvailabilityRules {
  const rules: DomainConstraint[] = [];
  const notes: string[] = [];
  const scales = scalesOf(model, limits);
  for (const [key, pods] of byController(planned)) {
    const name = workloadLabel(key);
    const nodes = openNodes(model, pods, fits);
    const there = model.replicas.nodesOf(key);
    for (const scale of scales) {
      if (staysTogether(pods, scale, model)) {
        notes.push(`${name}: its podAffinity keeps its replicas together, so they don't span ${scale.what}`);
        continue;
      }
      rules.push(...spreadOf(name, pods, there, nodes, scale));
      const { rule, note } = spanOf(name, pods, there, nodes, scale);
      if (rule !== null) rules.push(rule);
      if (note !== null) notes.push(note);
    }
  }
  return { rules, notes };
}

interface Scale {
  readonly what: "nodes" | "zones";
  /** Domain of each node; -1: no zone. */
  readonly domainOf: Int32Array;
  readonly size: number;
  readonly maxSkew: number | null;
  readonly minDistinct: number;
}

interface SpreadDomains {
  /** Domain of each node; -1: it has no open node. */
  readonly domainOf: Int32Array;
  readonly size: number;
}

/** Keyed by all nodes' domains, then by the open nodes. Renumbers the domains of the latter. */
const SPREADS = new WeakMap<Int32Array, WeakMap<Int32Array, SpreadDomains>>();

function scalesOf(model: SchedulingModel, limits: SpreadLimits): Scale[] {
  const zones = model.topologies.of(ZONE);
  return [
    {
      what: "nodes",
      domainOf: model.topologies.each,
      size: model.nodes.length,
      maxSkew: limits.hostnameMaxSkew,
      minDistinct: limits.minNodes,
    },
    {
      what: "zones",
      domainOf: zones.domainOf,
      size: zones.values.length,
      maxSkew: limits.zoneMaxSkew,
      minDistinct: limits.minZones,
    },
  ];
}

/** Skips pods with their own topologySpreadConstraints, as kube-scheduler does. */
function spreadOf(
  name: string,
  pods: readonly PlannedPod[],
  there: readonly number[],
  nodes: Int32Array,
  scale: Scale,
): SpreadConstraint[] {
  const { what, maxSkew } = scale;
  const own = pods.some(({ pod }) => records(pod.spec.topologySpreadConstraints).length > 0);
  if (own || maxSkew === null || pods.length + there.length <= maxSkew) return [];
  const { domainOf, size } = spreadDomains(nodes, scale);
  const placed = new Int32Array(size);
  for (const node of there) if (domainOf[node]! >= 0) placed[domainOf[node]!]!++;
  const all = pods.map(({ index }) => index);
  return [
    {
      kind: "spread",
      name: `${name}: at most ${maxSkew} more replicas in one of its ${what} than in another`,
      domainOf,
      placed,
      subjects: all,
      members: all,
      maxSkew,
      minDomains: null,
    },
  ];
}

function spreadDomains(nodes: Int32Array, { domainOf, size }: Scale): SpreadDomains {
  let spreads = SPREADS.get(domainOf);
  if (spreads === undefined) SPREADS.set(domainOf, (spreads = new WeakMap<Int32Array, SpreadDomains>()));
  let spread = spreads.get(nodes);
  if (spread === undefined) {
    const ids = new Int32Array(size).fill(-1);
    let none = -1;
    let next = 0;
    for (const node of nodes) {
      const domain = domainOf[node]!;
      if (domain >= 0 && ids[domain]! < 0) ids[domain] = next++;
    }
    if (nodes.some((node) => domainOf[node]! < 0)) none = next++;
    spread = { domainOf: domainOf.map((domain) => (domain < 0 ? none : ids[domain]!)), size: next };
    spreads.set(nodes, spread);
  }
  return spread;
}

function spanOf(
  name: string,
  pods: readonly PlannedPod[],
  there: readonly number[],
  nodes: Int32Array,
  { what, domainOf, size, minDistinct }: Scale,
): { rule: SpanConstraint | null; note: string | null } {
  const wanted = Math.min(minDistinct, pods.length + there.length);
  if (wanted <= 1 || size === 0) return { rule: null, note: null };
  const taken = new Set(there.map((node) => domainOf[node]!).filter((domain) => domain >= 0));
  const domains = new Set(taken);
  for (const node of nodes) {
    if (domains.size >= wanted) break;
    if (domainOf[node]! >= 0) domains.add(domainOf[node]!);
  }
  const offered = Math.min(wanted, domains.size);
  const note =
    offered < wanted
      ? `${name}: its replicas span ${offered} instead of ${wanted} ${what}: no more are open to them`
      : null;
  if (offered <= 1 || taken.size >= offered) return { rule: null, note };
  const placed = new Int32Array(size);
  for (const node of there) if (domainOf[node]! >= 0) placed[domainOf[node]!]!++;
  const rule: SpanConstraint = {
    kind: "span",
    name: `${name}: at least ${offered} ${what}`,
    domainOf,
    placed,
    subjects: [],
    members: pods.map(({ index }) => index),
    minDistinct: offered,
  };
  return { rule, note };
}

function staysTogether(pods: readonly PlannedPod[], { domainOf }: Scale, model: SchedulingModel): boolean {
  return pods.some(({ pod }) => {
    if (!matchesAll(pod.affinity, pod.set)) return false;
    return pod.affinity.some(({ topologyKey }) => {
      const wider = model.topologies.of(topologyKey).domainOf;
      const first = new Map<number, number>();
      return model.nodes.every(({ index }) => {
        const [outer, inner] = [wider[index]!, domainOf[index]!];
        if (outer < 0 || inner < 0) return true;
        if (!first.has(outer)) first.set(outer, inner);
        return first.get(outer) === inner;
      });
    });
  });
}

function byController(planned: readonly PlannedPod[]): Map<string, PlannedPod[]> {
  const groups = new Map<string, PlannedPod[]>();
  for (const pod of planned) {
    const key = pod.pod.controller;
    if (key !== null && pod.template.unsupported.length === 0)
      groups.set(key, [...(groups.get(key) ?? []), pod]);
  }
  return groups;
}

function openNodes(
  model: SchedulingModel,
  pods: readonly PlannedPod[],
  fits: AvailabilityInput["fits"],
): Int32Array {
  const kinds = [...new Map(pods.map((pod) => [pod.template, pod])).values()];
  const fitting = [...new Set(kinds.map((pod) => fits(pod)))];
  if (fitting.length === 1) return fitting[0]!;
  const open = new Uint8Array(model.nodes.length);
  for (const nodes of fitting) for (const node of nodes) open[node] = 1;
  return Int32Array.from(open.keys().filter((node) => open[node] === 1));
}

function workloadLabel(controller: string): string {
  const [namespace, kind, name] = JSON.parse(controller) as [string, string, string];
  return `${kind} ${namespace}/${name}`;
}
