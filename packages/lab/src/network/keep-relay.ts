import { pause, type Clock, type Logger } from "@isochrone/runtime";
import { RestartPauses } from "../restart-pauses.ts";
import type { EmulatedNetwork } from "./emulated-network.ts";

interface KeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RelayKeeper {
  readonly #network: Pick<EmulatedNetwork, "onDown" | "restartRelay">;
  readonly #options: KeeperOptions;
  readonly #stop = new AbortController();
  readonly #pauses: RestartPauses;
  #restarts = 0;

  constructor(network: Pick<EmulatedNetwork, "onDown" | "restartRelay">, options: KeeperOptions) {
    this.#network = network;
    this.#options = options;
    this.#pauses = new RestartPauses(options.clock);
    network.onDown(() => void this.#again());
  }

  stop(): void {
    this.#stop.abort();
  }

  async #again(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(clock, this.#pauses.next(), signal);
      if (signal.aborted) return;
      try {
        this.#pauses.started();
        await this.#network.restartRelay();
        return logger.warn("relay ended by itself and was started again", { restarts: ++this.#restarts });
      } catch (error) {
        if (!signal.aborted) logger.error("the relay can't be started again", { error });
      }
    }
  }
}
