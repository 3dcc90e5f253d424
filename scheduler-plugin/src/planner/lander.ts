// Carries plans out: nominates and releases pods concurrently, and follows them until bound.
import { isStoreError, StoreError } from "@isochrone/kubernetes";
import type { InformerChange, LandingNode } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { PodWriter } from "./adapters/pod-writer.ts";
import type { GatedPod } from "./gated-workflows.ts";
import { Landings } from "./landings.ts";
import type { Arrival, Flight } from "./landings.ts";
import { Slots } from "./domain/slots.ts";
import type { PlannerMetrics, ReleaseReason } from "./metrics.ts";

export interface PlannedPod {
  readonly pod: GatedPod;
  readonly node: string;
  /** Nodes for its affinity, the planned one first; empty: no affinity. */
  readonly among: readonly LandingNode[];
  readonly workflow: string;
  readonly decision: string;
}

interface LanderOptions {
  readonly writer: PodWriter;
  readonly concurrentWrites: number;
  readonly bindTimeoutMs: number;
  /** Pods that waited this long aren't delayed for an order. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PlannerMetrics;
  readonly onArrival: (arrival: Arrival) => void;
  readonly onTaken: (planned: PlannedPod) => void;
  /** The pod still waits: another gate, or the API server didn't apply our write. */
  readonly onHeld: (pod: GatedPod, error: unknown) => void;
}

/** After a refusal the API server will refuse more; no pods are gated for this long. */
const REFUSED_MS = 30_000;

export class Lander {
  readonly #options: LanderOptions;
  readonly #landings = new Landings();
  readonly #writes: Slots;
  readonly #waiting = new Map<string, () => void>();
  #refusedMs = -Infinity;

  constructor(options: LanderOptions) {
    this.#options = options;
    this.#writes = new Slots(options.concurrentWrites);
  }

  get awaited(): number {
    return this.#landings.size;
  }

  isAwaited(podKey: string): boolean {
    return this.#landings.has(podKey);
  }

  get trouble(): string | null {
    return this.#options.clock.monotonic() - this.#refusedMs < REFUSED_MS ? "pods can't be released" : null;
  }

  /** Resolves when all are released. A level waits for the previous one's bindings. Never rejects. */
  async land(levels: readonly (readonly PlannedPod[])[], signal: AbortSignal): Promise<void> {
    for (const [index, level] of levels.entries()) {
      await Promise.all(level.map((planned) => this.#writes.use(() => this.#landOne(planned, signal))));
      if (index < levels.length - 1) await this.#arrived(level, levels[index + 1]!, signal);
    }
  }

  /** Releases pods without a plan. Never rejects. */
  async release(pods: readonly GatedPod[], reason: ReleaseReason, signal: AbortSignal): Promise<void> {
    const { writer, metrics } = this.#options;
    await Promise.all(
      pods.map((pod) =>
        this.#writes.use(async () => {
          if (signal.aborted) return;
          try {
            await writer.release(pod.object);
            metrics.released.inc({ reason });
            this.#opened(pod);
          } catch (error) {
            this.#failed(pod, "open", error);
          }
        }),
      ),
    );
  }

  adopt(flight: Flight): void {
    this.#landings.add(flight);
  }

  take(change: InformerChange): void {
    const arrival = this.#landings.take(change);
    if (arrival !== null) this.#end(arrival, change);
  }

  expire(): void {
    const { clock, bindTimeoutMs } = this.#options;
    for (const arrival of this.#landings.expire(clock.monotonic() - bindTimeoutMs)) this.#end(arrival, null);
  }

  async #landOne(planned: PlannedPod, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { writer, clock, onTaken, onHeld } = this.#options;
    const { pod, node, among, workflow, decision } = planned;
    const uid = pod.object.metadata.uid ?? "";
    // Added before the gate opens: the binding may be seen before our answer.
    this.#landings.add({ key: pod.key, uid, node, workflow, decision, releasedMs: clock.monotonic() });
    try {
      const result = await writer.land(pod.object, node, among);
      if (result === "released") return this.#opened(pod);
      this.#cancel(pod.key);
      if (result === "nominated_by_other") {
        this.#options.metrics.released.inc({ reason: "nominated_by_other" });
        this.#opened(pod);
        onTaken(planned);
      } else if (result === "held") onHeld(pod, null);
    } catch (error) {
      this.#cancel(pod.key);
      this.#failed(pod, "nominate", error);
    }
  }

  #opened(pod: GatedPod): void {
    const { clock, metrics } = this.#options;
    this.#refusedMs = -Infinity;
    metrics.gatedSeconds.observe((clock.monotonic() - pod.sinceMs) / 1_000);
  }

  #failed(pod: GatedPod, write: "nominate" | "open", error: unknown): void {
    const { clock, logger, metrics, onHeld } = this.#options;
    if (isStoreError(error, "not_found")) return;
    if (isStoreError(error, "forbidden") || isStoreError(error, "unauthorized"))
      this.#refusedMs = clock.monotonic();
    metrics.writeFailures.inc({ write, reason: error instanceof StoreError ? error.code : "other" });
    logger.warnOnce(`planner:${write}`, "a gated pod can't be released, trying again", {
      pod: pod.key,
      error,
    });
    onHeld(pod, error);
  }

  #end(arrival: Arrival, change: InformerChange | null): void {
    const { writer, metrics, onArrival } = this.#options;
    const { flight, outcome, isStillNominated } = arrival;
    metrics.landings.inc({ outcome });
    this.#resolve(flight.key);
    if (isStillNominated) void this.#takeBack(flight, change);
    else writer.forget(flight.uid);
    onArrival(arrival);
  }

  /** An unused nomination would reserve its node against others. */
  async #takeBack({ key, uid, node }: Flight, change: InformerChange | null): Promise<void> {
    const { writer, logger, metrics } = this.#options;
    const [namespace = "default", name = ""] = key.split("/");
    const pod = change?.object ?? { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, uid } };
    try {
      await this.#writes.use(() => writer.takeBack(pod, node));
    } catch (error) {
      metrics.writeFailures.inc({
        write: "clear",
        reason: error instanceof StoreError ? error.code : "other",
      });
      logger.warnOnce("planner:clear", "a nomination that wasn't followed can't be taken back", {
        pod: key,
        error,
      });
    }
  }

  #cancel(key: string): void {
    this.#landings.remove(key);
    this.#resolve(key);
  }

  async #arrived(
    level: readonly PlannedPod[],
    next: readonly PlannedPod[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, deadlineMs } = this.#options;
    const dueMs = Math.min(...next.map(({ pod }) => pod.sinceMs)) + deadlineMs;
    const done = new AbortController();
    const overdue = clock
      .sleep(Math.max(0, dueMs - clock.monotonic()), AbortSignal.any([signal, done.signal]))
      .catch(() => undefined);
    const arrivals = this.#landings
      .pending(level.map(({ pod }) => pod.key))
      .map((key) => new Promise<void>((resolve) => this.#waiting.set(key, resolve)));
    await Promise.race([Promise.all(arrivals), overdue]);
    done.abort();
    for (const { pod } of level) this.#waiting.delete(pod.key);
  }

  #resolve(key: string): void {
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
  }
}
