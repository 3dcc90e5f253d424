// Plans for the pods of a workflow that is new, made from the templates of its workloads before their
// controllers have made the pods. At its admission a pod gets one of its workload's places.
import { planProblem, quickEffort } from "@isochrone/placement";
import type { FeasiblePlanProblem } from "@isochrone/placement";
import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ZoneWishes } from "../../dispatch/replicas/zone-wishes.ts";
import type { Ledger } from "../../domain/ledger.ts";
import type { GraphSource } from "../../ports/ports.ts";
import type { PlanSearch } from "../adapters/plan-search.ts";
import type { UpcomingWorkloads } from "../adapters/upcoming-workloads.ts";
import type { ClusterModel } from "../cluster-model.ts";
import { searchPlan } from "../domain/search.ts";
import type { SearchOptions, SearchResult } from "../domain/search.ts";
import type { GatedPod, GatedWorkflows } from "../gated-workflows.ts";
import { usableGraphs } from "../graphs.ts";
import type { UsableGraphs } from "../graphs.ts";
import { candidatesOf, planSentences, podSentences, rememberedSentences } from "../plan-words.ts";
import { workloadOf } from "../planning.ts";
import type { PlannerConfig } from "../settings.ts";
import { leavingOf } from "../room-to-come.ts";
import { costOf } from "../objective.ts";
import { spreadLimits } from "../spread.ts";
import type { SinglePlan } from "./single-plan.ts";
import { standingIn } from "./standing.ts";

interface JointPlansOptions {
  readonly config: PlannerConfig;
  readonly bytesPerRequest: number;
  readonly graphs: GraphSource;
  readonly model: ClusterModel;
  readonly ledger: Ledger;
  readonly wishes: Pick<ZoneWishes, "zoneFor">;
  readonly upcoming: Pick<UpcomingWorkloads, "of" | "onChange">;
  readonly gated: Pick<GatedWorkflows, "of">;
  /** Whether the pod's namespace or its own label asks for a plan. */
  readonly isAsking: (pod: GatedPod) => boolean;
  readonly search: Pick<PlanSearch, "runPatiently">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Places of pods that are not there yet, each for one of them. */
interface JointPlan {
  readonly places: Set<SinglePlan>;
  readonly madeMs: number;
}

/** Controllers make their pods within milliseconds; what is older was planned for another cluster. */
const KEPT_MS = 10_000;
/** Workloads of one workflow come one after the other. */
const SETTLE_MS = 5;
/** A plan that nobody waits for yet. */
const AHEAD_MS = 100;
/** A plan that the API server waits for: its time, and how many pairs of a pod and a node it has at most. */
const NOW_MS = 10;
const NOW_PAIRS = 2_000;
const MAX_ALTERNATIVES = 4;
const NO_MOVES = { redeemed: new Map<string, never>(), refused: new Map<string, never>() };

export class JointPlans {
  readonly #options: JointPlansOptions;
  /** By workflow. */
  readonly #plans = new Map<string, JointPlan>();
  readonly #due = new Set<string>();
  readonly #stop = new AbortController();
  #planning: Promise<void> | null = null;

  constructor(options: JointPlansOptions) {
    this.#options = options;
    options.upcoming.onChange((workflow) => {
      this.#plans.delete(workflow);
      this.#due.add(workflow);
      this.#planning ??= this.#planDue().finally(() => {
        this.#planning = null;
      });
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#planning;
  }

  /** A place that was planned for a pod of its workload, and that would take it; null: there is none. */
  placeFor(pod: GatedPod, { workflow }: UsableGraphs): SinglePlan | null {
    const { clock, model, wishes } = this.#options;
    const plan = this.#plans.get(workflowOf(pod));
    if (plan === undefined || wishes.zoneFor(pod.object) !== null) return null;
    if (clock.monotonic() - plan.madeMs > KEPT_MS) return null;
    const workload = workloadOf(pod, workflow);
    for (const place of plan.places)
      if (place.workload === workload && model.model.verdict(pod.object, place.node) === null) return place;
    return null;
  }

  /** The place has its pod now. */
  take(place: SinglePlan): void {
    this.#plans.get(workflowOf(place.pod))?.places.delete(place);
  }

  /** Plans now what a pod belongs to that is asked about, where there is time for it. */
  planFor(pod: GatedPod, graphs: UsableGraphs): void {
    const { model, clock } = this.#options;
    const workload = workloadOf(pod, graphs.workflow);
    if (workload === null) return;
    const pods = this.#togetherWith([workload], workflowOf(pod), graphs);
    if (pods.length === 0 || pods.length * model.model.nodes.length > NOW_PAIRS) return;
    const problem = this.#problem(pods, graphs);
    const options = { ...this.#search(problem, NOW_MS), now: () => clock.monotonic() };
    this.#keep(workflowOf(pod), pods, graphs, problem, searchPlan(problem, options));
  }

  async #planDue(): Promise<void> {
    const { clock, logger } = this.#options;
    await pause(clock, SETTLE_MS, this.#stop.signal);
    for (const key of this.#due) {
      if (this.#stop.signal.aborted) return;
      this.#due.delete(key);
      // Whoever is asked about waits at the gate then.
      await this.#planAhead(key).catch((error: unknown) =>
        logger.warnOnce("planner:ahead", "a workflow can't be planned before its pods are there", {
          workflow: key,
          error,
        }),
      );
    }
  }

  async #planAhead(key: string): Promise<void> {
    const { upcoming, isAsking, graphs, clock, model, search } = this.#options;
    const [first] = upcoming.of(key).flat();
    if (first === undefined || !isAsking(first) || !model.isSynced) return;
    const { namespace, workflow: name } = first.identity;
    const found = usableGraphs(graphs, { namespace, name }, clock.now());
    if ("reason" in found) return;
    const names = upcoming.of(key).flatMap(([pod]) => workloadOf(pod!, found.workflow) ?? []);
    const pods = this.#togetherWith(names, key, found);
    if (pods.length === 0) return;
    const problem = this.#problem(pods, found);
    const snapshot = problem.cluster === graphs.cluster() ? (graphs.clusterSnapshot?.() ?? null) : null;
    const result = await search.runPatiently(problem, snapshot, this.#search(problem, AHEAD_MS));
    // Somebody may have been asked meanwhile, or the workloads may have changed.
    if (!this.#plans.has(key) && !this.#due.has(key)) this.#keep(key, pods, found, problem, result);
  }

  /**
   * Pods of these workloads and of all that they exchange anything with, as far as they are to come or wait;
   * none where one of them isn't known of yet, where they are too many, or where others of the workflow are
   * about to leave their room.
   */
  #togetherWith(workloads: readonly string[], key: string, { workflow }: UsableGraphs): GatedPod[] {
    const { upcoming, gated, model, ledger, config } = this.#options;
    if (leavingOf(key, model).length > 0) return [];
    const isStanding = standingIn(workflow, { model, ledger });
    const coming = Map.groupBy(upcoming.of(key).flat(), (pod) => workloadOf(pod, workflow));
    // Of a workload that has pods already those count.
    for (const [name, pods] of Map.groupBy(gated.of(key), (pod) => workloadOf(pod, workflow)))
      coming.set(name, pods);
    const pods: GatedPod[] = [];
    const seen = new Set<string>();
    const open = [...workloads];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (seen.has(name) || isStanding(name)) continue;
      seen.add(name);
      const of = coming.get(name);
      if (of === undefined) return [];
      pods.push(...of);
      open.push(...workflow.peersOf(name));
    }
    return pods.length > config.maxPods ? [] : pods;
  }

  #problem(pods: readonly GatedPod[], { cluster, workflow, prices }: UsableGraphs): FeasiblePlanProblem {
    const { model, ledger, config } = this.#options;
    const nameOf = new Map<object, string | null>(pods.map((pod) => [pod.object, workloadOf(pod, workflow)]));
    return planProblem({
      model: model.model,
      pods: pods.map(({ object }) => object),
      cluster,
      workflow,
      prices,
      assumed: ledger.assumed(workflow.namespace, workflow.name),
      workloadOf: (pod) => nameOf.get(pod) ?? null,
      spread: spreadLimits(config),
    });
  }

  /** Pods come within milliseconds: such a plan is a quick one. */
  #search(problem: FeasiblePlanProblem, budgetMs: number): Omit<SearchOptions, "isCut" | "now"> {
    const { config, bytesPerRequest } = this.#options;
    return {
      seed: config.seed,
      ...costOf(config),
      budgetMs,
      effort: quickEffort(problem),
      bytesPerRequest,
      maxAlternatives: MAX_ALTERNATIVES,
    };
  }

  #keep(
    key: string,
    pods: readonly GatedPod[],
    graphs: UsableGraphs,
    problem: FeasiblePlanProblem,
    result: SearchResult,
  ): void {
    const { clock, gated } = this.#options;
    if (result.traffic === "none") return;
    const waiting = new Set(gated.of(key));
    const ofPlan = [...planSentences({ key }, result), ...rememberedSentences(graphs), ...problem.notes];
    const places = pods.flatMap((pod, index): SinglePlan[] => {
      const at = result.assignment[index]!;
      if (at < 0 || waiting.has(pod)) return [];
      const node = problem.nodes[at]!.name;
      const candidates = candidatesOf(problem, result, index, node);
      const sentences = [...podSentences(node, candidates, NO_MOVES, pod.key, pods.length), ...ofPlan];
      const others = (result.alternatives[index] ?? []).map((each) => problem.nodes[each.node]!.name);
      return [
        { pod, workload: problem.pods[index]!.workload, node, candidates, sentences, others, zone: null },
      ];
    });
    this.#plans.set(key, { places: new Set(places), madeMs: clock.monotonic() });
  }
}

function workflowOf({ identity }: GatedPod): string {
  return `${identity.namespace}/${identity.workflow}`;
}
