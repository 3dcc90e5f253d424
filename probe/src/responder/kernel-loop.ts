import { Poller, READABLE, type Block, type Libc } from "@isochrone/kernel-sockets";
import { KernelListeners } from "./kernel-listeners.ts";
import type { ListenAddress, Listener, ListenerFactory } from "./listener.ts";
import type { Responder } from "./responder.ts";

/** Maximum time between two turns of Node's loop, which delivers messages. Milliseconds. */
const TURN_MS = 100;

interface KernelLoopDeps {
  readonly libc: Libc;
  readonly monotonic: () => number;
  readonly afterTurn: (run: () => void) => void;
  readonly onTurn: () => void;
}

/** Polls a thread's kernel sockets together and lets Node's loop run in between. */
export class KernelLoop implements ListenerFactory {
  /** Writing 8 bytes here ends the wait; the thread's starter closes it. */
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

  /** Without listeners the thread waits in Node's loop. */
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
