import type { Channel, FlowPlan, PlannedFlow, WorkflowGraphSnapshot } from "@isochrone/topology";
import { table } from "../output/table.ts";
import { megabits } from "./job-view.ts";

type ChannelFlow = NonNullable<Channel["flow"]>;

interface FlowView {
  readonly id: string;
  readonly bitsPerSecond: number;
  /** Null: not reported, or other flows share the workloads. */
  readonly achievedBitsPerSecond: number | null;
  readonly droppedPacketsPerSecond: number | null;
  readonly route: readonly string[];
}

/** @param graphs whose channels give achieved rates @param node sender, forwarder or receiver; null: all */
export function flowViews(
  plans: readonly FlowPlan[],
  graphs: readonly WorkflowGraphSnapshot[],
  node: string | null,
): FlowView[] {
  const byNode = new Map(plans.map((plan) => [plan.node, plan]));
  const sent = plans.flatMap(({ node: from, flows }) =>
    flows.filter(({ previous }) => previous === null).map((flow) => ({ from, flow })),
  );
  const achieved = achievedOf(
    sent.map(({ flow }) => flow),
    graphs,
  );
  const views: FlowView[] = [];
  for (const { from, flow } of sent) {
    const route = routeOf(flow.id, from, byNode);
    if (node !== null && !route.includes(node)) continue;
    const { achievedBitsPerSecond = null, droppedPacketsPerSecond = null } = achieved.get(flow) ?? {};
    const { id, bitsPerSecond } = flow;
    views.push({ id, bitsPerSecond, achievedBitsPerSecond, droppedPacketsPerSecond, route });
  }
  return views.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function achievedOf(
  flows: readonly PlannedFlow[],
  graphs: readonly WorkflowGraphSnapshot[],
): Map<PlannedFlow, ChannelFlow> {
  const byChannel = new Map<string, ChannelFlow>();
  for (const { namespace, channels } of graphs)
    for (const { source, target, flow } of channels)
      if (flow !== undefined) byChannel.set(JSON.stringify([namespace, source, target]), flow);
  const achieved = new Map<PlannedFlow, ChannelFlow>();
  const ofChannel = Map.groupBy(flows, ({ id, owner, channel }) =>
    channel === undefined ? id : JSON.stringify([owner.namespace, channel.source, channel.target]),
  );
  for (const [key, [flow, ...others]] of ofChannel) {
    const found = others.length === 0 ? byChannel.get(key) : undefined;
    if (found !== undefined) achieved.set(flow!, found);
  }
  return achieved;
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
    ["flow", "rate", "achieved", "dropped/s", "route"],
    flows.map(({ id, bitsPerSecond, achievedBitsPerSecond, droppedPacketsPerSecond, route }) => [
      id,
      megabits(bitsPerSecond),
      achievedBitsPerSecond === null ? null : megabits(achievedBitsPerSecond),
      droppedPacketsPerSecond,
      route.join(" "),
    ]),
  );
}
