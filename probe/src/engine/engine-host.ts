import { StallMonitor } from "../domain/stall-monitor.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { NodeEngine } from "./node-engine.ts";
import { errnoOf } from "./sockets.ts";
import { Timetable, type TimetableDeps } from "./timetable.ts";

/** How often the thread shows that it lives; below the smallest bound that a stall can be given. Milliseconds. */
const BEAT_MS = 8;

/** What the measuring thread takes from its surroundings. */
export interface HostDeps extends Pick<TimetableDeps, "monotonic" | "setTimer"> {
  /** Wall time, ms since the epoch. */
  now(): number;
  /** Uniform in [0, 1). */
  random(): number;
  /** Unpredictable 64 bits. */
  nonce(): bigint;
  /** Runs after everything that is readable now has been read. */
  afterPoll(run: () => void): void;
  post(message: FromWorker): void;
}

interface Hosted {
  readonly engine: NodeEngine;
  readonly stalls: StallMonitor;
  /** Commands of one engine run one after the other. */
  work: Promise<void>;
}

/** All engines of one measuring thread, and the thread's watch over itself. */
export class EngineHost {
  readonly #deps: HostDeps;
  readonly #timetable: Timetable;
  readonly #engines = new Map<number, Hosted>();

  constructor(deps: HostDeps) {
    this.#deps = deps;
    this.#timetable = new Timetable({ ...deps, onError: (error) => this.#fault(error) });
  }

  handle(message: ToWorker): void {
    if (message.type === "open") {
      this.#open(message);
      return;
    }
    const hosted = this.#engines.get(message.engine);
    if (hosted === undefined) return;
    if (message.type === "peers") this.#enqueue(hosted, () => hosted.engine.setPeers(message.peers));
    else this.#close(message.engine, hosted);
  }

  #open({ engine: id, config }: Extract<ToWorker, { type: "open" }>): void {
    const stalls = new StallMonitor(config.stallBoundMs, BEAT_MS, this.#deps.monotonic());
    let engine: NodeEngine;
    try {
      engine = new NodeEngine(config, {
        ...this.#deps,
        timetable: this.#timetable,
        stalls,
        takeThread: () => stalls.take(),
        onSnapshot: (snapshot) => this.#deps.post({ type: "snapshot", engine: id, snapshot }),
      });
    } catch (error) {
      this.#failed(id, error);
      return;
    }
    const hosted: Hosted = { engine, stalls, work: Promise.resolve() };
    this.#engines.set(id, hosted);
    if (this.#engines.size === 1) this.#beat();
    this.#enqueue(hosted, async () => {
      try {
        this.#deps.post({ type: "opened", engine: id, ...(await engine.open()) });
      } catch (error) {
        this.#engines.delete(id);
        this.#failed(id, error);
      }
    });
  }

  #close(id: number, hosted: Hosted): void {
    this.#engines.delete(id);
    this.#enqueue(hosted, async () => {
      await hosted.engine.close();
      this.#deps.post({ type: "closed", engine: id });
    });
  }

  #beat(): void {
    if (this.#engines.size === 0) return;
    const nowMs = this.#deps.monotonic();
    for (const { stalls } of this.#engines.values()) stalls.beat(nowMs);
    this.#timetable.at(nowMs + BEAT_MS, () => this.#beat());
  }

  #enqueue(hosted: Hosted, run: () => void | Promise<void>): void {
    hosted.work = hosted.work.then(run).catch((error: unknown) => this.#fault(error));
  }

  #failed(engine: number, error: unknown): void {
    this.#deps.post({ type: "failed", engine, message: messageOf(error), errno: errnoOf(error) });
  }

  #fault(error: unknown): void {
    this.#deps.post({ type: "fault", message: messageOf(error) });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
