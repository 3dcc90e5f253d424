import { Worker } from "node:worker_threads";
import type { Clock, Logger } from "@isochrone/runtime";
import { familyOf, parseAddress } from "../domain/ip.ts";
import { ProbeError } from "../errors.ts";
import { IcmpThread } from "../icmp/thread.ts";
import type {
  Engine,
  EngineConfig,
  EngineHandlers,
  EngineSnapshot,
  MeasuringThread,
  ProbePeer,
} from "../ports.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

/** Pause before a dead thread is started anew, doubled while it keeps dying. Milliseconds. */
const RESTART_MIN_MS = 100;
const RESTART_MAX_MS = 10_000;
/** Pause before an engine whose ports were taken meanwhile is opened again. Milliseconds. */
const REOPEN_MS = 1000;
/** A thread that lived so long starts again with the short pause. Milliseconds. */
const HEALTHY_MS = 30_000;
/** A thread that dies so often before an engine opens will never open it. */
const MAX_FAILED_STARTS = 3;
/** How long an engine may take to hand over its last snapshot. Milliseconds. */
const STOP_DEADLINE_MS = 2000;

export interface MeasuringThreadDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Entry file of the thread. @default engine/worker.ts */
  readonly workerUrl?: URL;
  /** Entry file of the ICMP thread. @default icmp/worker.ts */
  readonly icmpWorkerUrl?: URL;
}

interface Member {
  readonly id: number;
  /** With the ports that the engine got at first: peers go on sending to them after a restart. */
  config: EngineConfig;
  readonly handlers: EngineHandlers;
  peers: readonly ProbePeer[];
  /** Whether it was open once: then a failure to open is a passing one. */
  wasOpen: boolean;
  failedStarts: number;
  readonly opened: PromiseWithResolvers<{ udpPort: number; tcpPort: number }>;
  closed: (() => void) | null;
}

/** Starts the measuring thread with the first engine, and anew when it dies. */
export function createMeasuringThread(deps: MeasuringThreadDeps): MeasuringThread {
  return new WorkerMeasuringThread(deps);
}

class WorkerMeasuringThread implements MeasuringThread {
  readonly #deps: MeasuringThreadDeps;
  readonly #members = new Map<number, Member>();
  readonly #abort = new AbortController();
  readonly #icmp: IcmpThread;
  #worker: Worker | null = null;
  #nextId = 1;
  #restarts = 0;
  #restartDelayMs = RESTART_MIN_MS;
  #startedMs = 0;

  constructor(deps: MeasuringThreadDeps) {
    this.#deps = deps;
    this.#icmp = new IcmpThread(deps.logger, deps.icmpWorkerUrl);
  }

  get restarts(): number {
    return this.#restarts;
  }

  async createEngine(config: EngineConfig, handlers: EngineHandlers): Promise<Engine> {
    if (this.#abort.signal.aborted) {
      throw new ProbeError(
        "probe_thread_closed",
        "the measuring thread is closed; no engine can be created in it",
      );
    }
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
    this.#members.set(member.id, member);
    if (this.#worker === null) this.#start();
    else this.#post({ type: "open", engine: member.id, config });
    const ports = await member.opened.promise;
    member.config = { ...config, ...ports };
    this.#setIcmpTask(member);
    return {
      ...ports,
      setPeers: (peers) => {
        member.peers = peers;
        this.#post({ type: "peers", engine: member.id, peers });
        this.#setIcmpTask(member);
      },
      stop: () => this.#stopMember(member),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => this.#stopMember(member)));
    this.#abort.abort(new ProbeError("probe_thread_closed", "the measuring thread was closed"));
    const worker = this.#worker;
    this.#worker = null;
    await Promise.all([worker?.terminate(), this.#icmp.close()]);
  }

  #setIcmpTask({ id, config, peers }: Member): void {
    const { intervalMs, timeoutMs, warmupPackets, zeroCheckIntervalMs } = config;
    const icmpPeers = config.methods.includes("icmp") ? peers.filter(isIpv4) : [];
    this.#icmp.setTask({
      engine: id,
      peers: icmpPeers,
      intervalMs,
      timeoutMs,
      warmupPackets,
      zeroCheckIntervalMs,
    });
  }

  #start(): void {
    const worker = new Worker(this.#deps.workerUrl ?? new URL("./worker.ts", import.meta.url), {
      name: "isochrone-measuring",
      execArgv: [],
    });
    this.#worker = worker;
    this.#startedMs = this.#deps.clock.monotonic();
    let cause: unknown = null;
    worker.on("message", (message: FromWorker) => {
      if (this.#worker === worker) this.#handle(message);
    });
    worker.on("error", (error) => {
      cause = error;
    });
    worker.on("exit", (code) => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#died(cause ?? new Error(`the measuring thread ended with code ${code}`));
    });
    for (const member of this.#members.values()) this.#open(member);
  }

  #died(cause: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.#restarts++;
    if (this.#deps.clock.monotonic() - this.#startedMs > HEALTHY_MS) this.#restartDelayMs = RESTART_MIN_MS;
    const delayMs = this.#restartDelayMs;
    this.#restartDelayMs = Math.min(RESTART_MAX_MS, delayMs * 2);
    this.#deps.logger.error("measuring thread died", {
      error: cause,
      restartInMs: delayMs,
      restarts: this.#restarts,
    });
    for (const member of this.#members.values()) {
      member.closed?.();
      if (!member.wasOpen && ++member.failedStarts >= MAX_FAILED_STARTS) this.#giveUp(member, cause);
    }
    void this.#restartAfter(delayMs);
  }

  #giveUp(member: Member, cause: unknown): void {
    this.#members.delete(member.id);
    const message = `the measuring thread died ${member.failedStarts} times before the engine of ${member.config.node} opened`;
    member.opened.reject(new ProbeError("probe_thread_failed", message, { cause }));
  }

  /** Never rejects: the sleep ends early only when the thread is closed, and then nothing is to be restarted. */
  async #restartAfter(delayMs: number): Promise<void> {
    await this.#deps.clock.sleep(delayMs, this.#abort.signal).catch(() => undefined);
    if (this.#abort.signal.aborted || this.#worker !== null || this.#members.size === 0) return;
    this.#start();
  }

  #handle(message: FromWorker): void {
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
        member.opened.resolve({ udpPort: message.udpPort, tcpPort: message.tcpPort });
        return;
      case "failed":
        this.#openFailed(member, message);
        return;
      case "snapshot":
        member.handlers.onSnapshot(this.#withIcmp(member, message.snapshot));
        return;
      case "closed":
        member.closed?.();
        return;
      default:
        message satisfies never;
    }
  }

  /** The ICMP thread reports on its own; what it said since the last snapshot goes with this one. */
  #withIcmp(member: Member, snapshot: EngineSnapshot): EngineSnapshot {
    const { flows, zeroCheck } = this.#icmp.take(member.id);
    return { ...snapshot, flows: [...snapshot.flows, ...flows], zeroCheck };
  }

  #openFailed(member: Member, { message, errno }: Extract<FromWorker, { type: "failed" }>): void {
    const { bindAddress, udpPort, tcpPort } = member.config;
    const text = `cannot open the echo responder on ${bindAddress}, UDP port ${udpPort}, TCP port ${tcpPort}: ${message}`;
    this.#deps.logger.error("engine failed to open", { node: member.config.node, message: text });
    if (member.wasOpen) {
      void this.#reopenAfter(member, REOPEN_MS);
      return;
    }
    this.#members.delete(member.id);
    member.closed?.();
    member.opened.reject(new ProbeError("probe_bind_failed", text, { retryable: errno === "EADDRINUSE" }));
  }

  async #reopenAfter(member: Member, delayMs: number): Promise<void> {
    await this.#deps.clock.sleep(delayMs, this.#abort.signal).catch(() => undefined);
    if (this.#abort.signal.aborted || !this.#members.has(member.id)) return;
    this.#open(member);
  }

  #open({ id, config, peers }: Member): void {
    this.#post({ type: "open", engine: id, config });
    this.#post({ type: "peers", engine: id, peers });
  }

  async #stopMember(member: Member): Promise<void> {
    if (!this.#members.has(member.id)) return;
    if (this.#worker !== null) {
      const closed = Promise.withResolvers<void>();
      member.closed = closed.resolve;
      this.#post({ type: "close", engine: member.id });
      const timer = new AbortController();
      await Promise.race([
        closed.promise,
        this.#deps.clock.sleep(STOP_DEADLINE_MS, timer.signal).catch(() => {}),
      ]);
      timer.abort();
    }
    this.#members.delete(member.id);
    this.#icmp.remove(member.id);
    member.opened.reject(
      new ProbeError("probe_thread_closed", "the engine was stopped before it had opened"),
    );
  }

  #post(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }
}

function isIpv4(peer: ProbePeer): boolean {
  const bytes = parseAddress(peer.address);
  return bytes !== null && familyOf(bytes) === 4;
}
