import { reasonOf } from "@isochrone/primitives";
import type { StallMonitor } from "../domain/stall-monitor.ts";
import type { Loop } from "./loop.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { NodeEngine } from "./node-engine.ts";

interface HostDeps {
  readonly loop: Loop;
  monotonic(): number;
  now(): number;
  random(): number;
  nonce(): bigint;
  post(message: FromWorker): void;
}

interface Hosted {
  readonly engine: NodeEngine;
  readonly stalls: StallMonitor;
}

export class EngineHost {
  readonly #deps: HostDeps;
  readonly #engines = new Map<number, Hosted>();
  readonly #pace = { factor: 1 };

  constructor(deps: HostDeps) {
    this.#deps = deps;
  }

  handle(message: ToWorker): void {
    if (message.type === "open") {
      this.#open(message);
      return;
    }
    if (message.type === "pace") {
      this.#pace.factor = message.factor;
      return;
    }
    const hosted = this.#engines.get(message.engine);
    if (hosted === undefined) return;
    try {
      if (message.type === "peers") hosted.engine.setPeers(message.peers);
      else if (message.type === "keys") hosted.engine.setKeys(message.keys, message.signingKeyId);
      else this.#close(message.engine, hosted);
    } catch (error) {
      this.fault(error);
    }
  }

  #open({ engine: id, config }: Extract<ToWorker, { type: "open" }>): void {
    const { loop } = this.#deps;
    const stalls = loop.watch(config.stallBoundMs);
    let engine: NodeEngine;
    try {
      engine = new NodeEngine(config, {
        ...this.#deps,
        sockets: loop.sockets,
        timetable: loop.timetable,
        afterPoll: (run) => loop.afterPoll(run),
        stalls,
        pace: this.#pace,
        drainThread: () => stalls.drain(),
        onSnapshot: (snapshot) => this.#deps.post({ type: "snapshot", engine: id, snapshot }),
      });
    } catch (error) {
      loop.unwatch(stalls);
      this.#deps.post({ type: "failed", engine: id, message: reasonOf(error) });
      return;
    }
    const hosted: Hosted = { engine, stalls };
    this.#engines.set(id, hosted);
    loop.start();
    engine.start();
    this.#deps.post({ type: "opened", engine: id });
  }

  #close(id: number, hosted: Hosted): void {
    hosted.engine.close();
    this.#engines.delete(id);
    this.#deps.loop.unwatch(hosted.stalls);
    if (this.#engines.size === 0) this.#deps.loop.stop();
    this.#deps.post({ type: "closed", engine: id });
  }

  fault(error: unknown): void {
    this.#deps.post({ type: "fault", message: reasonOf(error) });
  }
}
