import { Poller, READABLE, SYS, SystemCallError, socketAddress, type Libc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { EchoSocket, type SocketMode } from "./echo-socket.ts";
import type { EchoHandlers, EchoPort, EchoRoute, EchoTarget } from "./echo-port.ts";

/**
 * The kernel's clock and the monotonic one drift apart by this share at most while it is being corrected
 * smoothly.
 */
const MAX_SLEW = 500e-6;
/** What may lie between the readings of two clocks. Nanoseconds. */
const STEP_NS = 100_000;

interface KernelEchoesOptions {
  /** Of raw sockets: 0 to 65535. */
  readonly id: number;
  /** Unpredictable 64 bits. */
  readonly nonce: bigint;
  /** @default ["datagram", "raw"] */
  readonly modes?: readonly SocketMode[];
  /**
   * The thread's own loop, which waits for these sockets too, and says when one of them can be read.
   * @default none: `wait` blocks the thread
   */
  readonly served?: { readonly poller: Poller; onReady(): void };
}

/**
 * Echoes through sockets of the kernel, a socket for each family and code point. The first of each family is
 * opened at once: a socket that asks for stamps must be there before the first packet, or the kernel doesn't
 * stamp its reply.
 */
export class KernelEchoes implements EchoPort {
  readonly stampedBy = "kernel";
  /** What was opened, e.g. "IPv4 raw, IPv6 raw". */
  readonly description: string;
  readonly #libc: Libc;
  readonly #options: KernelEchoesOptions;
  /** By family and code point. */
  readonly #sockets = new Map<string, EchoSocket>();
  /** Sockets that something may be read from. */
  readonly #ready = new Set<EchoSocket>();
  /** `#ready` is what the kernel said last, and nothing has been read since. */
  #polled = false;
  readonly #poller: Poller;
  /** Watches nothing: to sleep. */
  readonly #alarm: Poller;
  #refused: { readonly number: number; readonly error: string }[] = [];
  #handlers: EchoHandlers | null = null;
  #clockOffsetNs: number;
  #clockReadNs: number;

  /** @throws SystemCallError when neither family has a socket */
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
        // What it sends comes back with a stamp at least.
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
    // Every raw socket sees every reply: without an identity of its own it would take the others' for its own
    // too.
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

  /** Hears of packets that a full batch sends before `flush`. */
  #collector(): EchoHandlers {
    if (this.#handlers === null) throw new Error("drain must come before the first packet is queued");
    return this.#handlers;
  }

  /**
   * Kernel stamps are wall time, which somebody may set: then stamps from before and after must not be
   * paired.
   */
  #watchClock(handlers: EchoHandlers): void {
    let nowNs = 0;
    let offsetNs = 0;
    // A thread that is put aside between the two readings sees a step that wasn't: read again.
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
