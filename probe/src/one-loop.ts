// Measures and answers in one thread behind one loop. A thread per task costs nine megabytes, and kernel
// stamps are independent of this thread's delays.
import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { dropStartPages, isLibcSupported, loadLibc, READABLE } from "@isochrone/kernel-sockets";
import type { Logger } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import { createLoop, type LoopChoice } from "./engine/create-loop.ts";
import { EngineHost } from "./engine/engine-host.ts";
import type { KernelLoop } from "./engine/kernel-loop.ts";
import type { FromWorker, ToWorker } from "./engine/messages.ts";
import { startOnLoop } from "./icmp/loop-prober.ts";
import type { ProberEvents, ProberLink } from "./icmp/prober-links.ts";
import type { Doorbell } from "./ports/ports.ts";
import { KernelListeners } from "./responder/kernel-listeners.ts";
import type { ListenerFactory } from "./responder/listener.ts";
import type { FromResponder, ToResponder } from "./responder/messages.ts";
import { nodeListeners } from "./responder/node-listeners.ts";
import { ResponderHost } from "./responder/responder-host.ts";
import type { Carrier, CarrierEvents } from "./workers/carrier.ts";
import { SameThread } from "./workers/same-thread.ts";

const SWEEP_MS = 500;
/** End of the start phase: plans, keys, the bus and the compiler are done. Milliseconds. */
const STARTED_MS = 20_000;

interface OneLoopDeps {
  readonly logger: Logger;
  /** `node`: never use kernel sockets. */
  readonly sockets: "auto" | "node";
}

/** The global is resolved by a getter on each access. */
const clock = performance;
const monotonic = (): number => clock.now();

export class OneLoop {
  readonly #deps: OneLoopDeps;
  #opening: Promise<LoopChoice> | null = null;
  #doorbell: Doorbell | null = null;
  #responder: ResponderHost | null = null;
  #sweptMs = 0;
  #sweeps: NodeJS.Timeout | null = null;
  #startPages: NodeJS.Timeout | null = null;

  constructor(deps: OneLoopDeps) {
    this.#deps = deps;
  }

  /** Null: the loop is not open, or is Node's. */
  get doorbell(): Doorbell | null {
    return this.#doorbell;
  }

  engines(events: CarrierEvents<FromWorker>): Carrier<ToWorker> {
    return new SameThread(events, async (post) => {
      const { loop, kernel, sockets, reason } = await this.#open();
      post({ type: "ready", sockets, reason });
      return new EngineHost({
        loop,
        monotonic,
        now: () => Date.now(),
        random: () => Math.random(),
        nonce: () => randomBytes(8).readBigUInt64BE(),
        post(message) {
          post(message);
          kernel?.yieldSoon();
        },
      });
    });
  }

  responders(events: CarrierEvents<FromResponder>): Carrier<ToResponder> {
    return new SameThread(events, async (post) => {
      const { sockets, reason, ...choice } = await this.#open();
      post({ type: "ready", sockets, reason });
      const random = { next: () => Math.random() };
      const host = new ResponderHost({ listeners: await listenersOf(choice), monotonic, random, post });
      this.#responder = host;
      if (choice.kernel === null) this.#sweeps = setInterval(() => host.sweep(), SWEEP_MS);
      return host;
    });
  }

  prober(events: ProberEvents): ProberLink {
    const opening = this.#open().then(({ kernel, reason }) => {
      if (kernel === null) throw new Error(reason ?? "the kernel's own sockets are not used here");
      return { loop: kernel, poller: kernel.poller };
    });
    return startOnLoop(opening, events);
  }

  async close(): Promise<void> {
    if (this.#sweeps !== null) clearInterval(this.#sweeps);
    if (this.#startPages !== null) clearTimeout(this.#startPages);
    this.#responder = null;
    this.#doorbell = null;
    (await this.#opening)?.loop.close();
  }

  #open(): Promise<LoopChoice> {
    this.#opening ??= this.#create();
    return this.#opening;
  }

  async #create(): Promise<LoopChoice> {
    const { logger, sockets } = this.#deps;
    try {
      // On Linux the priority is per thread. A packet that waits for the processor reads as a slow network.
      setPriority(0, constants.priority.PRIORITY_HIGH);
    } catch {
      // Needs CAP_SYS_NICE. Optional: the instrument measures its own lateness.
    }
    const onError = (error: unknown): void => {
      const message = reasonOf(error);
      logger.warnOnce(`measuring-fault:${message}`, "measuring task failed", { message });
    };
    const onTurn = (): void => this.#sweepWhenDue();
    const choice = await createLoop({ monotonic, onError }, sockets, { isMain: true, onTurn });
    if (choice.kernel === null) return choice;
    this.#doorbell = doorbellOf(choice.kernel);
    const libc = await loadLibc();
    this.#startPages = setTimeout(() => dropStartPages(libc), STARTED_MS).unref();
    return choice;
  }

  #sweepWhenDue(): void {
    if (this.#responder === null || monotonic() - this.#sweptMs < SWEEP_MS * 0.9) return;
    this.#sweptMs = monotonic();
    this.#responder.sweep();
  }
}

function doorbellOf({ poller }: KernelLoop): Doorbell {
  return {
    watch(fd, onReady) {
      poller.add(fd, READABLE, onReady);
      return () => poller.remove(fd);
    },
  };
}

async function listenersOf({ kernel }: Pick<LoopChoice, "kernel">): Promise<ListenerFactory> {
  if (kernel === null || !isLibcSupported()) return nodeListeners(monotonic);
  return new KernelListeners({ libc: await loadLibc(), poller: kernel.poller, monotonic });
}
