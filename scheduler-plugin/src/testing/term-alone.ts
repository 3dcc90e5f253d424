import { createStrategy, DEFAULT_SPREAD } from "@isochrone/placement";
import type { SpreadLimits } from "@isochrone/placement";
import { KINDS, PLANNER_LEASE } from "@isochrone/kubernetes";
import { createRegistry } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ClusterStore } from "@isochrone/kubernetes";
import type { Registry } from "prom-client";
import { DecisionLog } from "../domain/decision-log.ts";
import type { GraphSource } from "../ports/ports.ts";
import { gatedTemplates } from "../descheduler/gated-templates.ts";
import type { MemoryKeeper } from "../descheduler/memory-annotation.ts";
import { createDeschedulerMetrics } from "../descheduler/decision/metrics.ts";
import type { MoveProgress } from "../descheduler/move-progress.ts";
import { MoveReports } from "../descheduler/move-reports.ts";
import type { Scoring } from "../descheduler/decision/paper-decision.ts";
import type { DeschedulerReport } from "../descheduler/report.ts";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";
import type { ClusterLists } from "../descheduler/decision/survey.ts";
import { DeschedulerTerm } from "../descheduler/term.ts";

interface DeschedulerAloneOptions {
  readonly config: DeschedulerConfig;
  readonly store: ClusterStore;
  readonly lists: () => ClusterLists;
  readonly graphs: Pick<GraphSource, "cluster" | "workflow">;
  /** @default null */
  readonly keeper?: MemoryKeeper | null;
  readonly bytesPerRequest: number;
  /** The extender's. @default that of an extender without settings */
  readonly scoring?: Scoring;
  /** The planner's. @default DEFAULT_SPREAD */
  readonly spread?: SpreadLimits;
  readonly onMove?: (progress: MoveProgress) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry?: Registry;
}

export interface DeschedulerAlone {
  run(signal?: AbortSignal): Promise<void>;
  readonly report: DeschedulerReport;
}

/** The descheduler without leadership, informers and timer, for cluster simulations. */
export function createDeschedulerTerm(options: DeschedulerAloneOptions): DeschedulerAlone {
  const { config, lists, clock, logger, registry = createRegistry() } = options;
  let last = 0;
  const reports = new MoveReports({
    decisions: new DecisionLog(KEPT_DECISIONS),
    events: null,
    newId: () => String(++last),
    lease: { ...KINDS.lease, namespace: "isochrone", name: PLANNER_LEASE },
    mode: config.mode,
    clock,
    logger,
  });
  const term = new DeschedulerTerm({
    ...options,
    follower: { isSynced: true, lists },
    gates: ({ namespaces }) => gatedTemplates({ webhook: null, namespaces, appGroups: [] }),
    plannerTrouble: () => null,
    keeper: options.keeper ?? null,
    spread: options.spread ?? DEFAULT_SPREAD,
    scoring: options.scoring ?? {
      strategy: createStrategy({ strategy: "resource-network" }),
      usageHeadroom: false,
    },
    reports,
    metrics: createDeschedulerMetrics(registry),
  });
  return {
    run: (signal = new AbortController().signal) => term.run(signal),
    get report() {
      return term.report;
    },
  };
}

const KEPT_DECISIONS = 500;
