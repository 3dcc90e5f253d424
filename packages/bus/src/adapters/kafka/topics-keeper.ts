import { pause } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";

import { ensureTopics } from "./topics-check.ts";
import type { TopicAdmin, TopicDeviation } from "./topics-check.ts";
import type { TopicSpec } from "./topics.ts";

interface TopicKeeperOptions {
  readonly admin: TopicAdmin;
  readonly specs: readonly TopicSpec[];
  /** Whether missing topics are made. */
  readonly create: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Hears the result of every look. */
  readonly onChecked?: (deviations: readonly TopicDeviation[]) => void;
  /** Between two looks. @default 10 min */
  readonly intervalMs?: number;
  /** After a look for which no broker was there. @default 5 s */
  readonly retryMs?: number;
}

/**
 * Looks after the topics: at start, as soon as a broker answers, and then now and again, because people
 * change topics.
 */
export class TopicKeeper {
  readonly #options: TopicKeeperOptions;
  readonly #stopped = new AbortController();
  readonly #checked = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;

  constructor(options: TopicKeeperOptions) {
    this.#options = options;
  }

  /** Resolves with the first look that a broker answered. */
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

  /** False when no broker could be asked. Never rejects. */
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
