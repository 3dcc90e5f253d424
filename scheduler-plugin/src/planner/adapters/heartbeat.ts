// Renews the Lease that tells the webhook that a planner works. Without it no pod gets a gate, which nobody
// would open.
import {
  isStoreError,
  KINDS,
  PLANNER_HEARTBEAT_MAX_AGE_MS,
  PLANNER_HEARTBEAT_MS,
  PLANNER_LEASE,
} from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { periodic, withDeadline } from "@isochrone/runtime";
import type { Clock, Logger, Periodic } from "@isochrone/runtime";

interface HeartbeatOptions {
  readonly store: ClusterStore;
  readonly namespace: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly trouble: () => string | null;
  readonly onBeat: (beating: boolean) => void;
  readonly onFailure: (error: unknown) => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #loop: Periodic;
  #trouble: string | null = null;
  #isBeating = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#loop = periodic({
      clock: options.clock,
      intervalMs: PLANNER_HEARTBEAT_MS,
      immediate: true,
      run: () => this.#beat(),
      onError: (error) => {
        this.#say(false);
        options.onFailure(error);
        options.logger.warnOnce("planner-heartbeat", "the planner's heartbeat can't be written", { error });
      },
    });
    this.#loop.start();
  }

  /** Clears the Lease, so that the webhook needn't wait for its expiry. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    if (this.#isBeating) await this.#write(null).catch(() => undefined);
    this.#say(false);
  }

  async #beat(): Promise<void> {
    const { clock, logger } = this.#options;
    const trouble = this.#options.trouble();
    if (trouble !== this.#trouble)
      logger.info(trouble === null ? "the planner works" : "the planner's heartbeat pauses", { trouble });
    this.#trouble = trouble;
    if (trouble !== null) return this.#say(false);
    await this.#write(new Date(clock.now()));
    this.#say(true);
  }

  async #write(time: Date | null): Promise<void> {
    const { store, clock, namespace, identity } = this.#options;
    const renewTime = time === null ? null : time.toISOString().replace("Z", "000Z");
    const spec = {
      holderIdentity: time === null ? "" : identity,
      leaseDurationSeconds: PLANNER_HEARTBEAT_MAX_AGE_MS / 1_000,
      renewTime,
    };
    const ref = { ...KINDS.lease, namespace, name: PLANNER_LEASE };
    await withDeadline(clock, PLANNER_HEARTBEAT_MS, "the planner's heartbeat", async () => {
      try {
        await store.patch(ref, { spec });
      } catch (error) {
        if (!isStoreError(error, "not_found") || time === null) throw error;
        await store.create({ ...KINDS.lease, metadata: { namespace, name: PLANNER_LEASE }, spec });
      }
    });
  }

  #say(beating: boolean): void {
    this.#isBeating = beating;
    this.#options.onBeat(beating);
  }
}
