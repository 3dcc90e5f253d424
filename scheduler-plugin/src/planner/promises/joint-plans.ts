// Plans for pods not created yet, from workload templates: of new workflows and of rollouts. At admission a
// pod gets one of its workload's places.
import { createObjective, quickEffort } from "@isochrone/placement";
import type { AssumedPod, FeasiblePlanProblem } from "@isochrone/placement";
import type { PodSpec } from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ZoneWishes } from "../../dispatch/replicas/zone-wishes.ts";
import type { GraphSource } from "../../ports/ports.ts";
import type { PlanSearch } from "../adapters/plan-search.ts";
import type { UpcomingWorkloads } from "../adapters/upcoming-workloads.ts";
import { costSettings, searchPlan } from "../domain/search.ts";
import type { SearchOptions, SearchResult } from "../domain/search.ts";
import { workloadOf } from "../gated-workflows.ts";
import type { GatedPod } from "../gated-workflows.ts";
import { usableGraphs } from "../graphs.ts";
import type { UsableGraphs } from "../graphs.ts";
import { candidatesOf, planSentences, podSentences, rememberedSentences } from "../plan-words.ts";
import { leavingOf } from "../room-to-come.ts";
import { costOf } from "../objective.ts";
import type { SinglePlan } from "./single-plan.ts";
import { pressureShareOf, withoutGoing } from "../workflow-to-be.ts";
import { PodsTogether } from "./pods-together.ts";
import type { PodsTogetherOptions, Together } from "./pods-together.ts";
import { standingIn } from "./standing.ts";

interface JointPlansOptions extends PodsTogetherOptions {
  readonly bytesPerRequest: number;
  readonly graphs: GraphSource;
  readonly wishes: Pick<ZoneWishes, "zoneFor">;
  readonly upcoming: Pick<UpcomingWorkloads, "isFresh" | "of" | "onChange" | "running">;
  readonly isAsking: (pod: GatedPod) => boolean;
  readonly search: Pick<PlanSearch, "run" | "runPatiently">;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface JointPlan {
  readonly places: Set<SinglePlan>;
  /** Places of pods that replace others. */
  readonly replacing: Set<SinglePlan>;
  /** Number of replacing pods per workload, placed or not; the plan is valid while it holds. */
  readonly toCome: Map<string, number>;
  readonly cluster: UsableGraphs["cluster"];
  readonly madeMs: number;
}

interface PlanAhead {
  readonly assumed: readonly AssumedPod[];
  /** Planned node of each gated pod in the same plan, by key. */
  readonly nodes: ReadonlyMap<string, { readonly to: string }>;
}

/** Controllers create pods within milliseconds; later the cluster has changed. */
const KEPT_MS = 10_000;
/** Interval of comparing a rollout's plan with new graphs. */
const RENEWED_MS = 10_000;
/** A new plan replaces it if this share cheaper; less is noise. */
const BETTER_RATIO = 0.05;
const SETTLE_MS = 5;
const AHEAD_MS = 100;
const GATED_MS = 250;
/** Budget of a plan that the API server waits for; its most pairs of pod and node follow. */
const NOW_MS = 10;
const NOW_PAIRS = 2_000;
/** Bytes/s x ms. Tie-break: among equal nodes a pod gets its predecessor's. */
const TIE_COST = 1;
const MAX_ALTERNATIVES = 4;
const NO_MOVES = { redeemed: new Map<string, never>(), refused: new Map<string, never>() };
const NOTHING_AHEAD: PlanAhead = { assumed: [], nodes: new Map() };

export class JointPlans {
  readonly #options: JointPlansOptions;
  readonly #together: PodsTogether;
  readonly #plans = new Map<string, JointPlan>();
  readonly #due = new Set<string>();
  readonly #awaitingRoom = new Set<string>();
  readonly #stop = new AbortController();
  #planning: Promise<void> | null = null;

  constructor(options: JointPlansOptions) {
    this.#options = options;
    this.#together = new PodsTogether(options);
    options.upcoming.onChange((workflow) => {
      this.#plans.delete(workflow);
      this.#planLater(workflow);
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#planning;
  }

  placeFor(pod: GatedPod, graphs: UsableGraphs): SinglePlan | null {
    const { clock, model, wishes } = this.#options;
    const key = workflowOf(pod);
    const plan = this.#plans.get(key);
    if (plan === undefined || wishes.zoneFor(pod.object) !== null || !this.#isValid(key, plan, graphs))
      return null;
    const isOld = clock.monotonic() - plan.madeMs > RENEWED_MS && plan.cluster !== graphs.cluster;
    if (plan.replacing.size > 0 && isOld) this.#planLater(key);
    const workload = workloadOf(pod, graphs.workflow);
    for (const place of plan.places)
      if (place.workload === workload && model.model.verdict(pod.object, place.node) === null) return place;
    return null;
  }

  /** Uses up the place for its pod or, if a pod went elsewhere, drops one of its workload. */
  take(place: SinglePlan): void {
    const plan = this.#plans.get(workflowOf(place.pod));
    if (plan === undefined) return;
    plan.places.delete(place);
    const { workload } = place;
    const left = plan.toCome.get(workload ?? "");
    if (workload === null || left === undefined) return;
    if (left === 1) plan.toCome.delete(workload);
    else plan.toCome.set(workload, left - 1);
    if (plan.replacing.delete(place)) return;
    const other = [...plan.replacing].find((each) => each.workload === workload);
    if (other === undefined) return;
    plan.replacing.delete(other);
    plan.places.delete(other);
  }

  awaitsRoom(key: string): boolean {
    return this.#awaitingRoom.has(key);
  }

  /** True if terminating pods hold the room of its workload's place: the pod should wait. */
  isRoomComing(pod: GatedPod, { workflow }: UsableGraphs): boolean {
    const own = workloadOf(pod, workflow);
    const places = [...(this.#plans.get(workflowOf(pod))?.replacing ?? [])];
    const nodes = new Set(places.flatMap(({ workload, node }) => (workload === own ? [node] : [])));
    if (nodes.size === 0) return false;
    const isComing = leavingOf(workflowOf(pod), this.#options.model).some(({ spec }) =>
      nodes.has(looseText(looseFields<PodSpec>(spec).nodeName)),
    );
    if (isComing) this.#awaitingRoom.add(workflowOf(pod));
    return isComing;
  }

  /**
   * True if the pod should wait at the gate: others of its workflow wait during a rollout, or its rollout has
   * just begun and others may follow.
   */
  isTooSoon(pod: GatedPod, graphs: UsableGraphs): boolean {
    const { upcoming, model, ledger, config, gated } = this.#options;
    const { workflow } = graphs;
    const key = workflowOf(pod);
    if (gated.of(key).length > 0 && this.#together.replacements(key, graphs).going.length > 0) return true;
    if (!upcoming.isFresh(pod.object, key, config.settleMs)) return false;
    const isStanding = standingIn(workflow, { model, ledger });
    const own = workloadOf(pod, workflow);
    return workflow.workloads.some(({ name }) => name !== own && isStanding(name));
  }

  lacksPlan(pod: GatedPod, graphs: UsableGraphs): boolean {
    const key = workflowOf(pod);
    if (this.#together.replacements(key, graphs).pods.length === 0) return false;
    const plan = this.#plans.get(key);
    return plan === undefined || !this.#isValid(key, plan, graphs);
  }

  /**
   * Planned nodes of pods that replace others.
   * @param besides a pod placed elsewhere, which frees a place of its workload
   */
  assumed(besides: GatedPod, { workflow }: UsableGraphs): AssumedPod[] {
    const replacing = [...(this.#plans.get(workflowOf(besides))?.replacing ?? [])];
    const own = workloadOf(besides, workflow);
    const left = replacing.findIndex(({ workload }) => workload === own);
    return assumedAt(replacing.filter((_, index) => index !== left));
  }

  planFor(pod: GatedPod, graphs: UsableGraphs): SinglePlan | null {
    const { model, clock } = this.#options;
    const workload = workloadOf(pod, graphs.workflow);
    if (workload === null) return null;
    const key = workflowOf(pod);
    const together = this.#together.of([workload], key, graphs, pod);
    const { pods } = together;
    if (pods.length === 0 || pods.length * model.model.nodes.length > NOW_PAIRS) return null;
    const problem = this.#together.problem(together, graphs);
    const options = { ...this.#search(NOW_MS, together, problem), now: () => clock.monotonic() };
    const made = this.#keep(key, together, graphs, problem, searchPlan(problem, options));
    const own = made.find((place) => place.pod === pod);
    if (own !== undefined && model.model.verdict(pod.object, own.node) === null) return own;
    return this.placeFor(pod, graphs);
  }

  /** Plans gated pods of a workflow in rollout with all that will come. Rejects if the search fails. */
  async ahead(key: string, graphs: UsableGraphs): Promise<PlanAhead> {
    const { search, gated } = this.#options;
    this.#awaitingRoom.delete(key);
    if (this.#together.replacements(key, graphs).going.length === 0) return NOTHING_AHEAD;
    const together = this.#together.of([], key, graphs);
    const problem = this.#together.problem(together, graphs);
    const options = this.#search(GATED_MS, together, problem);
    const result = await search.run(problem, this.#snapshotOf(problem), options);
    this.#plans.delete(key);
    const places = this.#keep(key, together, graphs, problem, result);
    const waiting = new Set(gated.of(key));
    const isWaiting = ({ pod }: SinglePlan): boolean => waiting.has(pod);
    return {
      assumed: assumedAt(places.filter((place) => !isWaiting(place))),
      nodes: new Map(places.filter(isWaiting).map(({ pod, node }) => [pod.key, { to: node }])),
    };
  }

  #planLater(key: string): void {
    this.#due.add(key);
    this.#planning ??= this.#planDue().finally(() => {
      this.#planning = null;
    });
  }

  #isValid(key: string, { toCome, madeMs }: JointPlan, graphs: UsableGraphs): boolean {
    const { pods } = this.#together.replacements(key, graphs);
    if (pods.length === 0 && toCome.size === 0) return this.#options.clock.monotonic() - madeMs <= KEPT_MS;
    const now = countByWorkload(pods, graphs);
    return now.size === toCome.size && [...now].every(([name, count]) => toCome.get(name) === count);
  }

  async #planDue(): Promise<void> {
    const { clock, logger } = this.#options;
    await pause(clock, SETTLE_MS, this.#stop.signal);
    for (const key of this.#due) {
      if (this.#stop.signal.aborted) return;
      this.#due.delete(key);
      // Pods asked about meanwhile wait at the gate.
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
    const before = this.#plans.get(key);
    const [first] = [...upcoming.of(key).flat(), ...[...(before?.replacing ?? [])].map(({ pod }) => pod)];
    if (first === undefined || !isAsking(first) || !model.isSynced) return;
    const { namespace, workflow: name } = first.identity;
    const usable = usableGraphs(graphs, { namespace, name }, clock.now());
    if ("reason" in usable) return;
    const found = withoutGoing(usable, model);
    const names = upcoming.of(key).flatMap(([pod]) => workloadOf(pod!, found.workflow) ?? []);
    const together = this.#together.of(names, key, found);
    if (together.pods.length === 0) return;
    const problem = this.#together.problem(together, found);
    const options = this.#search(AHEAD_MS, together, problem);
    const result = await search.runPatiently(problem, this.#snapshotOf(problem), options);
    // A request or a workload change may have intervened.
    if (this.#plans.get(key) !== before || this.#due.has(key)) return;
    if (before === undefined || this.#isBetter(before, problem, result, options))
      this.#keep(key, together, found, problem, result);
    else this.#plans.set(key, { ...before, cluster: found.cluster, madeMs: clock.monotonic() });
  }

  #snapshotOf({ cluster }: FeasiblePlanProblem): ClusterGraphSnapshot | null {
    const { graphs } = this.#options;
    return cluster === graphs.cluster() ? (graphs.clusterSnapshot?.() ?? null) : null;
  }

  #isBetter(
    { replacing }: JointPlan,
    problem: FeasiblePlanProblem,
    result: SearchResult,
    options: Omit<SearchOptions, "now">,
  ): boolean {
    const nodes = new Map(problem.nodes.map(({ name }, index) => [name, index]));
    const open = new Set(replacing);
    const today = result.assignment.map((node, index) => {
      const place = [...open].find(({ workload }) => workload === problem.pods[index]!.workload);
      if (place === undefined) return node;
      open.delete(place);
      return nodes.get(place.node) ?? node;
    });
    const cost = createObjective(problem, costSettings(options)).total(today).total;
    return open.size > 0 || result.cost.total < (1 - BETTER_RATIO) * cost;
  }

  #search(
    budgetMs: number,
    { going }: Together,
    problem: FeasiblePlanProblem,
  ): Omit<SearchOptions, "isCut" | "now"> {
    const { config, bytesPerRequest } = this.#options;
    return {
      seed: config.seed,
      ...costOf(config),
      budgetMs,
      effort: quickEffort(problem),
      bytesPerRequest,
      maxAlternatives: MAX_ALTERNATIVES,
      pressureShare: pressureShareOf(problem, bytesPerRequest),
      ...(going.length === 0 ? {} : { moveCost: TIE_COST }),
    };
  }

  #keep(
    key: string,
    { pods, coming }: Together,
    graphs: UsableGraphs,
    problem: FeasiblePlanProblem,
    result: SearchResult,
  ): SinglePlan[] {
    const { clock, gated } = this.#options;
    if (result.traffic === "none" && coming.length === 0) return [];
    const waiting = new Set(gated.of(key));
    const isComing = new Set(coming);
    const ofPlan = [...planSentences({ key }, result), ...rememberedSentences(graphs), ...problem.notes];
    const places = pods.flatMap((pod, index): SinglePlan[] => {
      const at = result.assignment[index]!;
      if (at < 0 || result.traffic === "none") return [];
      const node = problem.nodes[at]!.name;
      const candidates = candidatesOf(problem, result, index, node);
      const sentences = [...podSentences(node, candidates, NO_MOVES, pod.key, pods.length), ...ofPlan];
      const others = (result.alternatives[index] ?? []).map((each) => problem.nodes[each.node]!.name);
      return [
        { pod, workload: problem.pods[index]!.workload, node, candidates, sentences, others, zone: null },
      ];
    });
    this.#plans.set(key, {
      places: new Set(places.filter(({ pod }) => !waiting.has(pod))),
      replacing: new Set(places.filter(({ pod }) => isComing.has(pod))),
      toCome: countByWorkload(coming, graphs),
      cluster: graphs.cluster,
      madeMs: clock.monotonic(),
    });
    return places;
  }
}

function countByWorkload(pods: readonly GatedPod[], { workflow }: UsableGraphs): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const workload = workloadOf(pod, workflow);
    if (workload !== null) counts.set(workload, (counts.get(workload) ?? 0) + 1);
  }
  return counts;
}

function assumedAt(places: readonly SinglePlan[]): AssumedPod[] {
  return places.flatMap(({ pod, workload, node }) =>
    workload === null ? [] : [{ workload, name: pod.identity.name, node }],
  );
}

function workflowOf({ identity }: GatedPod): string {
  return `${identity.namespace}/${identity.workflow}`;
}
