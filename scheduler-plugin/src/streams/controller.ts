import type { ClusterStore, SharedLeadership } from "@isochrone/kubernetes";
import type { LinearSolver } from "@isochrone/primitives/algorithms";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import { joint, keepingPromises, otfa, otfs, type StreamStrategy } from "@isochrone/streams";
import type { StreamJobView } from "@isochrone/topology";
import type { Registry } from "prom-client";
import type { ClusterObjects } from "../adapters/cluster-objects.ts";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import { ExactSolver } from "../adapters/exact-solver.ts";
import { Terms } from "../leadership/terms.ts";
import type { Term } from "../leadership/terms.ts";
import type { GraphSource } from "../ports/ports.ts";
import type { DeschedulerConfig } from "../descheduler/decision/settings.ts";
import { FlowPlans } from "./domain/flow-plans.ts";
import { jobViewOf } from "./job-views.ts";
import { createStreamMetrics } from "./metrics.ts";
import type { MoveRules } from "./moves/task-moves.ts";
import type { StreamsConfig } from "./settings.ts";
import { StreamKeeper } from "./stream-keeper.ts";

interface StreamsDeps {
  readonly store: ClusterStore;
  readonly pods: PodChanges;
  readonly objects: ClusterObjects;
  readonly graphs: GraphSource;
  readonly leadership: SharedLeadership;
  readonly replica: string | null;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Rules for moving running tasks with strategy `joint`. @default they stay */
  readonly descheduler?: DeschedulerConfig;
}

export interface Streams {
  readonly parts: readonly Part[];
  plans(): FlowPlans | null;
  jobs(): readonly StreamJobView[] | null;
}

interface StreamTerm extends Term {
  readonly plans: FlowPlans;
  readonly jobs: () => readonly StreamJobView[];
}

export function createStreams(
  deps: Partial<StreamsDeps> & { readonly streams?: StreamsConfig },
): Streams | null {
  const { streams: config } = deps;
  return config?.enabled === true && hasCluster(deps) ? streamsOf(config, deps) : null;
}

function hasCluster(deps: Partial<StreamsDeps>): deps is StreamsDeps {
  return deps.leadership !== undefined;
}

function streamsOf(config: StreamsConfig, deps: StreamsDeps): Streams {
  const metrics = createStreamMetrics(deps.registry);
  const solver = new ExactSolver(deps);
  const strategy = strategyOf(config, solver.solve);
  const moveRules = moveRulesOf(config, deps.descheduler);
  const terms = new Terms<StreamTerm>({
    leadership: deps.leadership,
    begin: () => {
      const plans = new FlowPlans(deps.newId());
      const { awaitRules } = config;
      const own = { store, strategy, plans, awaitRules, moveRules, metrics, events };
      const keeper = new StreamKeeper({ ...deps, ...own });
      return { plans, jobs: () => keeper.jobs().map(jobViewOf), stop: () => keeper.stop() };
    },
    onTerm: (runs) => metrics.leading.set(runs ? 1 : 0),
  });
  const store = terms.storeOf(deps.store);
  const events = countedEvents({ ...deps, store, metrics });
  return {
    parts: [
      { name: "Events", service: events },
      { name: "solver", service: { stop: () => solver.close() } },
      { name: "terms", service: terms },
    ],
    plans: () => terms.current?.plans ?? null,
    jobs: () => terms.current?.jobs() ?? null,
  };
}

/** Null: running tasks stay. ENTS allocates differently, so its moves would not gain what they promise. */
function moveRulesOf({ strategy }: StreamsConfig, rules: DeschedulerConfig | undefined): MoveRules | null {
  if (rules === undefined || strategy !== "joint") return null;
  return rules.mode === "evict" || rules.mode === "dry-run" ? rules : null;
}

function strategyOf({ strategy }: StreamsConfig, solve: LinearSolver): StreamStrategy {
  switch (strategy) {
    // A move would end pods; TaskMoves handles that.
    case "joint":
      return joint({ moveMargin: Infinity });
    case "otfs":
      return keepingPromises(otfs({ solve, withoutBandwidth: "wait" }));
    case "otfa":
      return keepingPromises(otfa({ solve, repaired: true }));
    default:
      return strategy satisfies never;
  }
}
