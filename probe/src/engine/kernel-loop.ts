import { Poller, READABLE, type Block, type Libc } from "@isochrone/kernel-sockets";
import { StallMonitor } from "../domain/stall-monitor.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { KernelSockets } from "./sockets/kernel.ts";
import { Timetable } from "./timetable.ts";

/**
 * Longest time without a turn of Node's own loop, which brings messages that don't wake this one. From half
 * of it on the turn ends with the next packet or task, and needs no wake-up of its own. Milliseconds.
 */
const TURN_MS = 100;

interface KernelLoopDeps extends LoopDeps {
  readonly libc: Libc;
  /** Descriptor that is readable when Node's loop has something to do, which ends the turn. @default none */
  readonly nodeFd?: number;
  /** How long one turn lasts at most, after which Node has the thread for a moment. @default 100 ms */
  readonly turnMs?: number;
  /** Gives the thread to Node; `run` comes when Node has done what it has to do. */
  yieldToNode(run: () => void): void;
  /** Comes at the end of each turn. */
  onTurn?(): void;
}

/**
 * The thread's own loop: it is blocked in the kernel until a packet comes or something is due, so that
 * nothing stands between the kernel and the code that takes the time. Node, with the messages of the main
 * thread, has its turn between two turns of this one.
 */
export class KernelLoop implements Loop {
  readonly sockets: KernelSockets;
  readonly timetable: Timetable;
  /** Descriptor that ends the wait when 8 bytes are written to it, until `close`. -1: there is none. */
  readonly wakeFd: number;
  /** For whoever else has sockets in this thread. */
  readonly poller: Poller;
  readonly #deps: KernelLoopDeps;
  #monitors: readonly StallMonitor[] = [];
  readonly #turnMs: number;
  #soon: (() => void)[] = [];
  #afterPoll: (() => void)[] = [];
  #state: "stopped" | "running" | "closed" = "stopped";
  #scheduled = false;
  #woken = false;
  readonly #wakeCount: Block;
  readonly #beat = (): void => {
    const nowMs = this.#deps.monotonic();
    const monitors = this.#monitors;
    // With each packet: an iterator is an allocation.
    for (let i = 0; i < monitors.length; i++) monitors[i]!.beat(nowMs);
  };

  /** @throws SystemCallError when the kernel gives no socket */
  constructor(deps: KernelLoopDeps) {
    const { libc, monotonic, onError, turnMs = TURN_MS } = deps;
    this.#deps = deps;
    this.#turnMs = turnMs;
    this.poller = new Poller(libc, { spin: true });
    this.#wakeCount = libc.block(8);
    this.wakeFd = libc.eventCounter();
    if (this.wakeFd >= 0) this.poller.add(this.wakeFd, READABLE, () => this.#wake());
    if (deps.nodeFd !== undefined) this.poller.add(deps.nodeFd, READABLE, () => this.yieldSoon());
    this.timetable = new Timetable({ monotonic, onError });
    this.sockets = new KernelSockets({
      libc,
      poller: this.poller,
      monotonic,
      soon: (run) => void this.#soon.push(run),
    });
  }

  afterPoll(run: () => void): void {
    this.#afterPoll.push(run);
  }

  /** Ends the turn with the current cycle: Node has something to do. */
  yieldSoon(): void {
    this.#woken = true;
  }

  watch(boundMs: number): StallMonitor {
    const monitor = new StallMonitor(boundMs, 0, this.#deps.monotonic());
    this.#monitors = [...this.#monitors, monitor];
    return monitor;
  }

  unwatch(monitor: StallMonitor): void {
    this.#monitors = this.#monitors.filter((one) => one !== monitor);
  }

  start(): void {
    if (this.#state === "closed") return;
    this.#state = "running";
    this.#schedule();
  }

  stop(): void {
    if (this.#state === "running") this.#state = "stopped";
  }

  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.timetable.close();
    this.sockets.close();
    this.poller.close();
    if (this.wakeFd >= 0) this.#deps.libc.close(this.wakeFd);
    this.#deps.libc.free(this.#wakeCount);
  }

  /** There is a message. */
  #wake(): void {
    this.#deps.libc.read(this.wakeFd, this.#wakeCount, 8);
    this.yieldSoon();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#deps.yieldToNode(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#state !== "running") return;
    const endMs = this.#deps.monotonic() + this.#turnMs;
    this.#woken = false;
    this.#beat();
    do this.#cycle(endMs);
    while (this.#state === "running" && !this.#woken && this.#isOn(endMs - this.#turnMs / 2, endMs));
    this.#deps.onTurn?.();
    if (this.#state === "running") this.#schedule();
  }

  /** What is due by now, e.g. sends, comes before Node. */
  #isOn(enoughMs: number, endMs: number): boolean {
    const nowMs = this.#deps.monotonic();
    return nowMs < (this.timetable.dueMs <= nowMs ? endMs : enoughMs);
  }

  #cycle(endMs: number): void {
    // First: a socket that was just opened is to be known as open when its first packet is due.
    this.#runAll(this.#takeSoon());
    this.timetable.runDue();
    if (this.#state !== "running") return;
    this.#wait(this.#afterPoll.length + this.#soon.length > 0 ? 0 : Math.min(this.timetable.dueMs, endMs));
    this.#runAll(this.#takeAfterPoll());
  }

  #wait(untilMs: number): void {
    const nowMs = this.#deps.monotonic();
    const monitors = this.#monitors;
    for (let i = 0; i < monitors.length; i++) {
      monitors[i]!.beat(nowMs);
      monitors[i]!.rest(Math.max(nowMs, untilMs));
    }
    try {
      this.poller.wait(untilMs - nowMs, this.#beat);
    } catch (error) {
      this.#deps.onError(error);
    }
  }

  #takeSoon(): (() => void)[] {
    const soon = this.#soon;
    if (soon.length > 0) this.#soon = [];
    return soon;
  }

  #takeAfterPoll(): (() => void)[] {
    const waiting = this.#afterPoll;
    if (waiting.length > 0) this.#afterPoll = [];
    return waiting;
  }

  #runAll(tasks: readonly (() => void)[]): void {
    // Often none: an iterator is an allocation.
    for (let i = 0; i < tasks.length; i++) {
      try {
        tasks[i]!();
      } catch (error) {
        this.#deps.onError(error);
      }
    }
  }
}
