import { moveOwnerOf, PLACEMENT_ENABLED, PLACEMENT_LABEL, StoreError } from "@isochrone/kubernetes";
import type { ClusterStore, EventRecorder, SharedLeadership } from "@isochrone/kubernetes";
import { stopParts } from "@isochrone/runtime";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { ClusterObjects, ObjectSource } from "../adapters/cluster-objects.ts";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import type { DecisionLog } from "../domain/decision-log.ts";
import type { ZoneWishes } from "../dispatch/replicas/zone-wishes.ts";
import type { Ledger } from "../domain/ledger.ts";
import type { PlanLog } from "../domain/plan-log.ts";
import type { GraphSource } from "../ports/ports.ts";
import { Terms } from "../leadership/terms.ts";
import type { Term } from "../leadership/terms.ts";
import { Heartbeat } from "./adapters/heartbeat.ts";
import { MoveRecords } from "./adapters/move-records.ts";
import { PodWriter } from "./adapters/pod-writer.ts";
import { ReleaseOrders } from "./adapters/release-orders.ts";
import { UpcomingWorkloads } from "./adapters/upcoming-workloads.ts";
import { ClusterModel } from "./cluster-model.ts";
import { GatedWorkflows } from "./gated-workflows.ts";
import type { GatedPod } from "./gated-workflows.ts";
import { MarkedPods } from "./marked-pods.ts";
import { createPlannerMetrics } from "./metrics.ts";
import type { PlannerMetrics } from "./metrics.ts";
import type { PlanTools } from "./plan-tools.ts";
import { WorkflowPlanning } from "./planning.ts";
import { PlannerReports } from "./reports.ts";
import type { PlannerConfig } from "./settings.ts";
import { JointPlans } from "./promises/joint-plans.ts";
import { PodPromises } from "./promises/pod-promises.ts";
import type { AskedPod, PromisedNodes } from "./promises/pod-promises.ts";
import { StrandedPods } from "./stranded-pods.ts";
import { WorkflowPlanner } from "./workflow-planner.ts";

export interface PlannerDeps {
  readonly store: ClusterStore;
  /** Of the heartbeat, which must not wait behind other requests. @default `store` */
  readonly leaseStore?: ClusterStore;
  /** For what is written of pods, with a rate limit of its own. @default `store` */
  readonly landingStore?: ClusterStore;
  /** Followed already, whole while they are gated. */
  readonly pods: PodChanges;
  /** Followed while it plans. */
  readonly objects: ClusterObjects;
  readonly graphs: GraphSource;
  readonly ledger: Ledger;
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  readonly tools: PlanTools;
  /** In which zones Services lack replicas. */
  readonly wishes: Pick<ZoneWishes, "zoneFor" | "take">;
  readonly newId: () => string;
  readonly leadership: SharedLeadership;
  /** Of the heartbeat's Lease. */
  readonly namespace: string;
  /** Name of this replica; null: it is the only one. */
  readonly replica: string | null;
  /** Whether the descheduler moves a pod of that controller, or may do so; costs no request. */
  readonly isMoving: (controllerUid: string) => boolean;
  /** What a request counts as of which nobody counted the bytes. */
  readonly bytesPerRequest: number;
  /** Whether Events are written. */
  readonly podEvents: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Plans gated pods while this replica leads. */
export interface Planner {
  readonly parts: readonly Part[];
  /** Why it doesn't plan at this moment, in words; null while it does. */
  trouble(): string | null;
  /** Nodes for a pod that is about to be created; null: it waits for a plan, or another replica leads. */
  promise(asked: AskedPod): PromisedNodes | null;
}

/** null when it is off. */
export function createPlanner(config: PlannerConfig, deps: PlannerDeps): Planner | null {
  return config.enabled ? new LeadersPlanner(config, deps) : null;
}

interface PlannerTerm extends Term {
  readonly planner: WorkflowPlanner;
}

class LeadersPlanner implements Planner {
  readonly parts: readonly Part[];
  readonly #config: PlannerConfig;
  readonly #deps: PlannerDeps;
  readonly #metrics: PlannerMetrics;
  readonly #terms: Terms<PlannerTerm>;
  /** Both write while this replica leads, and at no other time. */
  readonly #store: ClusterStore;
  readonly #landingStore: ClusterStore;
  readonly #events: EventRecorder | null;

  constructor(config: PlannerConfig, deps: PlannerDeps) {
    this.#config = config;
    this.#deps = deps;
    const metrics = createPlannerMetrics(deps.registry);
    this.#metrics = metrics;
    this.#terms = new Terms({
      leadership: deps.leadership,
      begin: () => this.#begin(),
      onTerm: (runs) => metrics.leading.set(runs ? 1 : 0),
    });
    this.#store = this.#terms.storeOf(deps.store);
    this.#landingStore = this.#terms.storeOf(deps.landingStore ?? deps.store);
    const { clock, logger, replica } = deps;
    this.#events = deps.podEvents
      ? countedEvents({ store: this.#store, replica, clock, logger, metrics })
      : null;
    this.parts = [
      { name: "Events", service: this.#events },
      { name: "terms", service: this.#terms },
    ];
  }

  trouble(): string | null {
    const term = this.#terms.current;
    return term === null ? "another replica leads" : term.planner.trouble();
  }

  promise(asked: AskedPod): PromisedNodes | null {
    return this.#terms.current?.planner.promise(asked) ?? null;
  }

  #begin(): PlannerTerm {
    const { clock, logger, graphs, ledger, wishes, newId } = this.#deps;
    const [config, metrics] = [this.#config, this.#metrics];
    const objects = this.#deps.objects.follow(() => model.rebuild());
    const model = new ClusterModel(objects);
    const { tools, pods, bytesPerRequest } = this.#deps;
    const { search } = tools;
    void search.start();
    const reports = this.#reports();
    const marked = new MarkedPods({ clock, metrics });
    const planning = new WorkflowPlanning({
      config,
      bytesPerRequest,
      graphs,
      model,
      search,
      moves: new MoveRecords({ store: this.#landingStore, marked, clock, logger }),
      isMoving: this.#deps.isMoving,
      orders: new ReleaseOrders({ store: this.#landingStore, logger }),
      ledger,
      wishes,
      reports,
      metrics,
      clock,
    });
    const writer = new PodWriter({ store: this.#landingStore, landing: config.landing });
    const stranded = new StrandedPods({
      store: this.#landingStore,
      events: this.#events,
      clock,
      logger,
      metrics,
    });
    const gated = new GatedWorkflows(config);
    const { upcoming, joint } = this.#ahead(model, gated, objects);
    const promises = new PodPromises({
      config,
      bytesPerRequest,
      graphs,
      model,
      ledger,
      stranded,
      wishes,
      joint,
      reports,
      isMoving: (pod) => marked.isMoving(pod) || this.#deps.isMoving(moveOwnerOf(pod)?.uid ?? ""),
      newId,
      clock,
    });
    const planner = new WorkflowPlanner({
      config,
      pods,
      model,
      planning,
      writer,
      stranded,
      marked,
      promises,
      gated,
      reports,
      metrics,
      clock,
      logger,
    });
    const heartbeat = this.#beat(planner);
    const parts: Part[] = [
      { name: "objects", service: objects },
      // First no new pods are gated, then those that are being released are released.
      { name: "workflow planner", service: planner },
      { name: "workloads", service: upcoming },
      { name: "plans ahead", service: joint },
      { name: "plan search", service: { stop: () => tools.close() } },
      { name: "heartbeat", service: heartbeat },
    ];
    return { planner, stop: () => stopParts(parts, { logger }) };
  }

  #reports(): PlannerReports {
    const { decisions, plans, ledger, newId, clock } = this.#deps;
    const { landing } = this.#config;
    return new PlannerReports({ decisions, plans, ledger, events: this.#events, landing, newId, clock });
  }

  /** Plans for pods that are not there yet. */
  #ahead(
    model: ClusterModel,
    gated: GatedWorkflows,
    objects: ObjectSource,
  ): { readonly upcoming: UpcomingWorkloads; readonly joint: JointPlans } {
    const { clock, random, logger, graphs, ledger, wishes, tools } = this.#deps;
    const config = this.#config;
    const upcoming = new UpcomingWorkloads({
      store: this.#store,
      clock,
      random,
      logger,
      maxPods: config.maxPods,
    });
    const joint = new JointPlans({
      config,
      bytesPerRequest: this.#deps.bytesPerRequest,
      graphs,
      model,
      ledger,
      wishes,
      upcoming,
      gated,
      isAsking: (pod) => isAsking(pod, objects),
      search: tools.search,
      clock,
      logger,
    });
    return { upcoming, joint };
  }

  #beat(planner: WorkflowPlanner): Heartbeat {
    const { store, leaseStore = store, namespace, replica, clock, logger } = this.#deps;
    const metrics = this.#metrics;
    return new Heartbeat({
      store: this.#terms.storeOf(leaseStore),
      namespace,
      identity: replica ?? "scheduler-plugin",
      clock,
      logger,
      trouble: () => planner.trouble(),
      onBeat: (beating) => metrics.beating.set(beating ? 1 : 0),
      onFailure: (error) => {
        const reason = error instanceof StoreError ? error.code : "other";
        metrics.writeFailures.inc({ write: "heartbeat", reason });
      },
    });
  }
}

/** Whether the webhook is asked about such pods. What AppGroups ask for is planned when it is asked. */
function isAsking({ object, identity }: GatedPod, objects: ObjectSource): boolean {
  const own = object.metadata.labels?.[PLACEMENT_LABEL];
  if (own !== undefined) return own === PLACEMENT_ENABLED;
  const namespace = objects.lists().namespaces.find(({ metadata }) => metadata.name === identity.namespace);
  return namespace?.metadata.labels?.[PLACEMENT_LABEL] === PLACEMENT_ENABLED;
}
