import { KINDS } from "@isochrone/kubernetes";
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
  /** Followed already; of each at least what `movablePod` keeps. */
  readonly pods: ClusterPods;
  readonly objects: ClusterObjects;
  readonly graphs: Pick<GraphSource, "cluster" | "prices" | "workflow">;
  readonly decisions: DecisionLog;
  readonly newId: () => string;
  readonly leadership: SharedLeadership;
  /** By which new pods get the gate; null: no webhook, only templates that have it. */
  readonly webhook: GateRules | null;
  /** Why no replacement would be sent to its target, in words; null while they are. */
  readonly plannerTrouble: () => string | null;
  /** Where the planner's Lease is, which keeps the leader's memory. */
  readonly namespace: string;
  /** Name of this replica; null: it is the only one. */
  readonly replica: string | null;
  readonly bytesPerRequest: number;
  /** The extender's. */
  readonly scoring: Scoring;
  /** The planner's. */
  readonly spread: SpreadLimits;
  /** The planner's. @default that of plans */
  readonly cost?: CostOptions | undefined;
  /** Whether Events are written. */
  readonly podEvents: boolean;
  /** Hears how each move goes on. */
  readonly onMove?: ((progress: MoveProgress) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface Descheduler {
  readonly parts: readonly Part[];
  /** Of the last run, while this replica leads. */
  report(): DeschedulerReport;
  /** Whether it moves a pod of that controller now. */
  isMoving(controllerUid: string): boolean;
}

/** Moves pods while this replica leads; null when it is off. */
export function createDescheduler(config: DeschedulerConfig, deps: DeschedulerDeps): Descheduler | null {
  return config.mode === "off" ? null : new LeadingDescheduler(config, deps);
}

/** A pod whose replacement is ready takes up room and requests that are meant for the other. */
const FOLLOW_MS = 1_000;

interface Running extends Term {
  readonly term: DeschedulerTerm;
}

class LeadingDescheduler implements Descheduler {
  readonly parts: readonly Part[];
  readonly #config: DeschedulerConfig;
  readonly #deps: DeschedulerDeps;
  readonly #metrics: DeschedulerMetrics;
  readonly #terms: Terms<Running>;
  /** Writes while this replica leads, and at no other time. */
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
    return this.#terms.current?.term.isMoving(controllerUid) ?? false;
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
    return { term, stop: () => stopParts(parts, { logger }) };
  }

  #createTerm(follower: ClusterFollower): DeschedulerTerm {
    const { decisions, newId, clock, logger, webhook } = this.#deps;
    const { mode } = this.#config;
    return new DeschedulerTerm({
      ...this.#deps,
      config: this.#config,
      store: this.#store,
      follower,
      keeper: new MemoryAnnotation(this.#store, this.#deps.namespace),
      gates: ({ namespaces }) => gatedTemplates({ webhook, namespaces, appGroups: this.#appGroups }),
      reports: new MoveReports({ decisions, events: this.#events, newId, mode, clock, logger }),
      metrics: this.#metrics,
    });
  }

  /** They may opt their pods in. A cluster without the kind has none. */
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
