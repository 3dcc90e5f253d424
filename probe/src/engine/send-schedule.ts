import type { Appointment } from "./timetable.ts";
import { onTick, tickMsOf } from "../domain/ticks.ts";
import type { EngineContext } from "./context.ts";

/**
 * How long before its send a packet is made ready: signing mustn't delay the send, nor the answer of the
 * packet before. Milliseconds.
 */
const PREPARE_AHEAD_MS = 3;

export interface ScheduledSender {
  /** Comes ahead of each send. */
  prepare(): void;
  send(plannedMs: number): void;
  /** Planned sends that passed while the thread stood still: never made up for in a burst. */
  missed(ticks: number): void;
}

/**
 * A fixed grid of send times with a random phase, so that flows don't burst together; at
 * ordinary intervals on shared ticks, so that a wake-up serves several. What is late doesn't
 * move the grid, and no answer is waited for: a slow network is asked as often as a fast one.
 */
export class SendSchedule {
  readonly #context: EngineContext;
  readonly #sender: ScheduledSender;
  readonly #intervalMs: number;
  #plannedMs = 0;
  #appointment: Appointment | null = null;

  constructor(
    context: EngineContext,
    sender: ScheduledSender,
    intervalMs: number = context.config.intervalMs,
  ) {
    this.#context = context;
    this.#sender = sender;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    const phaseMs = this.#context.random() * this.#intervalMs;
    this.#plannedMs = onTick(this.#context.monotonic() + phaseMs, this.#intervalMs);
    this.#next();
  }

  stop(): void {
    this.#appointment?.cancel();
    this.#appointment = null;
  }

  #next(): void {
    // With the sends of the tick before: no wake-up of its own.
    const ahead = Math.min(Math.max(PREPARE_AHEAD_MS, tickMsOf(this.#intervalMs)), this.#intervalMs / 2);
    this.#appointment = this.#context.timetable.at(this.#plannedMs - ahead, () => {
      this.#sender.prepare();
      this.#appointment = this.#context.timetable.at(this.#plannedMs, () => this.#send());
    });
  }

  #send(): void {
    const intervalMs = this.#intervalMs * this.#context.pace.factor;
    const plannedMs = this.#plannedMs;
    const nowMs = this.#context.monotonic();
    const missed = Math.floor((nowMs - plannedMs) / intervalMs);
    this.#plannedMs = plannedMs + (missed + 1) * intervalMs;
    // The next appointment first: a sender that throws must not end the schedule.
    this.#next();
    if (missed > 0) this.#sender.missed(missed);
    this.#context.lateness.current.record(Math.max(0, nowMs - plannedMs) / 1000);
    this.#sender.send(plannedMs);
  }
}
