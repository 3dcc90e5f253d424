import type { FlowPlan, PlannedFlow } from "@isochrone/topology";
import type { ChannelKey } from "../domain/channel-key.ts";
import type { FlowFacts } from "../domain/ingest/bind-flow.ts";

interface Plans {
  /** Plans by node; null: none is known. */
  readonly known: ReadonlyMap<string, FlowPlan> | null;
}

export class PlannedFlows implements FlowFacts {
  readonly #plans: Plans;
  readonly #byNode = new WeakMap<FlowPlan, ReadonlyMap<string, PlannedFlow>>();

  constructor(plans: Plans) {
    this.#plans = plans;
  }

  channelOf(node: string, id: string): ChannelKey | "forwarded" | "unknown" {
    const plan = this.#plans.known?.get(node);
    const flow = plan === undefined ? undefined : this.#flowsOf(plan).get(id);
    if (flow?.channel === undefined) return "unknown";
    if (flow.previous !== null) return "forwarded";
    const { namespace } = flow.owner;
    const { source, target } = flow.channel;
    return { sourceNamespace: namespace, source, targetNamespace: namespace, target };
  }

  #flowsOf(plan: FlowPlan): ReadonlyMap<string, PlannedFlow> {
    let flows = this.#byNode.get(plan);
    if (flows === undefined)
      this.#byNode.set(plan, (flows = new Map(plan.flows.map((flow) => [flow.id, flow]))));
    return flows;
  }
}
