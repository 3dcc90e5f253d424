import { Poller, READABLE, type Block, type Libc } from "@isochrone/kernel-sockets";
import { StallMonitor } from "../domain/stall-monitor.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { KernelSockets } from "./sockets/kernel.ts";
import { Timetable } from "./timetable.ts";

/**
 * Maximum time without a turn of Node's loop, which delivers messages that do not wake this one. After half
 * of it, the turn ends with the next packet or task instead of a separate wake-up. Milliseconds.
 */
const TURN_MS = 100;

interface KernelLoopDeps extends LoopDeps {
  readonly libc: Libc;
  /** Becomes readable when Node's loop has work, which ends the turn. @default none */
  readonly nodeFd?: number;
  readonly turnMs?: number;
  /** Lets Node run its pending work, then calls `run`. */
  yieldToNode(run: () => void): void;
  onTurn?(): void;
}

/**
 * The thread's own loop. It blocks in the kernel until a packet arrives or a task is due, so that nothing
 * delays the code that reads the clock. Node handles main-thread messages between two turns.
 */
export class KernelLoop implements Loop {
  readonly sockets: KernelSockets;
  readonly timetable: Timetable;
  /** Writing 8 bytes here ends the wait, until `close`. -1: none. */
  readonly wakeFd: number;
  /** For other socket owners in this thread. */
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
    // Called per packet: an iterator would allocate.
    for (let i = 0; i < monitors.length; i++) monitors[i]!.beat(nowMs);
  };

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

  /** Ends the turn with the current cycle: Node has work. */
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

  /** Due tasks, such as sends, precede Node. */
  #isOn(enoughMs: number, endMs: number): boolean {
    const nowMs = this.#deps.monotonic();
    return nowMs < (this.timetable.dueMs <= nowMs ? endMs : enoughMs);
  }

  #cycle(endMs: number): void {
    // First, so that a socket just opened counts as open when its first packet is due.
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
    // Often empty: an iterator would allocate.
    for (let i = 0; i < tasks.length; i++) {
      try {
        tasks[i]!();
      } catch (error) {
        this.#deps.onError(error);
      }
    }
  }
}
