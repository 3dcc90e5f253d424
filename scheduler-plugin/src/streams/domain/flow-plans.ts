// Flow plans per node: the flows that it sends, forwards or receives.
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { fairLevel } from "@isochrone/primitives/algorithms";
import { FLOW_PLAN_BOUNDS, type FlowPlan, type PlannedFlow } from "@isochrone/topology";
import { inTurns } from "./turns.ts";

export interface AddressedFlow extends Pick<PlannedFlow, "channel" | "id" | "owner" | "source" | "target"> {
  readonly route: readonly string[];
  readonly bitsPerSecond: number;
  /** Whether packets take this path without a rule. @default only for a direct hop */
  readonly isKernels?: boolean;
}

interface PlanSurroundings {
  readonly nodes: readonly string[];
  readonly addressOf: (node: string) => string | null;
  /** Bit/s to the next node; null if unknown. */
  readonly capacityOf: (source: string, target: string) => number | null;
}

type Content = Pick<FlowPlan, "flows" | "neighbours">;

interface FlowContents {
  readonly byNode: ReadonlyMap<string, Content>;
  readonly withoutPlace: readonly AddressedFlow[];
}

/**
 * Builds plans by node. Namespaces share a node's places max-min fairly. A flow over a node without an
 * address or place is in no plan: its packets are routed normally.
 */
export function contentsOf(flows: readonly AddressedFlow[], around: PlanSurroundings): FlowContents {
  const drafts = new Map(
    around.nodes.map((node): [string, Draft] => [
      node,
      { flows: [], neighbours: new Map(), demands: new Map(), level: 0, taken: new Map() },
    ]),
  );
  const wanted = distinct(flows).filter(
    ({ bitsPerSecond, route }) => bitsPerSecond > 0 && route.length > 1 && isReachable(route, drafts, around),
  );
  for (const { route, owner } of wanted)
    for (const node of route) count(drafts.get(node)!.demands, owner.namespace);
  for (const draft of drafts.values())
    draft.level = Math.floor(fairLevel(draft.demands.values(), FLOW_PLAN_BOUNDS.flowsOfNode));
  // Places for neighbours are limited too.
  const withoutPlace = inTurns(wanted, ({ owner }) => owner.namespace).filter(
    (flow) => !addFlow(flow, drafts, around),
  );
  return {
    byNode: new Map(
      [...drafts].map(([node, draft]) => [
        node,
        {
          flows: draft.flows.sort((a, b) => (a.id < b.id ? -1 : 1)),
          neighbours: [...draft.neighbours.values()].sort((a, b) => (a.node < b.node ? -1 : 1)),
        },
      ]),
    ),
    withoutPlace,
  };
}

interface Draft {
  readonly flows: PlannedFlow[];
  readonly neighbours: Map<string, FlowPlan["neighbours"][number]>;
  readonly demands: Map<string, number>;
  level: number;
  readonly taken: Map<string, number>;
}

function count(counts: Map<string, number>, namespace: string): void {
  counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
}

function distinct(flows: readonly AddressedFlow[]): AddressedFlow[] {
  const byPackets = new Map<string, AddressedFlow>();
  for (const flow of flows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const { source, target, bitsPerSecond } = flow;
    const family = isIP(source.address);
    if (family === 0 || family !== isIP(target.address) || source.node === target.node) continue;
    const key = [source.address, source.port, target.address, target.port].join(" ");
    const first = byPackets.get(key);
    byPackets.set(
      key,
      first === undefined
        ? flow
        : {
            ...first,
            bitsPerSecond: Math.min(first.bitsPerSecond + bitsPerSecond, Number.MAX_SAFE_INTEGER),
          },
    );
  }
  // A StreamJob's tasks may have the names of an AppGroup's pods.
  const ids = new Set<string>();
  return [...byPackets.values()].map((flow) => {
    let { id } = flow;
    while (ids.has(id)) id += "+";
    ids.add(id);
    return id === flow.id ? flow : { ...flow, id };
  });
}

function isReachable(
  route: readonly string[],
  drafts: ReadonlyMap<string, Draft>,
  around: PlanSurroundings,
): boolean {
  return route.every((node) => drafts.has(node) && around.addressOf(node) !== null);
}

function addFlow(flow: AddressedFlow, drafts: ReadonlyMap<string, Draft>, around: PlanSurroundings): boolean {
  const { route, bitsPerSecond, isKernels = route.length === 2, ...known } = flow;
  const { namespace } = flow.owner;
  const hops = route.map((node, at) => ({
    node,
    draft: drafts.get(node)!,
    next: route[at + 1] ?? null,
    previous: route[at - 1] ?? null,
  }));
  const canHold = hops.every(({ draft, next, previous }) => {
    if ((draft.taken.get(namespace) ?? 0) >= draft.level) return false;
    const missing = [next, previous].filter((each) => each !== null && !draft.neighbours.has(each));
    return draft.neighbours.size + missing.length <= FLOW_PLAN_BOUNDS.neighboursOfNode;
  });
  if (!canHold) return false;
  for (const { node, draft, next, previous } of hops) {
    count(draft.taken, namespace);
    draft.flows.push({
      ...known,
      protocol: "tcp",
      next,
      previous,
      routed: !isKernels,
      bitsPerSecond,
    });
    for (const neighbour of [next, previous])
      if (neighbour !== null)
        draft.neighbours.set(neighbour, {
          node: neighbour,
          address: around.addressOf(neighbour)!,
          capacityBitsPerSecond: around.capacityOf(node, neighbour),
        });
  }
  return true;
}

const VERSION_CHARACTERS = 32;

/** The plans of one leadership term, and which of them nodes have applied. */
export class FlowPlans {
  readonly epoch: string;
  readonly #plans = new Map<string, FlowPlan>();
  readonly #applied = new Map<string, number>();
  #generation = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  get generation(): number {
    return this.#generation;
  }

  all(): readonly FlowPlan[] {
    return [...this.#plans.values()];
  }

  /** Returns whether any plan changed. Unnamed nodes lose their plans. */
  publish(contents: ReadonlyMap<string, Content>): boolean {
    const generation = this.#generation + 1;
    let isChanged = false;
    for (const node of this.#plans.keys())
      if (!contents.has(node)) {
        this.#plans.delete(node);
        isChanged = true;
      }
    for (const [node, content] of contents) {
      const before = this.#plans.get(node);
      if (before !== undefined && JSON.stringify(contentOf(before)) === JSON.stringify(contentOf(content)))
        continue;
      this.#plans.set(node, this.#plan(node, generation, content));
      isChanged = true;
    }
    if (isChanged) this.#generation = generation;
    return isChanged;
  }

  confirm(node: string, epoch: string, generation: number): void {
    if (epoch === this.epoch && generation <= this.#generation)
      this.#applied.set(node, Math.max(generation, this.#applied.get(node) ?? 0));
  }

  areApplied(nodes: Iterable<string>): boolean {
    for (const node of nodes) {
      const plan = this.#plans.get(node);
      if (plan === undefined || (this.#applied.get(node) ?? -1) < plan.generation) return false;
    }
    return true;
  }

  #plan(node: string, generation: number, content: Content): FlowPlan {
    const { epoch } = this;
    const plan = { node, epoch, generation, ...contentOf(content) };
    const version = createHash("sha256").update(JSON.stringify(plan)).digest("hex");
    return { version: version.slice(0, VERSION_CHARACTERS), ...plan };
  }
}

function contentOf({ neighbours, flows }: Content): Content {
  return { neighbours, flows };
}
