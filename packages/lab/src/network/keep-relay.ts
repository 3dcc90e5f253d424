import { pause, type Clock, type Logger } from "@isochrone/runtime";
import type { EmulatedNetwork } from "./emulated-network.ts";

/** As a kubelet does: doubled by each crash, and the first pause again after a sound run. */
const RESTART_MS = { first: 1_000, most: 30_000, soundAfter: 60_000 };

interface KeeperOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts a relay again that has ended by itself. Links and exposed ports are as before. */
export class RelayKeeper {
  readonly #network: Pick<EmulatedNetwork, "onDown" | "restartRelay">;
  readonly #options: KeeperOptions;
  readonly #stop = new AbortController();
  #restarts = 0;
  #crashes = 0;
  #startedMs: number;

  constructor(network: Pick<EmulatedNetwork, "onDown" | "restartRelay">, options: KeeperOptions) {
    this.#network = network;
    this.#options = options;
    this.#startedMs = options.clock.monotonic();
    network.onDown(() => void this.#again());
  }

  /** To be called before the network is stopped. */
  stop(): void {
    this.#stop.abort();
  }

  async #again(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    if (clock.monotonic() - this.#startedMs > RESTART_MS.soundAfter) this.#crashes = 0;
    while (!signal.aborted) {
      await pause(clock, Math.min(RESTART_MS.most, RESTART_MS.first * 2 ** this.#crashes++), signal);
      if (signal.aborted) return;
      try {
        this.#startedMs = clock.monotonic();
        await this.#network.restartRelay();
        return logger.warn("relay ended by itself and was started again", { restarts: ++this.#restarts });
      } catch (error) {
        if (!signal.aborted) logger.error("the relay can't be started again", { error });
      }
    }
  }
}
