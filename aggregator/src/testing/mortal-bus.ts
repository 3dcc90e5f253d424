import type { Batch, Bus, OutgoingRecord, SubscribeOptions, Subscription } from "@isochrone/bus";

/**
 * A bus as one process sees it that can die: from then on nothing it publishes arrives, and no handler of it
 * runs, not even for its leaving.
 */
export class MortalBus implements Bus {
  readonly #bus: Bus;
  readonly #subscriptions: Subscription[] = [];
  readonly #never = new Promise<never>(() => undefined);
  #isDead = false;
  /** While true, what is published waits, as in a process that was stopped, and arrives when it goes on. */
  #held: (() => void)[] | null = null;
  /** Part of the publishes that fail although they arrived, 0 to 1. */
  lossOfAnswers: () => boolean = () => false;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  partitionCount(topic: string): Promise<number> {
    return this.#bus.partitionCount(topic);
  }

  async publish(topic: string, records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#isDead) return await this.#never;
    if (this.#held !== null) {
      const held = this.#held;
      await new Promise<void>((resolve) => held.push(resolve));
    }
    await this.#bus.publish(topic, records);
    if (this.lossOfAnswers()) throw new Error("the answer was lost");
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    const mortal: SubscribeOptions = {
      ...options,
      onBatch: (batch: Batch) =>
        this.#isDead ? Promise.resolve() : this.#unlessDead(options.onBatch(batch)),
      onAssigned: async (partitions) => {
        if (!this.#isDead) await this.#unlessDead(options.onAssigned?.(partitions));
      },
      onRevoked: async (partitions) => {
        if (!this.#isDead) await this.#unlessDead(options.onRevoked?.(partitions));
      },
    };
    const subscription = await this.#bus.subscribe(mortal);
    this.#subscriptions.push(subscription);
    return subscription;
  }

  /** Holds what is published from here on. Gives what lets it go. */
  hold(): () => void {
    const held: (() => void)[] = [];
    this.#held = held;
    return () => {
      this.#held = null;
      for (const go of held) go();
    };
  }

  /** As SIGKILL: the group notices, the process doesn't. */
  async kill(): Promise<void> {
    this.#isDead = true;
    for (const die of this.#dying) die();
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#subscriptions.map((subscription) => subscription.close()));
  }

  readonly #dying = new Set<() => void>();

  async #unlessDead(work: Promise<void> | undefined): Promise<void> {
    const death = Promise.withResolvers<void>();
    this.#dying.add(death.resolve);
    await Promise.race([work, death.promise]).finally(() => this.#dying.delete(death.resolve));
  }
}
