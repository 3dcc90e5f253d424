import { createInformer, keyOf, KINDS, StoreError, timestamp } from "@isochrone/kubernetes";
import type {
  ClusterStore,
  EventRecorder,
  Informer,
  InformerChange,
  KubernetesObject,
} from "@isochrone/kubernetes";
import { faultText } from "@isochrone/placement";
import { DEFAULT_BACKOFF, delayMs, pause, withDeadline } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { hasPodsIn, readAppGroup } from "@isochrone/topology";
import { reasonOf } from "@isochrone/primitives";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { DueQueue } from "./due-queue.ts";
import { planGroup } from "./group-status.ts";
import type { GroupPlan } from "./group-status.ts";
import { Members } from "./members.ts";
import type { GroupMembers } from "./members.ts";
import type { AppGroupMetrics } from "./metrics.ts";
import { OwnWrites } from "./own-writes.ts";
import { StatusWriter } from "./status-writer.ts";

interface GroupKeeperOptions {
  readonly store: ClusterStore;
  readonly pods: PodChanges;
  /** Checked again right before every write. */
  readonly isLeader: () => boolean;
  readonly events: Pick<EventRecorder, "event">;
  readonly metrics: AppGroupMetrics;
  /** Least interval between two writes of one group that only its pods caused. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const SPEC_DEBOUNCE_MS = 200;
const POD_DEBOUNCE_MS = 1_000;
/** At most ten writes per second over all groups. */
const WRITE_PAUSE_MS = 100;
const WRITE_DEADLINE_MS = 10_000;
/** Time for the informer to see our own write. */
const STALE_RETRY_MS = 500;
const BACKOFF = { ...DEFAULT_BACKOFF, initialMs: 1_000, maxMs: 60_000 };
/** For writes that the API server refuses: it repeats the refusal until something changes. */
const REFUSED_BACKOFF = { ...DEFAULT_BACKOFF, initialMs: 5_000, maxMs: 300_000 };

/** Maintains the status of all AppGroups for one leadership term. Starts at once; `stop` ends it for good. */
export class GroupKeeper {
  readonly #options: GroupKeeperOptions;
  readonly #stop = new AbortController();
  readonly #groups: Informer;
  readonly #endOfPods: () => void;
  readonly #members = new Members();
  readonly #queue: DueQueue;
  readonly #writer: StatusWriter;
  readonly #own: OwnWrites;
  readonly #keysByName = new Map<string, Set<string>>();
  readonly #namedNamespaces = new WeakMap<KubernetesObject, ReadonlySet<string>>();
  readonly #faulty = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #running: Promise<void>;
  #knowsPods = false;

  constructor(options: GroupKeeperOptions) {
    this.#options = options;
    const { store, clock, random, logger } = options;
    this.#queue = new DueQueue(clock);
    this.#writer = new StatusWriter(store);
    this.#own = new OwnWrites(clock);
    const informed = { store, clock, random, logger };
    this.#groups = createInformer({ ...informed, kind: KINDS.appGroup });
    this.#groups.onChange((change) => this.#takeGroup(change));
    this.#endOfPods = options.pods.onChange((change) => this.#takePod(change));
    options.pods.synced(this.#stop.signal).then(
      () => this.#podsKnown(),
      () => undefined,
    );
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#endOfPods();
    await Promise.all([this.#running, this.#groups.stop()]);
    this.#options.metrics.groups.set(0);
    this.#options.metrics.faulty.set(0);
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    for (let key = await this.#queue.next(signal); key !== null; key = await this.#queue.next(signal)) {
      try {
        if (await this.#reconcile(key)) await pause(clock, WRITE_PAUSE_MS, signal);
      } catch (error) {
        // One bad group must not stop the others.
        logger.error("status of an AppGroup can't be worked out", { appGroup: key, error });
      }
    }
  }

  #takeGroup({ type, object }: InformerChange): void {
    const key = keyOf(object);
    const { name } = object.metadata;
    const keys = this.#keysByName.get(name) ?? new Set<string>();
    if (type === "deleted") {
      keys.delete(key);
      this.#forget(key);
    } else {
      keys.add(key);
      this.#queue.add(key, SPEC_DEBOUNCE_MS);
    }
    this.#keysByName.set(name, keys);
    if (keys.size === 0) this.#keysByName.delete(name);
    // Only additions and removals change which group owns which pods.
    if (type === "modified") return;
    for (const other of keys) this.#queue.add(other, SPEC_DEBOUNCE_MS);
    this.#options.metrics.groups.inc(type === "added" ? 1 : -1);
  }

  #takePod(change: InformerChange): void {
    for (const name of this.#members.apply(change)) {
      if (!this.#knowsPods) continue;
      for (const key of this.#keysByName.get(name) ?? []) this.#queue.add(key, POD_DEBOUNCE_MS);
    }
  }

  #podsKnown(): void {
    this.#knowsPods = true;
    for (const group of this.#groups.items()) this.#queue.add(keyOf(group), 0);
  }

  async #reconcile(key: string): Promise<boolean> {
    const group = this.#find(key);
    if (group === null || group.metadata.deletionTimestamp !== undefined) return false;
    const { clock, intervalMs } = this.#options;
    const plan = planGroup(group, this.#membersOf(group), timestamp(clock.now()));
    this.#noteFaulty(key, plan);
    if (Object.keys(plan.status).length === 0 && plan.faultsText === undefined) return false;
    if (this.#own.isBase(key, group)) {
      this.#queue.add(key, STALE_RETRY_MS);
      return false;
    }
    const isForPodsAlone = !plan.isOrderChanged && plan.faultsText === undefined;
    const waitMs = isForPodsAlone ? this.#own.waitMs(key, intervalMs) : 0;
    if (waitMs > 0) {
      this.#queue.add(key, waitMs);
      return false;
    }
    if (this.#own.isContested(key, group, plan)) {
      this.#tellContested(key, group);
      return false;
    }
    return await this.#write(key, group, plan);
  }

  async #write(key: string, group: KubernetesObject, plan: GroupPlan): Promise<boolean> {
    const { isLeader, clock, metrics } = this.#options;
    if (!isLeader() || this.#stop.signal.aborted) return false;
    try {
      await withDeadline(clock, WRITE_DEADLINE_MS, `status of AppGroup ${key}`, () =>
        this.#writer.write(group, plan),
      );
    } catch (error) {
      this.#failed(key, group, plan, error);
      return true;
    }
    this.#failures.delete(key);
    this.#own.wrote(key, group, plan);
    metrics.writes.inc({ result: "written" });
    this.#tell(group, plan);
    return true;
  }

  #failed(key: string, group: KubernetesObject, plan: GroupPlan, error: unknown): void {
    const { metrics, logger, random, events } = this.#options;
    const code = error instanceof StoreError ? error.code : null;
    const isRefused = error instanceof StoreError && !error.retryable && code !== "conflict";
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    metrics.writes.inc({ result: code === "conflict" ? "conflict" : "failed" });
    this.#queue.add(key, delayMs(isRefused ? REFUSED_BACKOFF : BACKOFF, failures, random));
    // The informer reports deletions. A conflict means that a newer version exists.
    if (code === "conflict" || code === "not_found") return;
    logger.warnOnce(`appgroup:${key}`, "status of an AppGroup not written, trying again", {
      appGroup: key,
      error,
    });
    if (!isRefused) return;
    this.#tellFaults(group, plan);
    events.event(group, {
      type: "Warning",
      reason: "StatusNotWritten",
      action: "WriteStatus",
      note: `the API server refuses the status: ${reasonOf(error)}`,
    });
  }

  #tell(group: KubernetesObject, plan: GroupPlan): void {
    const { events, logger } = this.#options;
    this.#tellFaults(group, plan);
    if (!plan.isOrderChanged) return;
    const { algorithm, isSpecOrder, order } = plan.order;
    const sorted = order.toSorted((a, b) => a.index - b.index).map(({ workload }) => workload.selector);
    const how = isSpecOrder ? "order of the spec" : algorithm;
    logger.info("order of an AppGroup written", { appGroup: keyOf(group), how, workloads: sorted.length });
    events.event(group, {
      type: "Normal",
      reason: "TopologyOrderCalculated",
      action: "CalculateOrder",
      note: `${how}: ${sorted.join(", ")}`,
    });
  }

  #tellFaults(group: KubernetesObject, { newFaults }: GroupPlan): void {
    for (const fault of newFaults) {
      this.#options.events.event(group, {
        type: "Warning",
        reason: fault.code,
        action: "CalculateOrder",
        note: faultText(fault),
      });
    }
  }

  #tellContested(key: string, group: KubernetesObject): void {
    const { metrics, events, logger } = this.#options;
    metrics.writes.inc({ result: "contested" });
    this.#queue.add(key, this.#own.holdMs);
    logger.warnOnce(
      `contested:${key}`,
      "status of an AppGroup is written by another one too; left alone for a while",
      {
        appGroup: key,
      },
    );
    events.event(group, {
      type: "Warning",
      reason: "StatusContested",
      action: "WriteStatus",
      note: "another controller keeps changing status.topologyOrder; it is left alone for 10 minutes. Stop that one, or set scheduler.appGroupStatus to upstream",
    });
  }

  #membersOf(group: KubernetesObject): GroupMembers | null {
    if (!this.#knowsPods) return null;
    const { name, namespace = "default" } = group.metadata;
    const id = { namespace, name };
    let named = this.#namedNamespaces.get(group);
    if (named === undefined)
      this.#namedNamespaces.set(group, (named = readAppGroup(id, group.spec).namespaces));
    const others = named;
    const isGroup = (other: typeof id): boolean => this.#groups.get(other.name, other.namespace) !== null;
    return this.#members.of(name, (podNamespace) => hasPodsIn(id, others, podNamespace, isGroup));
  }

  #find(key: string): KubernetesObject | null {
    const slash = key.indexOf("/");
    return this.#groups.get(key.slice(slash + 1), key.slice(0, slash));
  }

  #noteFaulty(key: string, { order }: GroupPlan): void {
    if (order.faults.length > 0) this.#faulty.add(key);
    else this.#faulty.delete(key);
    this.#options.metrics.faulty.set(this.#faulty.size);
  }

  #forget(key: string): void {
    this.#own.forget(key);
    this.#failures.delete(key);
    this.#faulty.delete(key);
    this.#options.metrics.faulty.set(this.#faulty.size);
  }
}
