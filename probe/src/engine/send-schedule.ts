import type { Appointment } from "./timetable.ts";
import { onTick, tickMsOf } from "../domain/ticks.ts";
import type { EngineContext } from "./context.ts";

/** Lead time for preparing a packet: signing must delay neither a send nor an answer. Milliseconds. */
const PREPARE_AHEAD_MS = 3;

export interface ScheduledSender {
  prepare(): void;
  send(plannedMs: number): void;
  /** Planned sends that passed during a stall; they are not made up for in a burst. */
  missed(ticks: number): void;
}

/**
 * A fixed grid of send times with a random phase, so that flows do not burst together. At ordinary intervals
 * the grid uses shared ticks, so that one wake-up serves several flows. Late sends do not shift the grid, and
 * sends do not wait for answers: slow networks are probed as often as fast ones.
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
    // Prepared with the sends of the previous tick, which saves a wake-up.
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
    // Schedules the next send first: a sender that throws must not end the schedule.
    this.#next();
    if (missed > 0) this.#sender.missed(missed);
    this.#context.lateness.current.record(Math.max(0, nowMs - plannedMs) / 1000);
    this.#sender.send(plannedMs);
  }
}
