import { Draft, type Orchestrator } from "../orchestrator.ts";
import type { NodeState, SystemState } from "../system.ts";

const KEEP = 1.0001;
const LEAST_FLOW = 1e-6;

/**
 * GSP-SS (Farhadi et al., INFOCOM 2019), baseline of KaiS that knows the next frame's rates: places replicas
 * greedily by requests served.
 */
export function gspSs(): Orchestrator {
  return {
    name: "gsp-ss",
    decide({ state, upcoming }) {
      const goal = placement(state, upcoming());
      const draft = new Draft(state);
      for (const node of state.nodes) makeRoom(draft, state, node, goal);
      for (const node of state.nodes)
        for (const service of state.services.keys()) {
          const missing = goal(node, service) - node.ready[service]! - node.starting[service]!;
          for (let k = 0; k < missing; k++) draft.add(node, service, "next frame's rate");
        }
      return draft.changes;
    },
  };
}

type Goal = (node: NodeState, service: number) => number;

function placement({ nodes, services }: SystemState, rates: readonly number[]): Goal {
  const left = [...rates];
  const memory = nodes.map(({ memoryGb }) => memoryGb);
  const cores = nodes.map((node) => node.cores);
  const goal = nodes.map(() => new Int32Array(services.length));
  for (;;) {
    const found = { node: -1, service: -1, gain: LEAST_FLOW, flow: 0 };
    for (const node of nodes)
      for (const [service, { memoryGb, workSeconds, cores: wanted }] of services.entries()) {
        if (memory[node.index]! < memoryGb) continue;
        const byCpu = cores[node.index]! / wanted / workSeconds;
        const flow = Math.min(left[service]!, 1 / workSeconds, byCpu);
        const stands = node.ready[service]! + node.starting[service]! > goal[node.index]![service]!;
        const gain = stands ? flow * KEEP : flow;
        if (gain > found.gain) Object.assign(found, { node: node.index, service, gain, flow });
      }
    if (found.node < 0) return (node, service) => goal[node.index]![service]!;
    const { memoryGb, workSeconds, cores: wanted } = services[found.service]!;
    memory[found.node]! -= memoryGb;
    left[found.service]! -= found.flow;
    cores[found.node]! -= found.flow * workSeconds * wanted;
    goal[found.node]![found.service]!++;
  }
}

function makeRoom(draft: Draft, { services }: SystemState, node: NodeState, goal: Goal): void {
  const surplus = [...services.keys()].map(
    (service) => node.ready[service]! + node.starting[service]! - goal(node, service),
  );
  const needed = surplus.reduce(
    (sum, more, service) => sum + Math.max(0, -more) * services[service]!.memoryGb,
    0,
  );
  for (const [service, more] of surplus.entries())
    for (let k = 0; k < more && draft.freeGb(node) < needed; k++)
      if (!draft.remove(node, service, "not in the next frame's placement")) break;
}
