// Tells from its Lease whether the planner lives. Clocks may differ, so the local time of the last seen
// renewal counts.
import { createInformer, KINDS, PLANNER_LEASE, StoreError, WEBHOOK_REMOVED_AT } from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Random, Service } from "@isochrone/runtime";

/** Pause after removal without gates or registration, longer than an uninstallation takes. */
const REMOVED_FOR_MS = 600_000;

/** Share of the greatest age after which the Lease is read instead of relying on the watch. */
const ASKED_AFTER_SHARE = 0.5;
/** Short, because pods get no gate while the planner seems gone. */
const MAX_BACKOFF_MS = 2_000;

interface HeartbeatOptions {
  readonly store: ClusterStore;
  readonly namespace: string;
  readonly maxAgeMs: number;
  readonly checkMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onFailure: (reason: string) => void;
}

export class Heartbeat implements Service {
  readonly #options: HeartbeatOptions;
  readonly #loop: Periodic;
  #watch: Informer | null = null;
  #heardMs = Number.NEGATIVE_INFINITY;
  #renewTime = "";
  #seenMs: number | null = null;
  #removedAtMs: number | null = null;

  constructor(options: HeartbeatOptions) {
    const { clock, checkMs, logger, onFailure } = options;
    this.#options = options;
    this.#loop = periodic({
      clock,
      intervalMs: checkMs,
      immediate: true,
      run: () => this.#checkUnlessHeard(),
      onError: (error) => {
        onFailure(error instanceof StoreError ? error.code : "other");
        logger.warnOnce("heartbeat", "the planner's Lease can't be read; pods get no gate meanwhile", {
          error,
        });
      },
    });
  }

  start(): Promise<void> {
    const fields = { "metadata.name": PLANNER_LEASE };
    const { onFailure } = this.#options;
    this.#watch = createInformer({
      ...this.#options,
      kind: KINDS.lease,
      fields,
      maxBackoffMs: MAX_BACKOFF_MS,
      observer: { restarted: (_, reason) => onFailure(reason) },
    });
    this.#watch.onChange(({ type, object }) =>
      this.#take(type === "deleted" ? null : object, this.#options.clock.monotonic()),
    );
    this.#loop.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#watch?.stop();
  }

  /** Age of the planner's last sign of life; null if none, or if it has shut down. */
  ageMs(): number | null {
    return this.#seenMs === null ? null : this.#options.clock.monotonic() - this.#seenMs;
  }

  isAlive(): boolean {
    const ageMs = this.ageMs();
    return ageMs !== null && ageMs < this.#options.maxAgeMs && !this.isRemoved();
  }

  isRemoved(): boolean {
    if (this.#removedAtMs === null) return false;
    return Math.abs(this.#options.clock.now() - this.#removedAtMs) < REMOVED_FOR_MS;
  }

  /** Reads the Lease once. Rejects with StoreErrors; earlier state stays until too old. */
  async check(): Promise<void> {
    const { store, namespace, clock } = this.#options;
    const askedMs = clock.monotonic();
    this.#take(await store.get({ ...KINDS.lease, namespace, name: PLANNER_LEASE }), askedMs);
  }

  async #checkUnlessHeard(): Promise<void> {
    const { clock, maxAgeMs } = this.#options;
    if (clock.monotonic() - this.#heardMs >= ASKED_AFTER_SHARE * maxAgeMs) await this.check();
  }

  #take(lease: KubernetesObject | null, seenMs: number): void {
    this.#heardMs = seenMs;
    this.#removedAtMs = lease === null ? null : removedAtMs(lease);
    const { renewTime, holderIdentity } = looseFields(lease?.spec);
    const stamp = looseText(renewTime);
    if (stamp === "" || holderIdentity === "") {
      this.#seenMs = null;
      this.#renewTime = "";
    } else if (stamp !== this.#renewTime) {
      // The age of the first one seen is only known by the clocks; a renewed one is as old as the previous
      // look.
      if (this.#renewTime !== "" || this.#isYoungByClocks(stamp)) this.#seenMs = seenMs;
      this.#renewTime = stamp;
    }
  }

  #isYoungByClocks(stamp: string): boolean {
    return Math.abs(this.#options.clock.now() - Date.parse(stamp)) < this.#options.maxAgeMs;
  }
}

function removedAtMs({ metadata }: KubernetesObject): number | null {
  const timeMs = Date.parse(metadata.annotations?.[WEBHOOK_REMOVED_AT] ?? "");
  return Number.isNaN(timeMs) ? null : timeMs;
}
