import {
  isStoreError,
  jsonPatchOpeningGate,
  KINDS,
  StoreError,
  type ClusterStore,
  type EventRecorder,
  type InformerChange,
  type KubernetesObject,
  type Leadership,
} from "@isochrone/kubernetes";
import { periodic, type Clock, type Logger, type Periodic, type Service } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { GatedPods, type GatedPod } from "./gated-pods.ts";
import { createGatesMetrics } from "./metrics.ts";
import type { GatesConfig } from "./settings.ts";

/** Skips a read of pods that others have changed, because the watch has their state. */
const WRITE = { fieldManager: "isochrone-gates", isUnexplained: true };
/** Concurrent writes, so that a slow API server does not reduce the rate. */
const CONCURRENCY = 8;

interface GateOpenerOptions {
  readonly config: GatesConfig;
  /** Must write as the leader only. */
  readonly store: Pick<ClusterStore, "jsonPatch">;
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** kube-scheduler never opens a gate. Independent of the planner, so that no pod waits forever. */
export class GateOpener implements Service {
  readonly #options: GateOpenerOptions;
  readonly #pods = new GatedPods();
  readonly #loop: Periodic;
  readonly #metrics: ReturnType<typeof createGatesMetrics>;

  constructor(options: GateOpenerOptions) {
    const { config, clock, logger, registry } = options;
    this.#options = options;
    this.#metrics = createGatesMetrics(registry, this.#pods, clock);
    this.#loop = periodic({
      clock,
      intervalMs: config.checkIntervalMs,
      run: (signal) => this.check(signal),
      onError: (error) => logger.warnOnce("gates", "gates can't be opened, trying again", { error }),
    });
  }

  async start(): Promise<void> {
    if (this.#options.config.enabled) this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Receives a pod's change. Followers track pods too, so that a new leader knows what is due. */
  take(change: InformerChange): void {
    if (this.#options.config.enabled) this.#pods.take(change, this.#options.clock.monotonic());
  }

  async check(signal?: AbortSignal): Promise<void> {
    const { leadership, clock, config } = this.#options;
    if (!leadership.isLeader()) return;
    const due = this.#pods.due(config.deadlineMs, clock.monotonic(), clock.now());
    const perCheck = Math.max(1, Math.floor((config.maxOpensPerSecond * config.checkIntervalMs) / 1000));
    const queue = due.slice(0, perCheck);
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (signal?.aborted === true || !leadership.isLeader()) return;
        await this.#open(next);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  }

  async #open({ pod, waitedMs }: GatedPod): Promise<void> {
    const { store, logger } = this.#options;
    const { namespace = "default", name } = pod.metadata;
    const patch = jsonPatchOpeningGate(pod);
    if (patch === null) return this.#pods.forget(pod);
    try {
      await store.jsonPatch({ ...KINDS.pod, namespace, name }, patch, WRITE);
    } catch (error) {
      return this.#failed(pod, error);
    }
    this.#pods.forget(pod);
    this.#metrics.opened.inc({ result: "opened" });
    this.#tell(pod, waitedMs);
    logger.warnOnce("gates-opened", "gates were opened after their deadline: nobody has planned these pods", {
      pod: `${namespace}/${name}`,
      waitedMs: Math.round(waitedMs),
    });
  }

  #failed(pod: KubernetesObject, error: unknown): void {
    const { clock, logger } = this.#options;
    if (isStoreError(error, "not_found")) {
      this.#metrics.opened.inc({ result: "gone" });
      return this.#pods.forget(pod);
    }
    // Another writer has changed the gates: wait for the watch before a retry.
    const isOutdated = isStoreError(error, "conflict") || isStoreError(error, "invalid");
    this.#metrics.opened.inc({ result: isOutdated ? "conflict" : "failed" });
    this.#pods.failed(pod, clock.monotonic());
    if (isOutdated) return;
    const reason = error instanceof StoreError ? error.code : "other";
    logger.warnOnce(`gates-${reason}`, "a gate can't be opened, trying again", {
      pod: `${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`,
      error,
    });
  }

  #tell(pod: KubernetesObject, waitedMs: number): void {
    const seconds = Math.round(waitedMs / 1000);
    const { deadlineMs } = this.#options.config;
    this.#options.events.event(pod, {
      type: "Warning",
      reason: "GateOpenedLate",
      action: "OpenGate",
      note: `The pod waited ${seconds} s for Isochrone's planner, more than the ${deadlineMs / 1000} s of gates.deadlineMs. Its gate was opened: kube-scheduler places it without a plan.`,
    });
  }
}
