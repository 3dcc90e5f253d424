// Contender with Isochrone's default installation: the joint planner for pending pods, kube-scheduler for
// pods without a plan, and the descheduler.
import {
  DEFAULT_PLAN_SETTINGS,
  decideMoves,
  EXACT_PAIRS,
  exactPlan,
  exclusionOf,
  inQueueOrder,
  NO_MEMORY,
  plan,
  quickEffort,
} from "@isochrone/placement";
import type { DescheduleInput, DescheduleMemory, MovablePod, PlanProblem } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Point } from "../scenario/model.ts";
import { deploymentObject } from "./api-objects.ts";
import type { PodObject } from "./api-objects.ts";
import { ModelCheck } from "./cluster-check.ts";
import type { ContenderDeps } from "./deps.ts";
import { NAMESPACE } from "./graphs.ts";
import { loadSolver } from "./highs.ts";
import { scheduleAll } from "./kube-scheduler/imitation.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { placedObjects, planningOfPlaced, planningOfWaiting, spreadLimits } from "./planning.ts";
import { requestOf } from "./pods.ts";
import type { Observation, Pace, Placement, PodMove } from "./port.ts";
import { SchedulingContender } from "./scheduling-contender.ts";
import type { SchedulingInput } from "./scheduling-contender.ts";

/** Minimum time of the service for a proof; with less it tries none. */
const EXACT_MS = 100;
/** Maximum wait for a larger move, in rounds. Later runs with equal figures decide nothing new. */
const PATIENCE = 2;

export class IsochroneContender extends SchedulingContender {
  readonly id = "isochrone";
  readonly by: string;
  readonly #deps: ContenderDeps;
  #memory: DescheduleMemory = NO_MEMORY;
  #nowMs = Date.parse("2026-02-01T00:00:00Z");
  /** Evictions by pod; each replaces the pod. */
  readonly #evictions = new Map<string, number>();

  constructor(deps: ContenderDeps) {
    super();
    this.#deps = deps;
    const { kubeScheduler } = deps;
    const scheduler =
      kubeScheduler === undefined
        ? "an imitation of kube-scheduler 1.35"
        : `kube-scheduler ${kubeScheduler.version}`;
    this.by = `planner and descheduler of Isochrone, and ${scheduler} for pods without a plan`;
  }

  protected async schedule({ point, before, request, random }: SchedulingInput): Promise<Placement> {
    const planned = await this.#plan(point, before, request);
    const rest = {
      nodes: request.nodes,
      pods: request.pods.filter(({ name }) => !planned.has(name)),
      placed: [
        ...request.placed,
        ...request.pods.flatMap((pod) =>
          planned.has(pod.name) ? [[pod, planned.get(pod.name)!] as const] : [],
        ),
      ],
    };
    return new Map([...planned, ...(await this.#byScheduler(rest, random))]);
  }

  /**
   * One round repeats descheduler runs until it moves something or is content. The runs use long-term
   * measurements and need the same worthwhile move in `rounds` runs. Under time pressure, a round is one run.
   */
  async adjust(
    point: Point,
    placement: Placement,
    observed: Observation,
    _random?: Random,
    pace: Pace = "until-content",
  ): Promise<readonly PodMove[]> {
    const runs = pace === "in-time" ? 1 : PATIENCE * this.#deps.product.descheduler.rounds;
    for (let run = 0; run < runs; run++) {
      this.#nowMs += this.#deps.product.descheduler.intervalMs;
      const input = this.#survey(point, placement, observed);
      const { moves, memory } = decideMoves(input);
      this.#memory = memory;
      if (moves.length === 0) continue;
      for (const { pod } of moves) this.#evictions.set(pod.name, (this.#evictions.get(pod.name) ?? 0) + 1);
      return moves.map(({ pod, from, to }) => ({ pod: pod.name, from, to }));
    }
    return [];
  }

  async #plan(point: Point, before: Observation | null, request: SchedulingRequest): Promise<Placement> {
    const { clock, product } = this.#deps;
    const { planMs, seed, exact, maxCpuUse, moneyShare = 0 } = product.planner;
    const uidOf = (pod: string): string => this.#uidOf(pod);
    const { model, pods, problem } = planningOfWaiting({
      point,
      before,
      request,
      spread: spreadLimits(product.planner, point.workflow),
      uidOf,
    });
    const now = (): number => clock.monotonic();
    // An effort limit ends the search, not time, so that plans don't depend on machine load.
    const found = plan(problem, {
      seed,
      now,
      deadlineMs: now() + planMs,
      effort: quickEffort(problem),
      partial: true,
      maxCpuUse,
      moneyShare,
    });
    // The service leaves pods of workflows without channels to kube-scheduler.
    if (found.traffic === "none") return new Map();
    const pairs = pods.length * problem.nodes.length;
    const isProvable =
      exact && moneyShare === 0 && planMs >= EXACT_MS && pairs <= EXACT_PAIRS && found.complete;
    const assignment =
      (isProvable && found.ended !== "optimal" ? await proven(problem, planMs, now) : null) ??
      found.assignment;
    const { steps } = inQueueOrder({ model, pods, assignment });
    return new Map(
      steps
        .filter(({ rejection }) => rejection === null)
        .map(({ pod, node }) => [pods[pod]!.metadata.name, problem.nodes[node]!.name]),
    );
  }

  async #byScheduler(request: SchedulingRequest, random: Random): Promise<Placement> {
    if (request.pods.length === 0) return new Map();
    return this.#deps.kubeScheduler?.schedule(request) ?? scheduleAll(request, random);
  }

  #survey(point: Point, placement: Placement, observed: Observation): DescheduleInput {
    const { planner, descheduler } = this.#deps.product;
    const spread = spreadLimits(planner, point.workflow);
    const { maxCpuUse, moneyShare = 0 } = planner;
    const rules = { ...descheduler, ...DEFAULT_PLAN_SETTINGS, ...spread, maxCpuUse, moneyShare };
    const request = requestOf(point, observed.cluster, placement);
    const uidOf = (pod: string): string => this.#uidOf(pod);
    const input = { point, before: observed, request, spread, uidOf };
    const { model, pods, problem } = planningOfPlaced(input, (pod) => this.#mayMove(point, pod, request));
    const objects = placedObjects(input);
    const movable = pods.map(({ metadata: { name, uid } }): MovablePod => {
      const owner = request.placed.find(([pod]) => pod.name === name)![0].workload;
      const replicas = request.placed.filter(([pod]) => pod.workload === owner);
      return { uid, namespace: NAMESPACE, name, owner, replicaNodes: replicas.map(([, node]) => node) };
    });
    return {
      nowMs: this.#nowMs,
      rules,
      workflows:
        movable.length === 0 ? [] : [{ key: `${NAMESPACE}/${point.workflow.name}`, problem, pods: movable }],
      health: {
        pods: request.placed.length + request.pods.length,
        unreadyPods: request.pods.length,
        nodes: request.nodes.length,
        unreadyNodes: 0,
      },
      memory: this.#memory,
      uids: new Set(objects.map(({ metadata }) => metadata.uid)),
      cluster: new ModelCheck(model, new Map(objects.map((pod) => [pod.metadata.uid, pod]))),
    };
  }

  /** Excludes what the service excludes, above all a workload's only replica unless its owner allows it. */
  #mayMove(point: Point, pod: PodObject, { placed }: SchedulingRequest): boolean {
    const { descheduler } = this.#deps.product;
    const owner = point.workflow.workloads.find(({ name }) => name === pod.metadata.labels["app"])!;
    const ready = placed.filter(([{ workload }]) => workload === owner.name).length;
    const deployment = deploymentObject(owner, ready);
    const context = {
      pod,
      controller: deployment,
      workload: deployment,
      replacementIsGated: true,
      claim: () => undefined,
      volume: () => undefined,
      moveInFlight: false,
      lastMove: null,
    };
    const allowSingleReplicas =
      descheduler.allowSingleReplicas || point.workflow.movesSingleReplicas === true;
    return (
      exclusionOf(context, { ...descheduler, minPodAgeMs: 0, allowSingleReplicas }, this.#nowMs) === null
    );
  }

  #uidOf(pod: string): string {
    return `${pod}.${this.#evictions.get(pod) ?? 0}`;
  }
}

/** Returns null if nothing is proven in time. The found plan is then used. */
async function proven(problem: PlanProblem, planMs: number, now: () => number): Promise<Int32Array | null> {
  const solve = await loadSolver();
  try {
    const proof = await exactPlan(problem, { solve, now, deadlineMs: now() + planMs });
    return proof.kind === "optimal" ? proof.assignment : null;
  } catch {
    return null;
  }
}
