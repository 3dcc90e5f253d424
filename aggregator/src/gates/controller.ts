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

/** Of a pod that others have changed the watch tells how it is now: it needn't be read. */
const WRITE = { fieldManager: "isochrone-gates", isUnexplained: true };
/** Under way at once: an API server that is slow must not make the rate lower than it has to be. */
const CONCURRENCY = 8;

/** What the controller works with. */
interface GateOpenerOptions {
  readonly config: GatesConfig;
  /** Writes as the leader only. */
  readonly store: Pick<ClusterStore, "jsonPatch">;
  readonly leadership: Leadership;
  readonly events: Pick<EventRecorder, "event">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/**
 * Opens gates past their deadline. kube-scheduler never opens one, so that without this a pod would wait for
 * ever when nobody plans: it is another process than those that set gates and plan, and needs none of them.
 */
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

  /** A pod as it is now. Other replicas keep count too: whoever leads next knows at once what is due. */
  take(change: InformerChange): void {
    if (this.#options.config.enabled) this.#pods.take(change, this.#options.clock.monotonic());
  }

  /** Opens what is due, as much as one check may. Never rejects for a pod's sake. */
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
    // Somebody else has changed the gates meanwhile: the pod is seen as it is before it is tried again.
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
