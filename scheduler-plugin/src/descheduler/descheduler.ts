import { KINDS, PLANNER_LEASE } from "@isochrone/kubernetes";
import type { ClusterStore, EventRecorder, KubernetesObject, SharedLeadership } from "@isochrone/kubernetes";
import type { SpreadLimits } from "@isochrone/placement";
import { periodic, stopParts } from "@isochrone/runtime";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { ClusterObjects } from "../adapters/cluster-objects.ts";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import type { DecisionLog } from "../domain/decision-log.ts";
import type { GraphSource } from "../ports/ports.ts";
import { Terms } from "../leadership/terms.ts";
import type { Term } from "../leadership/terms.ts";
import type { GateRules } from "../webhook/gate-rules.ts";
import { ClusterFollower } from "./cluster-follower.ts";
import { gatedTemplates } from "./gated-templates.ts";
import { MemoryAnnotation } from "./memory-annotation.ts";
import { createDeschedulerMetrics } from "./decision/metrics.ts";
import type { DeschedulerMetrics } from "./decision/metrics.ts";
import type { MoveProgress } from "./move-progress.ts";
import { MoveReports } from "./move-reports.ts";
import type { Scoring } from "./decision/paper-decision.ts";
import { emptyReport } from "./report.ts";
import type { DeschedulerReport } from "./report.ts";
import type { CostOptions } from "./decision/run-decision.ts";
import type { DeschedulerConfig } from "./decision/settings.ts";
import { DeschedulerTerm } from "./term.ts";

export interface DeschedulerDeps {
  readonly store: ClusterStore;
  readonly pods: ClusterPods;
  readonly objects: ClusterObjects;
  readonly graphs: Pick<GraphSource, "cluster" | "prices" | "workflow">;
  readonly decisions: DecisionLog;
  readonly newId: () => string;
  readonly leadership: SharedLeadership;
  /** Rules by which new pods get the gate; null: no webhook, only templates with a gate. */
  readonly webhook: GateRules | null;
  /** Why no replacement would reach its target; null if the planner works. */
  readonly plannerTrouble: () => string | null;
  /** Namespace of the planner's Lease, which stores the leader's memory. */
  readonly namespace: string;
  readonly replica: string | null;
  readonly bytesPerRequest: number;
  readonly scoring: Scoring;
  readonly spread: SpreadLimits;
  readonly cost?: CostOptions | undefined;
  readonly podEvents: boolean;
  readonly onMove?: ((progress: MoveProgress) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface Descheduler {
  readonly parts: readonly Part[];
  report(): DeschedulerReport;
  /** True if this or a previous leader moves a pod of that controller, or if that isn't known yet. */
  isMoving(controllerUid: string): boolean;
}

export function createDescheduler(config: DeschedulerConfig, deps: DeschedulerDeps): Descheduler | null {
  return config.mode === "off" ? null : new LeadingDescheduler(config, deps);
}

/** Short, because a pod whose replacement is ready takes room and requests from it. */
const FOLLOW_MS = 1_000;

interface Running extends Term {
  readonly term: DeschedulerTerm;
  isMoving(controllerUid: string): boolean;
}

class LeadingDescheduler implements Descheduler {
  readonly parts: readonly Part[];
  readonly #config: DeschedulerConfig;
  readonly #deps: DeschedulerDeps;
  readonly #metrics: DeschedulerMetrics;
  readonly #terms: Terms<Running>;
  readonly #store: ClusterStore;
  readonly #events: EventRecorder | null;
  #appGroups: readonly KubernetesObject[] = [];

  constructor(config: DeschedulerConfig, deps: DeschedulerDeps) {
    this.#config = config;
    this.#deps = deps;
    const { store, clock, logger, registry, replica, leadership } = deps;
    const metrics = createDeschedulerMetrics(registry);
    this.#metrics = metrics;
    this.#terms = new Terms({ leadership, begin: () => this.#begin() });
    this.#store = this.#terms.storeOf(store);
    this.#events = deps.podEvents
      ? countedEvents({ store: this.#store, component: "descheduler", replica, clock, logger, metrics })
      : null;
    this.parts = [
      { name: "Events", service: this.#events },
      { name: "terms", service: this.#terms },
    ];
  }

  report(): DeschedulerReport {
    return this.#terms.current?.term.report ?? emptyReport(this.#config.mode);
  }

  isMoving(controllerUid: string): boolean {
    return this.#terms.current?.isMoving(controllerUid) ?? false;
  }

  #begin(): Running {
    const { pods, objects, clock, random, logger } = this.#deps;
    const follower = new ClusterFollower({ store: this.#store, pods, objects, clock, random, logger });
    const term = this.#createTerm(follower);
    const loop = periodic({
      clock,
      intervalMs: this.#config.intervalMs,
      run: async (signal) => {
        await this.#readAppGroups();
        await term.run(signal);
      },
      onError: (error) => {
        this.#metrics.runs.inc({ outcome: "failed" });
        logger.error("the descheduler's run failed; the next run starts again", { error });
      },
    });
    const following = periodic({
      clock,
      intervalMs: FOLLOW_MS,
      run: () => term.follow(),
      onError: (error) => logger.warnOnce("descheduler:follow", "moves can't be followed now", { error }),
    });
    loop.start();
    following.start();
    const parts: Part[] = [
      { name: "cluster follower", service: follower },
      { name: "runs", service: loop },
      { name: "moves", service: following },
    ];
    // The term knows its moves at once; the follower also knows previous leaders'.
    const isMoving = (uid: string): boolean => term.isMoving(uid) || follower.mayBeMoving(uid);
    return { term, isMoving, stop: () => stopParts(parts, { logger }) };
  }

  #createTerm(follower: ClusterFollower): DeschedulerTerm {
    const { decisions, newId, clock, logger, webhook, namespace } = this.#deps;
    const { mode } = this.#config;
    const lease = { ...KINDS.lease, namespace, name: PLANNER_LEASE };
    return new DeschedulerTerm({
      ...this.#deps,
      config: this.#config,
      store: this.#store,
      follower,
      keeper: new MemoryAnnotation(this.#store, this.#deps.namespace),
      gates: ({ namespaces }) => gatedTemplates({ webhook, namespaces, appGroups: this.#appGroups }),
      reports: new MoveReports({ decisions, events: this.#events, newId, lease, mode, clock, logger }),
      metrics: this.#metrics,
    });
  }

  /** AppGroups may opt their pods in. A cluster without the kind has none. */
  async #readAppGroups(): Promise<void> {
    if (this.#deps.webhook === null) return;
    try {
      this.#appGroups = (await this.#store.list(KINDS.appGroup, { metadataOnly: true })).items;
    } catch (error) {
      this.#deps.logger.warnOnce(
        "descheduler:appgroups",
        "AppGroups can't be read, so none opts its pods in",
        {
          error,
        },
      );
    }
  }
}
