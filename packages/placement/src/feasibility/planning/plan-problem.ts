import type { WorkflowGraph } from "@isochrone/topology";
import { definedOf } from "@isochrone/primitives";
import type { PlanNode, PlanPod } from "../../planner/objective/plan-problem.ts";
import type { Amounts } from "../objects/amounts.ts";
import { withAttachLimits } from "./attach-limits.ts";
import { availabilityRules } from "./availability.ts";
import { keyOf, record, type ApiObject } from "../objects/json.ts";
import { measuredUse } from "./measured-use.ts";
import type { JudgedTemplate } from "../filters/judged-template.ts";
import type { NodeState } from "../objects/node-state.ts";
import { workloadName } from "../objects/owners.ts";
import type { FeasiblePlanProblem, PlanInput, PlannedPod } from "./plan-input.ts";
import { PODS, vector } from "../objects/plan-nodes.ts";
import { matchesAll } from "../filters/pod-affinity.ts";
import { podRules } from "./pod-rules.ts";
import { replicaCpu } from "./replica-cpu.ts";
import type { SchedulingModel } from "../scheduling-model.ts";
import { DEFAULT_SPREAD } from "../objects/spread-limits.ts";

/**
 * kube-scheduler admits a plan that meets the constraints, in the order of {@link inQueueOrder}. Keeps
 * workloads off a single node or zone.
 */
export function planProblem(input: PlanInput): FeasiblePlanProblem {
  const { model, pods, going = [], replaced } = input;
  const running = pods.map((pod) => {
    const key = replaced?.get(pod);
    return key === undefined ? runningOn(model, keyOf(pod)) : successor(runningOn(model, key));
  });
  const putBack = model.without([...pods.map(keyOf), ...going]);
  try {
    return compile(input, running);
  } finally {
    putBack();
  }
}

interface Running {
  readonly node: NodeState;
  /** Amounts that it holds there. Null: it isn't there yet. */
  readonly requests: Amounts | null;
}

function successor(running: Running | null): Running | null {
  return running && { node: running.node, requests: null };
}

function runningOn(model: SchedulingModel, key: string): Running | null {
  const node = model.nodeOf(key);
  const pod = node?.pods.get(key);
  return node === undefined || pod === undefined ? null : { node, requests: pod.requests };
}

/** @param running by pod; removed from the model at this time */
function compile(input: PlanInput, running: readonly (Running | null)[]): FeasiblePlanProblem {
  const { model, cluster, workflow, assumed } = input;
  const planned = input.pods.map((raw, index): PlannedPod => {
    const asked = running[index] === null ? raw : unbound(raw);
    return { index, raw, pod: model.schedulingPod(asked), template: model.template(asked) };
  });
  const amounts = planned.map(({ pod, index }) => running[index]?.requests ?? pod.requests);
  const names = [...new Set([PODS, ...amounts.flatMap((demand) => [...demand.keys()])])].sort();
  const lowest = planned.reduce((least, { pod }) => Math.min(least, pod.priority), Infinity);
  const current = running.map((where) => where?.node ?? null);
  const { resources, demands, nodes } = withAttachLimits(model, planned, current, {
    resources: names,
    demands: amounts.map((demand) => vector(demand, 1, names)),
    nodes: model.planNodes.of(names, lowest),
  });
  for (const [index, where] of running.entries())
    if (where !== null) nodes[where.node.index] = lessFree(nodes[where.node.index]!, demands[index]!);

  const open = openNodes(planned);
  const kind = JSON.stringify(resources);
  const limits = { ...DEFAULT_SPREAD, ...input.spread };
  const { rules, notes } = availabilityRules({
    model,
    planned,
    limits,
    fits: ({ template, index }) => fittingNodes(open.get(template)!.nodes, nodes, demands[index]!, kind),
  });
  const workloadOf = input.workloadOf ?? ((pod) => knownWorkload(pod, workflow));
  const pods = planned.map(({ raw, pod, template, index }): PlanPod => {
    return {
      namespace: pod.set.namespace,
      name: raw.metadata.name,
      workload: workloadOf(raw),
      demand: demands[index]!,
      allowed: open.get(template)!.areAll ? null : open.get(template)!.nodes,
      current: running[index]?.node.index ?? -1,
    };
  });
  const use = measuredUse(model.nodes, pods, resources, { cluster, workflow });
  const byWorkload = new Map(planned.map(({ pod, index }) => [pods[index]!.workload ?? "", pod]));
  return {
    nodes,
    nodeNames: model.planNodes.names,
    pods,
    resources,
    constraints: [...podRules(model, planned), ...rules],
    availability: rules,
    notes: [...planned.flatMap(unplannable), ...notes],
    cluster,
    workflow,
    replicaCpu: replicaCpu(workflow, model, byWorkload),
    ...definedOf({ assumed, use, prices: input.prices }),
  };
}

function unbound(pod: ApiObject): ApiObject {
  const { nodeName: _, ...spec } = record(pod.spec);
  return { ...pod, spec };
}

interface OpenNodes {
  /** 1 for each open node, ignoring resources and other planned pods. */
  readonly nodes: Uint8Array;
  readonly areAll: boolean;
}

function openNodes(planned: readonly PlannedPod[]): Map<JudgedTemplate, OpenNodes> {
  const open = new Map<JudgedTemplate, OpenNodes>();
  for (const { pod, template } of planned) {
    if (open.has(template)) continue;
    const joinable = planned.some((other) => matchesAll(pod.affinity, other.pod.set));
    const nodes = template.openNodes(pod, joinable);
    open.set(template, { nodes, areAll: !nodes.includes(0) });
  }
  return open;
}

/** Shared by equal pods, keyed by open nodes: allocatable amounts don't change. */
const FITTING = new WeakMap<Uint8Array, Map<string, Int32Array>>();

function fittingNodes(
  open: Uint8Array,
  nodes: readonly PlanNode[],
  demand: Float64Array,
  kind: string,
): Int32Array {
  let byDemand = FITTING.get(open);
  if (byDemand === undefined) FITTING.set(open, (byDemand = new Map<string, Int32Array>()));
  const key = `${demand.join()} ${kind}`;
  let fitting = byDemand.get(key);
  if (fitting === undefined) {
    const found: number[] = [];
    for (let node = 0; node < open.length; node++)
      if (open[node] === 1 && isWithin(demand, nodes[node]!.allocatable)) found.push(node);
    fitting = Int32Array.from(found);
    byDemand.set(key, fitting);
  }
  return fitting;
}

/** Copies: nodes are cached across problems. */
function lessFree(node: PlanNode, amounts: Float64Array): PlanNode {
  return { ...node, free: node.free.map((amount, index) => amount - amounts[index]!) };
}

function isWithin(demand: Float64Array, most: Float64Array): boolean {
  for (let index = 0; index < demand.length; index++)
    if (demand[index]! > 0 && demand[index]! > most[index]!) return false;
  return true;
}

function knownWorkload(pod: ApiObject, workflow: WorkflowGraph): string | null {
  const name = workloadName(pod);
  return workflow.workload(name) === undefined ? null : name;
}

function unplannable({ pod, template }: PlannedPod): string[] {
  return template.unsupported.length === 0
    ? []
    : [`pod ${pod.key} can't be planned: ${template.unsupported.join("; ")}`];
}
