import type { FlowPlan } from "@isochrone/topology";
import { table } from "../output/table.ts";
import { megabits } from "./job-view.ts";

/** A flow with its way, put together from the plans of the nodes on it. */
interface FlowView {
  readonly id: string;
  readonly bitsPerSecond: number;
  /** Names of nodes in order, as far as their plans say. */
  readonly route: readonly string[];
}

/**
 * @param node only flows that this node sends, forwards or receives; null: all
 */
export function flowViews(plans: readonly FlowPlan[], node: string | null): FlowView[] {
  const byNode = new Map(plans.map((plan) => [plan.node, plan]));
  const views: FlowView[] = [];
  for (const { node: from, flows } of plans)
    for (const flow of flows) {
      if (flow.previous !== null) continue;
      const route = routeOf(flow.id, from, byNode);
      if (node === null || route.includes(node))
        views.push({ id: flow.id, bitsPerSecond: flow.bitsPerSecond, route });
    }
  return views.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function routeOf(id: string, from: string, plans: ReadonlyMap<string, FlowPlan>): string[] {
  const route: string[] = [];
  for (let node: string | null = from; node !== null && !route.includes(node);) {
    route.push(node);
    node = plans.get(node)?.flows.find((flow) => flow.id === id)?.next ?? null;
  }
  return route;
}

export function flowsText(flows: readonly FlowView[]): string {
  if (flows.length === 0) return "no flow is planned";
  return table(
    ["flow", "rate", "route"],
    flows.map(({ id, bitsPerSecond, route }) => [id, megabits(bitsPerSecond), route.join(" ")]),
  );
}
