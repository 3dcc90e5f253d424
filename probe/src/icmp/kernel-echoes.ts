import { Poller, READABLE, SYS, SystemCallError, socketAddress, type Libc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { EchoSocket, type SocketMode } from "./echo-socket.ts";
import type { EchoHandlers, EchoPort, EchoRoute, EchoTarget } from "./echo-port.ts";

/** Maximum relative drift of the kernel's clock while it is slewed. */
const MAX_SLEW = 500e-6;
const STEP_NS = 100_000;

interface KernelEchoesOptions {
  readonly id: number;
  readonly nonce: bigint;
  readonly modes?: readonly SocketMode[];
  /** The thread's loop, which polls these sockets. @default none: `wait` blocks the thread */
  readonly served?: { readonly poller: Poller; onReady(): void };
}

/**
 * Echoes through kernel sockets, one per family and code point. The first of each family is opened at once:
 * without an existing stamping socket the kernel does not stamp the first reply.
 */
export class KernelEchoes implements EchoPort {
  readonly stampedBy = "kernel";
  readonly description: string;
  readonly #libc: Libc;
  readonly #options: KernelEchoesOptions;
  readonly #sockets = new Map<string, EchoSocket>();
  readonly #ready = new Set<EchoSocket>();
  /** `#ready` is current: nothing was read since the last poll. */
  #polled = false;
  readonly #poller: Poller;
  readonly #alarm: Poller;
  #refused: { readonly number: number; readonly error: string }[] = [];
  #handlers: EchoHandlers | null = null;
  #clockOffsetNs: number;
  #clockReadNs: number;

  constructor(libc: Libc, options: KernelEchoesOptions) {
    this.#libc = libc;
    this.#options = options;
    this.#poller = options.served?.poller ?? new Poller(libc);
    this.#alarm = new Poller(libc);
    const words: string[] = [];
    const refusals: string[] = [];
    for (const family of [4, 6] as const) {
      try {
        words.push(`IPv${family} ${this.#socket(family, 0).mode}`);
      } catch (error) {
        refusals.push(reasonOf(error));
      }
    }
    if (words.length === 0) throw new Error(refusals.join("; "));
    this.description = [...words, ...refusals].join(", ");
    this.#clockReadNs = libc.clock(SYS.CLOCK_MONOTONIC);
    this.#clockOffsetNs = libc.clock(SYS.CLOCK_REALTIME) - this.#clockReadNs;
  }

  open({ address, family, dscp, payloadBytes }: EchoTarget): EchoRoute {
    let socket: EchoSocket;
    try {
      socket = this.#socket(family, dscp);
    } catch (error) {
      const code = error instanceof SystemCallError ? error.code : String(error);
      return { queue: (number) => void this.#refused.push({ number, error: code }), close: () => {} };
    }
    const to = socketAddress(this.#libc, address, 0);
    return {
      queue: (number) => {
        // Its sends return at least a stamp.
        this.#ready.add(socket);
        socket.queue(number, to, payloadBytes, this.#collector());
      },
      close: () => this.#libc.free(to.block),
    };
  }

  flush(handlers: EchoHandlers): void {
    this.#handlers = handlers;
    for (const socket of this.#ready) socket.flush(handlers);
    for (const { number, error } of this.#refused.splice(0)) handlers.onRefused(number, error);
  }

  drain(handlers: EchoHandlers): void {
    this.#handlers = handlers;
    if (!this.#isServed && !this.#polled && this.#ready.size === 0) this.#poller.wait(0);
    this.#polled = false;
    if (this.#ready.size === 0) return;
    this.#watchClock(handlers);
    for (const socket of this.#ready) socket.drain(handlers);
    this.#ready.clear();
  }

  wait(timeoutMs: number): boolean {
    if (this.#isServed) return false;
    this.#poller.wait(timeoutMs);
    this.#polled = true;
    return true;
  }

  nap(ms: number): boolean {
    if (this.#isServed) return false;
    this.#alarm.wait(ms);
    return true;
  }

  close(): void {
    for (const socket of this.#sockets.values()) {
      this.#poller.remove(socket.fd);
      socket.close();
    }
    this.#sockets.clear();
    if (!this.#isServed) this.#poller.close();
    this.#alarm.close();
  }

  get #isServed(): boolean {
    return this.#options.served !== undefined;
  }

  #socket(family: 4 | 6, dscp: number): EchoSocket {
    const key = `${family} ${dscp}`;
    const known = this.#sockets.get(key);
    if (known !== undefined) return known;
    const { id, nonce } = this.#options;
    // Every raw socket sees every reply, so each needs its own identity.
    const own = {
      id: (id + this.#sockets.size) & 0xffff,
      nonce: BigInt.asUintN(64, nonce + BigInt(this.#sockets.size)),
    };
    const socket = new EchoSocket(this.#libc, { ...this.#options, ...own, family, dscp });
    this.#sockets.set(key, socket);
    this.#poller.add(socket.fd, READABLE, () => {
      this.#ready.add(socket);
      this.#options.served?.onReady();
    });
    return socket;
  }

  /** Handles events of packets that a full batch sends before `flush`. */
  #collector(): EchoHandlers {
    if (this.#handlers === null) throw new Error("drain must come before the first packet is queued");
    return this.#handlers;
  }

  /** Kernel stamps are wall time, which may be set: never pair stamps across a step. */
  #watchClock(handlers: EchoHandlers): void {
    let nowNs = 0;
    let offsetNs = 0;
    // Preemption between two readings looks like a step: read again.
    for (let tries = 0; tries < 3; tries++) {
      nowNs = this.#libc.clock(SYS.CLOCK_MONOTONIC);
      offsetNs = this.#libc.clock(SYS.CLOCK_REALTIME) - nowNs;
      const boundNs = STEP_NS + (nowNs - this.#clockReadNs) * MAX_SLEW;
      if (Math.abs(offsetNs - this.#clockOffsetNs) <= boundNs) {
        this.#clockReadNs = nowNs;
        this.#clockOffsetNs = offsetNs;
        return;
      }
    }
    this.#clockReadNs = nowNs;
    this.#clockOffsetNs = offsetNs;
    handlers.onClockStep();
  }
}
