import type { Bus, SubscribeOptions, Subscription } from "@isochrone/bus";
import { DEFAULT_BACKOFF, pause, retry, type Clock, type Logger, type Random } from "@isochrone/runtime";
import { MAX_BATCH_RECORDS } from "./local-intake.ts";

/** What a membership works with. */
interface MembershipOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** All replicas are members of it: each partition has one owner. */
  readonly group: string;
  readonly topics: readonly string[];
  readonly handlers: Pick<SubscribeOptions, "onBatch"> &
    Required<Pick<SubscribeOptions, "onAssigned" | "onRevoked">>;
  /** Ends all trying. */
  readonly stopping: AbortSignal;
}

const MAX_BATCH_BYTES = 1024 * 1024;
const REJOIN_PAUSE_MS = 1000;
const NEVER_GIVE_UP = { ...DEFAULT_BACKOFF, maxMs: 10_000 };

/** This replica's place among those that share the input partitions. */
export class GroupMembership {
  readonly #options: MembershipOptions;
  #subscription: Subscription | null = null;
  #rejoining: Promise<void> | null = null;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** True once the group has taken this replica in. */
  get isJoined(): boolean {
    return this.#subscription !== null;
  }

  /** Tries until it succeeds; rejects only when everything stops. */
  async join(): Promise<void> {
    const { clock, random, logger, stopping: signal } = this.#options;
    this.#subscription = await retry({
      clock,
      random,
      policy: NEVER_GIVE_UP,
      signal,
      run: () => this.#subscribe(),
      onRetry: (error, attempt, delayMs) =>
        logger.warnOnce("intake:join", "joining the consumer group has to wait", { error, attempt, delayMs }),
    });
  }

  /** Leaves and comes back: the group has gone on without this replica. */
  rejoin(): void {
    this.#rejoining ??= this.#leaveAndJoin().finally(() => (this.#rejoining = null));
  }

  /** Hands everything over. */
  async close(): Promise<void> {
    await this.#rejoining;
    await this.#subscription?.close();
  }

  async #leaveAndJoin(): Promise<void> {
    const { clock, random, logger, stopping } = this.#options;
    try {
      await this.#subscription?.close();
      // Two that took partitions from each other must not go on so.
      await pause(clock, REJOIN_PAUSE_MS * (0.5 + random.next()), stopping);
      if (!stopping.aborted) await this.join();
    } catch (error) {
      if (!stopping.aborted) logger.error("rejoining the consumer group failed", { error });
    }
  }

  async #subscribe(): Promise<Subscription> {
    const { bus, group, topics, handlers } = this.#options;
    try {
      return await bus.subscribe({
        topics,
        group,
        from: "earliest",
        maxBatchRecords: MAX_BATCH_RECORDS,
        maxBatchBytes: MAX_BATCH_BYTES,
        ...handlers,
      });
    } catch (error) {
      // Also what "can't be helped" may be helped by somebody.
      throw new Error(`joining the group ${group} failed`, { cause: error });
    }
  }
}
