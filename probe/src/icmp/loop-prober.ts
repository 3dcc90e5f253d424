import { loadLibc, type Poller } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import type { Loop } from "../engine/loop.ts";
import type { Appointment } from "../engine/timetable.ts";
import { hostSurroundings, randomIdentity } from "./host-surroundings.ts";
import { IcmpHost } from "./icmp-host.ts";
import { KernelEchoes } from "./kernel-echoes.ts";
import type { FromIcmp, ToIcmp } from "./messages.ts";
import type { ProberEvents, ProberLink } from "./prober-links.ts";

interface ProberLoop {
  readonly loop: Loop;
  readonly poller: Poller;
}

export function startOnLoop(opening: Promise<ProberLoop>, events: ProberEvents): ProberLink {
  let host: IcmpHost | null = null;
  let isOver = false;
  // Asynchronous, as messages from another thread would be.
  const post = (message: FromIcmp): void => queueMicrotask(() => isOver || events.onMessage(message));
  const open = async (): Promise<void> => {
    try {
      const { loop, poller } = await opening;
      const turns = new Turns(loop);
      const served = { poller, onReady: () => turns.now() };
      const echoes = new KernelEchoes(await loadLibc(), { ...randomIdentity(), served });
      if (isOver) return echoes.close();
      const later = (run: () => void, delayMs: number): void => turns.later(run, delayMs);
      host = new IcmpHost({ port: echoes, ...hostSurroundings(), later, post, isAsked: true });
      return post({ type: "ready", description: echoes.description });
    } catch (error) {
      return post({ type: "unavailable", reason: reasonOf(error) });
    }
  };
  void open();
  return {
    post: (message: ToIcmp) => host?.handle(message),
    take: (engine) => host?.take(engine) ?? null,
    async close() {
      isOver = true;
      host?.handle({ type: "stop" });
      host = null;
    },
  };
}

/** Schedules the host's next turn: at its requested time, or once a socket is readable. */
class Turns {
  readonly #loop: Loop;
  #run: (() => void) | null = null;
  #appointment: Appointment | null = null;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  later(run: () => void, delayMs: number): void {
    this.#run = run;
    if (delayMs > 0)
      this.#appointment = this.#loop.timetable.at(performance.now() + delayMs, () => this.now());
    else this.#loop.afterPoll(() => this.now());
  }

  now(): void {
    const run = this.#run;
    this.#run = null;
    this.#appointment?.cancel();
    this.#appointment = null;
    run?.();
  }
}
