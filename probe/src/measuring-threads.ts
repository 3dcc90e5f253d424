import { pause, type Clock, type Logger } from "@isochrone/runtime";
import { ProbeError } from "./ports/errors.ts";
import { IcmpThread } from "./icmp/thread.ts";
import { proberStarters } from "./icmp/prober-links.ts";
import { OneLoop } from "./one-loop.ts";
import type {
  Doorbell,
  Engine,
  EngineConfig,
  EngineHandlers,
  EngineSnapshot,
  MeasuringThreads,
  ProbePeer,
} from "./ports/ports.ts";
import { ResponderThread } from "./responder/thread.ts";
import type { Carrier, CarrierEvents } from "./workers/carrier.ts";
import { SupervisedWorker } from "./workers/supervised-worker.ts";
import type { FromWorker, ToWorker } from "./engine/messages.ts";

const MAX_FAILED_STARTS = 3;
const STOP_DEADLINE_MS = 2000;

interface MeasuringThreadsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `main`: all in the process's main thread, cheapest if it does little else. @default "threads" */
  readonly place?: "threads" | "main";
  /** `node`: never use kernel sockets. @default "auto" */
  readonly sockets?: "auto" | "node";
  readonly workerUrl?: URL;
  readonly icmpWorkerUrl?: URL;
}

interface Member {
  readonly id: number;
  config: EngineConfig;
  readonly handlers: EngineHandlers;
  peers: readonly ProbePeer[];
  wasOpen: boolean;
  failedStarts: number;
  readonly opened: PromiseWithResolvers<void>;
  closed: (() => void) | null;
}

export function createMeasuringThreads(deps: MeasuringThreadsDeps): MeasuringThreads {
  return new SupervisedThreads(deps);
}

class SupervisedThreads implements MeasuringThreads {
  readonly #deps: MeasuringThreadsDeps;
  readonly #members = new Map<number, Member>();
  readonly #loop: OneLoop | null;
  readonly #worker: Carrier<ToWorker>;
  readonly #responder: ResponderThread;
  readonly #icmp: IcmpThread;
  #pace = 1;
  #nextId = 1;
  #closed = false;

  constructor(deps: MeasuringThreadsDeps) {
    const { clock, logger, sockets = "auto", icmpWorkerUrl, place = "threads" } = deps;
    this.#deps = deps;
    const loop = place === "main" ? new OneLoop({ logger, sockets }) : null;
    this.#loop = loop;
    this.#worker = this.#carrier();
    if (loop === null) {
      this.#responder = new ResponderThread({ clock, logger, sockets });
      this.#icmp = new IcmpThread(logger, icmpWorkerUrl);
    } else {
      this.#responder = new ResponderThread({ clock, logger, carry: (events) => loop.responders(events) });
      const kernel = loop.prober.bind(loop);
      this.#icmp = new IcmpThread(logger, undefined, { ...proberStarters(), kernel });
    }
  }

  #carrier(): Carrier<ToWorker> {
    const events: CarrierEvents<FromWorker> = {
      onStart: () => this.#openAll(),
      onMessage: (message) => this.#handle(message),
      onDeath: (cause) => this.#died(cause),
      isNeeded: () => this.#members.size > 0,
    };
    const { clock, logger, sockets = "auto", workerUrl } = this.#deps;
    return (
      this.#loop?.engines(events) ??
      new SupervisedWorker({
        ...events,
        name: "isochrone-measuring",
        title: "measuring thread",
        url: workerUrl ?? new URL("./engine/worker.ts", import.meta.url),
        data: { sockets },
        clock,
        logger,
      })
    );
  }

  get restarts(): number {
    return this.#worker.restarts + this.#responder.restarts;
  }

  get doorbell(): Doorbell | null {
    return this.#loop?.doorbell ?? null;
  }

  async createEngine(config: EngineConfig, handlers: EngineHandlers): Promise<Engine> {
    if (this.#closed) throw closedError("the measuring thread is closed; no engine can be created in it");
    const member: Member = {
      id: this.#nextId++,
      config,
      handlers,
      peers: [],
      wasOpen: false,
      failedStarts: 0,
      opened: Promise.withResolvers(),
      closed: null,
    };
    const ports = await this.#responder.open(member.id, config);
    try {
      await this.#openEngine(member);
    } catch (error) {
      await this.#responder.close(member.id);
      throw error;
    }
    this.#setIcmpTask(member);
    return {
      ...ports,
      setPeers: (peers) => {
        member.peers = peers;
        this.#worker.post({ type: "peers", engine: member.id, peers });
        this.#setIcmpTask(member);
      },
      setKeys: (keys, signingKeyId) => {
        member.config = { ...member.config, keys, signingKeyId };
        // Verifiers first: they must know a new key before it signs.
        this.#responder.setKeys(member.id, keys, signingKeyId);
        this.#worker.post({ type: "keys", engine: member.id, keys, signingKeyId });
      },
      stop: () => this.#stopMember(member),
    };
  }

  setPace(factor: number): void {
    this.#pace = factor;
    this.#worker.post({ type: "pace", factor });
    for (const member of this.#members.values()) this.#setIcmpTask(member);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => this.#stopMember(member)));
    this.#closed = true;
    await Promise.all([this.#worker.close(), this.#responder.closeAll(), this.#icmp.close()]);
    await this.#loop?.close();
  }

  /** Rejects if the thread refuses the engine or keeps dying. */
  #openEngine(member: Member): Promise<void> {
    this.#members.set(member.id, member);
    if (this.#worker.running) this.#open(member);
    else this.#worker.start();
    return member.opened.promise;
  }

  #setIcmpTask({ id, config, peers }: Member): void {
    const { intervalMs, timeoutMs, warmupPackets, zeroCheckIntervalMs } = config;
    this.#icmp.setTask({
      engine: id,
      peers: config.methods.includes("icmp") ? peers : [],
      intervalMs: intervalMs * this.#pace,
      timeoutMs,
      warmupPackets,
      zeroCheckIntervalMs,
      dscp: config.dscp,
      payloadBytes: config.icmpPayloadBytes,
      prober: config.icmpProber,
    });
  }

  #openAll(): void {
    this.#worker.post({ type: "pace", factor: this.#pace });
    for (const member of this.#members.values()) this.#open(member);
  }

  #open({ id, config, peers }: Member): void {
    this.#worker.post({ type: "open", engine: id, config });
    this.#worker.post({ type: "peers", engine: id, peers });
  }

  #died(cause: unknown): void {
    for (const member of this.#members.values()) {
      member.closed?.();
      if (member.wasOpen || ++member.failedStarts < MAX_FAILED_STARTS) continue;
      this.#members.delete(member.id);
      const message = `the measuring thread died ${member.failedStarts} times before the engine of ${member.config.node} opened`;
      member.opened.reject(new ProbeError("probe_thread_failed", message, { cause }));
    }
  }

  #handle(message: FromWorker): void {
    if (message.type === "ready") {
      const { sockets, reason } = message;
      this.#deps.logger.info("measuring thread ready", { sockets, ...(reason === null ? {} : { reason }) });
      return;
    }
    if (message.type === "fault") {
      this.#deps.logger.warnOnce(`measuring-fault:${message.message}`, "measuring thread task failed", {
        message: message.message,
      });
      return;
    }
    const member = this.#members.get(message.engine);
    if (member === undefined) return;
    switch (message.type) {
      case "opened":
        member.wasOpen = true;
        member.opened.resolve();
        return;
      case "failed":
        this.#members.delete(member.id);
        member.opened.reject(new ProbeError("probe_thread_failed", message.message));
        return;
      case "snapshot":
        member.handlers.onSnapshot(this.#complete(member, message.snapshot));
        return;
      case "closed":
        member.closed?.();
        return;
      default:
        message satisfies never;
    }
  }

  #complete(member: Member, snapshot: EngineSnapshot): EngineSnapshot {
    const { flows, zeroCheck } = this.#icmp.drain(member.id);
    return {
      ...snapshot,
      flows: [...snapshot.flows, ...flows],
      responder: this.#responder.drain(member.id),
      zeroCheck,
      icmpProber: this.#icmp.prober,
    };
  }

  async #stopMember(member: Member): Promise<void> {
    if (!this.#members.has(member.id)) return;
    // First, so that the last snapshot includes their last counts.
    await Promise.all([this.#responder.close(member.id), this.#icmp.finish(member.id)]);
    const closed = Promise.withResolvers<void>();
    member.closed = closed.resolve;
    if (this.#worker.post({ type: "close", engine: member.id })) {
      const timer = new AbortController();
      await Promise.race([closed.promise, pause(this.#deps.clock, STOP_DEADLINE_MS, timer.signal)]);
      timer.abort();
    }
    this.#members.delete(member.id);
    this.#icmp.drain(member.id);
    member.opened.reject(closedError("the engine was stopped before it had opened"));
  }
}

function closedError(message: string): ProbeError {
  return new ProbeError("probe_thread_closed", message);
}
