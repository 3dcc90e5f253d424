import { Draft, replicaCounts, type Orchestrator } from "../orchestrator.ts";
import type { NodeState, SystemState } from "../system.ts";

const TARGET = 0.7;
const TOLERANCE = 0.1;
/** Five minutes in frames of 25 s: the highest recommendation in this window applies. */
const STABILIZATION_FRAMES = 12;

/** "Native" of KaiS: HorizontalPodAutoscaler on utilization. New pods go where most memory is free. */
export function hpa(): Orchestrator {
  const wishes = new Map<number, number[]>();
  return {
    name: "hpa",
    decide({ state, utilizations }) {
      const draft = new Draft(state);
      for (const [service, have] of replicaCounts(state).entries()) {
        const ratio = utilizations[service]! / TARGET;
        const wish = Math.abs(ratio - 1) <= TOLERANCE ? have : Math.max(1, Math.ceil(have * ratio));
        const recent = [...(wishes.get(service) ?? []), wish].slice(-STABILIZATION_FRAMES);
        wishes.set(service, recent);
        const wanted = wish < have ? Math.min(have, Math.max(...recent)) : wish;
        const reason = `utilization ${utilizations[service]!.toFixed(2)}, target ${TARGET}`;
        scale(draft, state, service, wanted - have, reason);
      }
      return draft.changes;
    },
  };
}

function scale(draft: Draft, state: SystemState, service: number, difference: number, reason: string): void {
  for (let more = difference; more > 0; more--) {
    const node = emptiest(draft, state, service);
    if (node === null || !draft.add(node, service, reason)) return;
  }
  for (let less = difference; less < 0; less++) {
    const node = fullest(draft, state, service);
    if (node === null || !draft.remove(node, service, reason)) return;
  }
}

function emptiest(draft: Draft, { nodes }: SystemState, service: number): NodeState | null {
  return best(
    nodes.filter((node) => draft.hasRoom(node, service)),
    (node) => draft.freeGb(node) / node.memoryGb,
  );
}

function fullest(draft: Draft, { nodes }: SystemState, service: number): NodeState | null {
  return best(
    nodes.filter((node) => draft.removable(node, service) > 0),
    (node) => draft.replicas(node, service) - draft.freeGb(node) / 1e3,
  );
}

function best(nodes: readonly NodeState[], scoreOf: (node: NodeState) => number): NodeState | null {
  let found: NodeState | null = null;
  let most = Number.NEGATIVE_INFINITY;
  for (const node of nodes) {
    const score = scoreOf(node);
    if (score > most) [found, most] = [node, score];
  }
  return found;
}
