// Sends canary pods that request the managed resource, until one isn't scheduled. Tells the injector whether
// requesting the resource is safe.
import { reasonOf } from "@isochrone/primitives";
import { isStoreError, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { pause, periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Random, Service } from "@isochrone/runtime";
import { CANARY_LABEL, canaryPod, isScheduled, whyPending } from "./canary-pod.ts";
import { CanaryRecord } from "../domain/canary-record.ts";
import type { CanaryOutcome, Injectable } from "../domain/canary-record.ts";
import type { CanaryMetrics } from "./metrics.ts";

interface ManagedResourceGuardOptions {
  readonly store: Pick<ClusterStore, "create" | "get" | "list" | "delete">;
  readonly resource: string;
  /** Namespace of the canaries; must exist. */
  readonly namespace: string;
  readonly image: string;
  /** Name of the kube-scheduler that serves the pods. */
  readonly schedulerName: string;
  readonly periodMs: number;
  /** A canary without a node after this time counts as not scheduled. */
  readonly deadlineMs: number;
  readonly required: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: CanaryMetrics;
}

const POLL_MS = 250;
/** A success stays valid for this many periods. */
const BELIEVED_PERIODS = 3;
/** A canary older than this was left by a replica that died. */
const ABANDONED_PERIODS = 3;

export class ManagedResourceGuard implements Service {
  readonly resource: string;
  readonly #options: ManagedResourceGuardOptions;
  readonly #record: CanaryRecord;
  readonly #rounds: Periodic;
  readonly #prefix: string;
  #last = 0;
  #reported: boolean | null = null;

  constructor(options: ManagedResourceGuardOptions) {
    const { resource, required, periodMs, deadlineMs, clock, random } = options;
    this.#options = options;
    this.resource = resource;
    this.#record = new CanaryRecord({
      resource,
      required,
      maxAgeMs: BELIEVED_PERIODS * (periodMs + deadlineMs),
    });
    this.#prefix = `isochrone-canary-${Math.floor(random.next() * 36 ** 6).toString(36)}`;
    this.#rounds = periodic({
      clock,
      intervalMs: periodMs,
      immediate: true,
      run: (signal) => this.#round(signal),
      onError: (error) => this.#note(`canaries can't be sent: ${reasonOf(error)}`),
    });
  }

  start(): Promise<void> {
    this.#rounds.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  state(): Injectable {
    return this.#record.state(this.#options.clock.monotonic());
  }

  async #round(signal: AbortSignal): Promise<void> {
    await this.#sweep();
    const { store, resource, namespace, image, schedulerName } = this.#options;
    const name = `${this.#prefix}-${++this.#last}`;
    await store.create(canaryPod({ namespace, name, resource, image, schedulerName }));
    try {
      const outcome = await this.#watch(name, signal);
      if (outcome !== undefined) this.#note(outcome);
    } finally {
      await this.#delete(name);
    }
  }

  /** Returns undefined if stopped before there was an outcome. */
  async #watch(name: string, signal: AbortSignal): Promise<CanaryOutcome | undefined> {
    const { store, namespace, deadlineMs, clock, resource, metrics } = this.#options;
    const startMs = clock.monotonic();
    let why: string | null = null;
    while (!signal.aborted) {
      const pod = await store.get({ ...KINDS.pod, namespace, name });
      if (pod === null) return `a canary was deleted by somebody else before it was scheduled`;
      const waitedMs = clock.monotonic() - startMs;
      if (isScheduled(pod)) {
        metrics.seconds.observe(waitedMs / 1000);
        return null;
      }
      why = whyPending(pod) ?? why;
      if (waitedMs >= deadlineMs)
        return `a canary that requests ${resource} was not scheduled within ${deadlineMs / 1000} s: ${why ?? "kube-scheduler said nothing"}`;
      await pause(clock, POLL_MS, signal);
    }
    return undefined;
  }

  #note(outcome: CanaryOutcome): void {
    const { clock, logger, metrics, resource } = this.#options;
    this.#record.add(outcome, clock.now(), clock.monotonic());
    metrics.canaries.inc({ outcome: outcome === null ? "scheduled" : "failed" });
    const { injectable, reason } = this.state();
    metrics.injectable.set(injectable ? 1 : 0);
    if (injectable === this.#reported) return;
    if (injectable) logger.info("the managed resource may be injected", { resource });
    else if (outcome !== null) logger.warn("the managed resource must not be injected", { resource, reason });
    if (injectable || outcome !== null) this.#reported = injectable;
  }

  async #sweep(): Promise<void> {
    const { store, namespace, clock, periodMs, deadlineMs } = this.#options;
    const labels = { [CANARY_LABEL]: "managed-resource" };
    const { items } = await store.list(KINDS.pod, { namespace, labels });
    for (const { metadata } of items) {
      const ageMs = clock.now() - Date.parse(metadata.creationTimestamp ?? "");
      if (ageMs > ABANDONED_PERIODS * (periodMs + deadlineMs)) await this.#delete(metadata.name);
    }
  }

  async #delete(name: string): Promise<void> {
    const { store, namespace, logger } = this.#options;
    try {
      await store.delete({ ...KINDS.pod, namespace, name }, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isStoreError(error, "not_found"))
        logger.warnOnce("canary", "a canary can't be deleted, trying again later", { name, error });
    }
  }
}
