import { Poller, READABLE, type Block, type Libc } from "@isochrone/kernel-sockets";
import { KernelListeners } from "./kernel-listeners.ts";
import type { ListenAddress, Listener, ListenerFactory } from "./listener.ts";
import type { Responder } from "./responder.ts";

/** Longest time between two turns of Node's own loop, which brings messages. Milliseconds. */
const TURN_MS = 100;

interface KernelLoopDeps {
  readonly libc: Libc;
  /** Milliseconds, sub-microsecond grain, never backwards. */
  readonly monotonic: () => number;
  /** Runs `run` after one turn of Node's loop. */
  readonly afterTurn: (run: () => void) => void;
  /** Called before each such turn. */
  readonly onTurn: () => void;
}

/**
 * Serves the kernel's sockets of a thread: waits for all of them at once, in the kernel, and lets Node's loop
 * run in between.
 */
export class KernelLoop implements ListenerFactory {
  /** Descriptor that ends the wait when 8 bytes are written to it; whoever starts the thread closes it. */
  readonly wakeFd: number;
  readonly #deps: KernelLoopDeps;
  readonly #poller: Poller;
  readonly #ports: KernelListeners;
  readonly #wakeCount: Block;
  #woken = false;
  #running = false;
  #listeners = 0;

  constructor(deps: KernelLoopDeps) {
    const { libc } = deps;
    this.#deps = deps;
    this.#poller = new Poller(libc, { spin: true });
    this.#ports = new KernelListeners({ libc, poller: this.#poller, monotonic: deps.monotonic });
    this.#wakeCount = libc.block(8);
    this.wakeFd = libc.eventCounter();
    this.#poller.add(this.wakeFd, READABLE, () => {
      libc.read(this.wakeFd, this.#wakeCount, 8);
      this.#woken = true;
    });
  }

  async openUdp(responder: Responder, listen: ListenAddress): Promise<Listener> {
    return this.#opened(await this.#ports.openUdp(responder, listen));
  }

  async openTcp(responder: Responder, listen: ListenAddress): Promise<Listener> {
    return this.#opened(await this.#ports.openTcp(responder, listen));
  }

  #opened(listener: Listener): Listener {
    this.#listeners++;
    if (!this.#running) {
      this.#running = true;
      this.#deps.afterTurn(() => this.#cycle());
    }
    return {
      port: listener.port,
      sweep: (nowMs) => listener.sweep(nowMs),
      close: async () => {
        this.#listeners--;
        await listener.close();
      },
    };
  }

  /** Without listeners the thread rests in Node's loop. */
  #cycle(): void {
    if (this.#listeners === 0) {
      this.#running = false;
      return;
    }
    const { monotonic, afterTurn, onTurn } = this.#deps;
    const untilMs = monotonic() + TURN_MS;
    this.#woken = false;
    for (let leftMs = TURN_MS; leftMs > 0 && !this.#woken; leftMs = untilMs - monotonic())
      this.#poller.wait(leftMs);
    onTurn();
    afterTurn(() => this.#cycle());
  }
}
