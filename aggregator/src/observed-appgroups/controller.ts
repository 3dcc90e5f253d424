import {
  GENERATED_ANNOTATION,
  createInformer,
  isDnsSubdomain,
  isGeneratedAppGroup,
  isStoreError,
  KINDS,
  type ClusterStore,
  type EventRecorder,
  type Informer,
  type KubernetesObject,
  type Leadership,
} from "@isochrone/kubernetes";
import {
  periodic,
  type Clock,
  type Logger,
  type Periodic,
  type Random,
  type Service,
} from "@isochrone/runtime";
import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { fullName, type ClusterState } from "../domain/cluster-state.ts";
import { observedWorkloads, recordDemand, type AppGroupInputs } from "./domain/app-group.ts";
import { DemandHistory } from "./domain/demand.ts";
import { createObservedAppGroupsMetrics, type GroupState } from "./metrics.ts";
import { askedWorkflows, selectorsOf, workflowsByWorkload } from "./asked.ts";
import {
  ASK_ANNOTATION,
  generatedAppGroup,
  isChangedByAnother,
  isSameGroup,
  isWorkloadKind,
  OBSERVE,
  writtenGroup,
} from "./resource.ts";
import type { AppGroupsConfig } from "./settings.ts";

const FIELD_MANAGER = "isochrone-observed-appgroups";

interface ObservedSources {
  /** The newest graphs by `namespace/name` of the workflow; null before the first. */
  readonly workflows: () => ReadonlyMap<string, WorkflowGraphSnapshot> | null;
  readonly cluster: () => ClusterState;
  readonly workloadObjects: () => readonly KubernetesObject[];
  /** True if all pods and workloads are listed. Before that, requests for an AppGroup may be unknown. */
  readonly isListed: () => boolean;
  /** Null: not listed yet, or the CRD is not installed. */
  readonly appGroups: () => readonly KubernetesObject[] | null;
}

interface ObservedAppGroupsOptions {
  readonly config: AppGroupsConfig;
  readonly store: ClusterStore;
  readonly sources: ObservedSources;
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface AskedGraphs {
  readonly asked: ReadonlyMap<string, Omit<AppGroupInputs, "written">>;
  readonly undrawn: ReadonlySet<string>;
}

/** Generates AppGroups for workflows that request it. Never writes a foreign or changed AppGroup. */
export class ObservedAppGroups implements Service {
  readonly #options: ObservedAppGroupsOptions;
  readonly #loop: Periodic;
  readonly #metrics: ReturnType<typeof createObservedAppGroupsMetrics>;
  readonly #history: DemandHistory;
  #states = new Map<string, GroupState>();
  #formerStates: ReadonlyMap<string, GroupState> = new Map();
  #leadingSinceMs: number | null = null;
  #namespaces: Informer | null = null;
  #namespacesKnown = false;

  constructor(options: ObservedAppGroupsOptions) {
    const { config, clock, logger, registry } = options;
    this.#options = options;
    this.#history = new DemandHistory(config.windowMs, config.quantile);
    this.#metrics = createObservedAppGroupsMetrics(registry, () => this.#states.values());
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      run: () => this.check(),
      onError: (error) => {
        this.#metrics.writes.inc({ result: "failed" });
        logger.warnOnce("observed-appgroups", "AppGroups can't be reconciled, trying again", { error });
      },
    });
  }

  async start(): Promise<void> {
    const informer = createInformer({ ...this.#options, kind: KINDS.namespace });
    this.#namespaces = informer;
    informer.synced().then(
      () => (this.#namespacesKnown = true),
      // Stopped before the first list.
      () => undefined,
    );
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#namespaces?.stop();
  }

  /** Runs one round. Rejects with StoreErrors. */
  async check(): Promise<void> {
    const { leadership, sources, clock } = this.#options;
    if (!leadership.isLeader()) {
      this.#leadingSinceMs = null;
      this.#history.clear();
      this.#states.clear();
      return;
    }
    const nowMs = clock.monotonic();
    this.#leadingSinceMs ??= nowMs;
    const graphs = sources.workflows();
    const appGroups = sources.appGroups();
    // Unknown requests must not look like withdrawn ones.
    if (graphs === null || appGroups === null || !this.#namespacesKnown) return;
    const existing = new Map(appGroups.map((object) => [keyOf(object), object]));
    const { asked, undrawn } = this.#askedGraphs(graphs);
    this.#formerStates = this.#states;
    this.#states = new Map();
    for (const inputs of asked.values())
      await this.#keep(inputs, existing.get(fullName(inputs.graph)) ?? null);
    for (const [key, object] of sources.isListed() ? existing : []) {
      if (!isGeneratedAppGroup(object) || isChangedByAnother(object)) continue;
      if (!asked.has(key) && !undrawn.has(key)) await this.#delete(object);
    }
    this.#history.expire(nowMs);
  }

  /**
   * Requesting workflows by `namespace/name`, if they have workloads of their own. `undrawn` are those
   * without a graph, or with one from traffic only: a new leader's graphs may be older than its lists.
   */
  #askedGraphs(graphs: ReadonlyMap<string, WorkflowGraphSnapshot>): AskedGraphs {
    const { config, sources, logger, clock } = this.#options;
    const asked = new Map<string, Omit<AppGroupInputs, "written">>();
    const undrawn = new Set<string>();
    if (!config.observe) return { asked, undrawn };
    const workflows = workflowsByWorkload(sources.cluster());
    const objects = sources.workloadObjects();
    const selectors = selectorsOf(objects);
    const onUnknown = ({ kind, metadata }: KubernetesObject, value: string): void =>
      logger.warnOnce(
        `${ASK_ANNOTATION}:${kind}/${metadata.namespace}/${metadata.name}`,
        "annotation not understood",
        {
          object: `${kind} ${metadata.namespace ?? ""}/${metadata.name}`,
          rule: `${ASK_ANNOTATION} must be ${OBSERVE}`,
          value,
        },
      );
    for (const key of askedWorkflows(this.#namespaces?.items() ?? [], objects, workflows, onUnknown)) {
      const graph = graphs.get(key);
      if (graph === undefined) {
        undrawn.add(key);
        continue;
      }
      const { namespace } = graph;
      const kinds = new Map(graph.workloads.map((one) => [fullName(one), one.kind]));
      const isMember = (name: string): boolean => {
        const full = fullName({ namespace, name });
        const workflow = workflows.get(full);
        return workflow !== undefined && fullName(workflow) === key && isWorkloadKind(kinds.get(full) ?? "");
      };
      if (!graph.workloads.some((one) => one.namespace === namespace && isMember(one.name))) {
        undrawn.add(key);
        continue;
      }
      asked.set(key, {
        graph,
        isMember,
        selectorOf: (workload) => selectors.get(fullName(workload)) ?? workload.name,
        history: this.#history,
        nowMs: clock.monotonic(),
        rule: { marginRatio: config.marginRatio, isYoung: this.#isYoung() },
        holdMs: config.windowMs,
        defaultMaxNetworkCost: config.defaultMaxNetworkCost,
      });
    }
    return { asked, undrawn };
  }

  #isYoung(): boolean {
    const { clock, config } = this.#options;
    return clock.monotonic() - (this.#leadingSinceMs ?? clock.monotonic()) < config.windowMs;
  }

  async #keep(inputs: Omit<AppGroupInputs, "written">, existing: KubernetesObject | null): Promise<void> {
    const { config, store, logger } = this.#options;
    const { namespace, name } = inputs.graph;
    const key = fullName(inputs.graph);
    recordDemand(inputs);
    if (!isDnsSubdomain(name)) {
      this.#states.set(key, "unnameable");
      logger.warnOnce(`appgroup:${key}`, "no AppGroup can have this workflow's name", { workflow: key });
      return;
    }
    if (existing !== null && !isGeneratedAppGroup(existing)) {
      this.#states.set(key, "foreign");
      logger.warnOnce(`appgroup:${key}`, "an AppGroup of this name is there already; it stays as it is", {
        appGroup: key,
      });
      return;
    }
    if (existing !== null && isChangedByAnother(existing)) {
      this.#states.set(key, "changed");
      if (this.#formerStates.get(key) !== "changed") this.#reportChange(existing);
      return;
    }
    this.#states.set(key, "current");
    const written = existing === null ? [] : writtenGroup(existing).workloads;
    const group = {
      algorithm: config.sortingAlgorithm,
      workloads: observedWorkloads({ ...inputs, written }),
    };
    if (
      existing !== null &&
      (existing.metadata.deletionTimestamp !== undefined || isSameGroup(existing, group))
    )
      return;
    await this.#write("written", () =>
      store.apply(generatedAppGroup({ namespace, name }, group, existing), { fieldManager: FIELD_MANAGER }),
    );
  }

  #reportChange(object: KubernetesObject): void {
    const { events, logger } = this.#options;
    const note = `Somebody else has changed the spec that Isochrone generated. It stays as it is: remove the annotation ${GENERATED_ANNOTATION} to keep the AppGroup as yours, or delete it to have it generated again.`;
    logger.warn("a generated AppGroup was changed by another one", { appGroup: keyOf(object) });
    events.event(object, {
      type: "Warning",
      reason: "SpecChangedByAnother",
      action: "GenerateAppGroup",
      note,
    });
  }

  async #delete(object: KubernetesObject): Promise<void> {
    const { namespace, name, uid, resourceVersion, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || uid === undefined || resourceVersion === undefined) return;
    const ref = { ...KINDS.appGroup, ...(namespace === undefined ? {} : { namespace }), name };
    await this.#write("deleted", () =>
      this.#options.store.delete(ref, { preconditions: { uid, resourceVersion } }),
    );
  }

  async #write(result: "written" | "deleted", write: () => Promise<unknown>): Promise<void> {
    if (!this.#options.leadership.isLeader()) return;
    try {
      await write();
      this.#metrics.writes.inc({ result });
    } catch (error) {
      // Changed, deleted or created concurrently; the next round sees the new state.
      if (!isStoreError(error, "conflict") && !isStoreError(error, "not_found")) throw error;
      this.#metrics.writes.inc({ result: "conflict" });
    }
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return fullName({ namespace: metadata.namespace ?? "default", name: metadata.name });
}
