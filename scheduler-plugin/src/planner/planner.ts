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
  /** For the heartbeat, which must not queue behind other requests. @default `store` */
  readonly leaseStore?: ClusterStore;
  /** For writes to pods, with its own rate limit. @default `store` */
  readonly landingStore?: ClusterStore;
  readonly pods: PodChanges;
  readonly objects: ClusterObjects;
  readonly graphs: GraphSource;
  readonly ledger: Ledger;
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  readonly tools: PlanTools;
  readonly wishes: Pick<ZoneWishes, "zoneFor" | "take">;
  readonly newId: () => string;
  readonly leadership: SharedLeadership;
  readonly namespace: string;
  readonly replica: string | null;
  /** True if the descheduler moves or may move a pod of that controller. Makes no request. */
  readonly isMoving: (controllerUid: string) => boolean;
  /** Assumed size of requests without byte counts. */
  readonly bytesPerRequest: number;
  readonly podEvents: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface Planner {
  readonly parts: readonly Part[];
  trouble(): string | null;
  /** Nodes for a pod about to be created; null: it waits for a plan, or another replica leads. */
  promise(asked: AskedPod): PromisedNodes | null;
}

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
    const upcoming = this.#upcoming();
    const model = new ClusterModel(objects, {
      isReplaced: (pod) => upcoming.isReplaced(pod),
      nowMs: () => clock.monotonic(),
    });
    const { tools, pods, bytesPerRequest } = this.#deps;
    const { search } = tools;
    void search.start();
    const reports = this.#reports();
    const marked = new MarkedPods({ clock, metrics });
    const gated = new GatedWorkflows(config);
    const joint = this.#ahead(model, gated, objects, upcoming);
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
      joint,
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
      // Parts stop in reverse: the heartbeat first, so that no more pods are gated, then the planner.
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

  #upcoming(): UpcomingWorkloads {
    const { clock, random, logger } = this.#deps;
    const { maxPods } = this.#config;
    return new UpcomingWorkloads({ store: this.#store, clock, random, logger, maxPods });
  }

  #ahead(
    model: ClusterModel,
    gated: GatedWorkflows,
    objects: ObjectSource,
    upcoming: UpcomingWorkloads,
  ): JointPlans {
    const { clock, logger, graphs, ledger, wishes, tools } = this.#deps;
    return new JointPlans({
      config: this.#config,
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

/** Whether the webhook handles such pods itself. AppGroups are checked at admission. */
function isAsking({ object, identity }: GatedPod, objects: ObjectSource): boolean {
  const own = object.metadata.labels?.[PLACEMENT_LABEL];
  if (own !== undefined) return own === PLACEMENT_ENABLED;
  const namespace = objects.lists().namespaces.find(({ metadata }) => metadata.name === identity.namespace);
  return namespace?.metadata.labels?.[PLACEMENT_LABEL] === PLACEMENT_ENABLED;
}
