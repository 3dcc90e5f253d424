// The Lease by which the webhook knows that somebody plans: without it no pod gets a gate that nobody would
// open in time.
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
  /** Refuses writes while another replica leads. */
  readonly store: ClusterStore;
  readonly namespace: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Why the planner doesn't work at this moment; null while it does. */
  readonly trouble: () => string | null;
  /** Whether the last beat was written. */
  readonly onBeat: (beating: boolean) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Renews the Lease as long as nothing is wrong with the planner. */
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

  /** The webhook needn't wait until the last beat is old. */
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
    // MicroTime has six digits.
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
