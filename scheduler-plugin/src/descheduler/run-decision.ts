// What one run decides, whatever the mode. Pure but for the turns that others get in between.
import { setImmediate } from "node:timers/promises";
import {
  createStrategy,
  decideInSteps,
  DEFAULT_PLAN_SETTINGS,
  NO_MEMORY,
  paperMoves,
  replacementOf,
} from "@isochrone/placement";
import type {
  ClusterCheck,
  DescheduleDecision,
  DescheduleMemory,
  Halt,
  MoveRules,
  PaperPod,
  SchedulingModel,
  SpreadLimits,
} from "@isochrone/placement";
import { keyOf } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraph, WorkflowGraph } from "@isochrone/topology";
import type { DeschedulerConfig } from "./settings.ts";
import type { Survey } from "./survey.ts";

export interface RunInput {
  readonly found: Survey;
  readonly cluster: ClusterGraph;
  readonly workflowGraph: (namespace: string, name: string) => WorkflowGraph | null;
  readonly memory: DescheduleMemory;
  readonly closed: Halt | null;
  readonly rules: MoveRules;
  readonly nowMs: number;
  readonly clock: Pick<Clock, "monotonic">;
}

/** kube-scheduler asks this process too: after so long others have their turn, milliseconds. */
const SLICE_MS = 10;

export async function runDecision(
  mode: DeschedulerConfig["mode"],
  input: RunInput,
): Promise<DescheduleDecision> {
  const { found, memory, closed, rules, nowMs, clock } = input;
  if (mode === "paper") return paperDecision(input);
  const { workflows, health, uids } = found;
  const cluster = new ModelCheck(found);
  const steps = decideInSteps({ nowMs, rules, workflows, health, memory, closed, uids, cluster });
  for (let beganMs = clock.monotonic(); ;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (clock.monotonic() - beganMs < SLICE_MS) continue;
    await setImmediate();
    beganMs = clock.monotonic();
  }
}

/** Rules of the planner's cost, and of where replicas may be, are the planner's own. */
export function moveRules({
  config,
  bytesPerRequest,
  maxCpuUse = DEFAULT_PLAN_SETTINGS.maxCpuUse,
  spread: { minNodes, minZones },
}: {
  readonly config: DeschedulerConfig;
  readonly bytesPerRequest: number;
  readonly maxCpuUse?: number | undefined;
  readonly spread: SpreadLimits;
}): MoveRules {
  const { minGainRatio, minGain, rounds, maxEvictions, maxEvictionsPerNode, maxEvictionsPerNamespace } =
    config;
  const { maxGroup, maxUnreadyRatio } = config;
  return {
    minGainRatio,
    minGain,
    rounds,
    maxEvictions,
    maxEvictionsPerNode,
    maxEvictionsPerNamespace,
    maxGroup,
    maxUnreadyRatio,
    bytesPerRequest,
    pressureShare: DEFAULT_PLAN_SETTINGS.pressureShare,
    maxCpuUse,
    minNodes,
    minZones,
  };
}

/** The cluster as kube-scheduler's filters see it. A pod that is moved holds its old place too, until it is gone. */
class ModelCheck implements ClusterCheck {
  readonly #model: SchedulingModel;
  readonly #pods: Survey["pods"];

  constructor({ model, pods }: Survey) {
    this.#model = model;
    this.#pods = pods;
  }

  verdict(...[{ uid }, node]: Parameters<ClusterCheck["verdict"]>): string | null {
    const { object } = this.#pods.get(uid)!;
    const putBack = this.#model.without([keyOf(object)]);
    try {
      const rejection = this.#model.verdict(replacementOf(object), node);
      return rejection === null ? null : `${rejection.plugin}: ${rejection.message}`;
    } finally {
      putBack();
    }
  }

  moved(...[{ uid }, node]: Parameters<ClusterCheck["moved"]>): void {
    const { object } = this.#pods.get(uid)!;
    const metadata = { ...object.metadata, name: `${object.metadata.name}.moved` };
    this.#model.place({ ...replacementOf(object), metadata }, node);
  }
}

/** Section 3.4 of seed 000: no margin, no rounds, no budgets but one pod per workload. */
function paperDecision({ found, cluster, workflowGraph, closed }: RunInput): DescheduleDecision {
  const check = new ModelCheck(found);
  const pods = [...found.pods.values()].map(({ movable, object, identity, workload, node }): PaperPod => {
    const graph = workflowGraph(identity.namespace, identity.workflow)!;
    const names = cluster.nodes.map(({ name }) => name);
    return {
      uid: movable.uid,
      owner: movable.owner,
      node,
      problem: {
        pod: { namespace: identity.namespace, name: object.metadata.name, workload },
        candidates: names.filter((name) => name === node || check.verdict(movable, name) === null),
        cluster: { graph: cluster, ageSeconds: 0 },
        workflow: { graph, ageSeconds: 0 },
      },
    };
  });
  const strategy = createStrategy({ strategy: "resource-network", mode: "raw" });
  const moves = paperMoves(pods, strategy).map(({ uid, from, to, score, best }) => {
    const { movable, identity } = found.pods.get(uid)!;
    const workflow = `${identity.namespace}/${identity.workflow}`;
    return { workflow, pod: movable, from, to, gain: best - score, cost: -score, together: [] };
  });
  const rows = moves.map(({ workflow, pod, from, to, gain, cost }) => ({
    workflow,
    namespace: pod.namespace,
    pod: pod.name,
    from,
    to,
    cost,
    gain,
    rounds: 1,
    decision: closed === null ? ("move" as const) : ("halted" as const),
    detail: "its score is higher there (Algorithm 1)",
  }));
  return { halt: closed, moves: closed === null ? moves : [], rows, memory: NO_MEMORY };
}
