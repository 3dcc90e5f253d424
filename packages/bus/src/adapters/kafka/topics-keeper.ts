import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";

import { ensureTopics } from "./topics-check.ts";
import type { TopicAdmin, TopicDeviation } from "./topics-check.ts";
import type { TopicSpec } from "./topics.ts";

interface TopicKeeperOptions {
  readonly admin: TopicAdmin;
  readonly specs: readonly TopicSpec[];
  readonly create: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onChecked?: (deviations: readonly TopicDeviation[]) => void;
  /** Interval between checks. @default 10 min */
  readonly intervalMs?: number;
  /** Delay after a check that reached no broker. @default 5 s */
  readonly retryMs?: number;
}

/** Checks at start, as soon as a broker answers, and periodically, because operators change topics. */
export class TopicKeeper {
  readonly #options: TopicKeeperOptions;
  readonly #stopped = new AbortController();
  readonly #checked = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;

  constructor(options: TopicKeeperOptions) {
    this.#options = options;
  }

  /** Resolves after the first check that reached a broker. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#checked.promise;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#checked.resolve();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, intervalMs = 600_000, retryMs = 5_000 } = this.#options;
    while (!this.#stopped.signal.aborted) {
      const answered = await this.#look();
      if (answered) this.#checked.resolve();
      await pause(clock, answered ? intervalMs : retryMs, this.#stopped.signal);
    }
  }

  /** Returns false if no broker answered. Never rejects. */
  async #look(): Promise<boolean> {
    const { admin, specs, create, logger, onChecked } = this.#options;
    try {
      const { created, deviations } = await ensureTopics(admin, specs, { create });
      for (const topic of created) logger.info("kafka topic made", { topic });
      for (const deviation of deviations) this.#tell(deviation);
      onChecked?.(deviations);
      return true;
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        logger.warnOnce("kafka-topics", "Kafka topics can't be checked yet", { error });
      return false;
    }
  }

  #tell(deviation: TopicDeviation): void {
    const { topic, setting, found } = deviation;
    const event = "kafka topic is not as it should be";
    this.#options.logger.warnOnce(`kafka-topic:${topic}:${setting}:${found}`, event, { ...deviation });
  }
}
