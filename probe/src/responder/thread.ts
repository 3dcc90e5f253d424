import { pause, type Clock, type Logger } from "@isochrone/runtime";
import { ProbeError } from "../ports/errors.ts";
import type { EngineConfig, PacketKey, ResponderSnapshot } from "../ports/ports.ts";
import type { Carrier, CarrierEvents } from "../workers/carrier.ts";
import { SupervisedWorker } from "../workers/supervised-worker.ts";
import type { FromResponder, ResponderConfig, ToResponder } from "./messages.ts";

const REOPEN_MS = 1000;
const MAX_FAILED_STARTS = 3;
const CLOSE_DEADLINE_MS = 2000;

export interface ResponderThreadDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** `node`: never use kernel sockets. @default "auto" */
  readonly sockets?: "auto" | "node";
  readonly workerUrl?: URL;
  /** Runs the responders. @default their own thread */
  carry?(events: CarrierEvents<FromResponder>): Carrier<ToResponder>;
}

interface Member {
  readonly id: number;
  /** With the ports assigned at first: peers keep using them after a restart. */
  config: ResponderConfig;
  /** True once opened: a later failure to open is temporary. */
  wasOpen: boolean;
  failedStarts: number;
  readonly opened: PromiseWithResolvers<{ udpPort: number; tcpPort: number }>;
  closed: (() => void) | null;
}

/** Responders of all engines of a process. The thread starts with the first one and restarts when it dies. */
export class ResponderThread {
  readonly #deps: ResponderThreadDeps;
  readonly #worker: Carrier<ToResponder>;
  readonly #members = new Map<number, Member>();
  readonly #counts = new Map<number, { answered: number; refused: Record<string, number> }>();
  readonly #closing = new AbortController();

  constructor(deps: ResponderThreadDeps) {
    const { clock, logger, sockets = "auto", workerUrl = new URL("./worker.ts", import.meta.url) } = deps;
    this.#deps = deps;
    const events: CarrierEvents<FromResponder> = {
      onStart: () => this.#openAll(),
      onMessage: (message) => this.#handle(message),
      onDeath: (cause) => this.#died(cause),
      isNeeded: () => this.#members.size > 0,
    };
    const thread = { name: "isochrone-responder", title: "responder thread", url: workerUrl };
    this.#worker =
      deps.carry?.(events) ??
      new SupervisedWorker({ ...events, ...thread, data: { sockets }, clock, logger });
  }

  get restarts(): number {
    return this.#worker.restarts;
  }

  /**
   * Opens engine `id`'s responder; resolves with its ports. Rejects with a ProbeError: `probe_bind_failed`
   * (retryable if the port is taken), `probe_thread_failed`, `probe_thread_closed`.
   */
  async open(
    id: number,
    config: EngineConfig,
  ): Promise<{ readonly udpPort: number; readonly tcpPort: number }> {
    if (this.#closing.signal.aborted)
      throw closedError("the responder thread is closed; nothing can be opened in it");
    const opened = Promise.withResolvers<{ udpPort: number; tcpPort: number }>();
    const member: Member = {
      id,
      config: partOf(config),
      wasOpen: false,
      failedStarts: 0,
      opened,
      closed: null,
    };
    this.#members.set(id, member);
    if (this.#worker.running) this.#worker.post({ type: "open", id, config: member.config });
    else this.#worker.start();
    return opened.promise;
  }

  /** Requests signed by replaced keys are answered for another minute. */
  setKeys(id: number, keys: readonly PacketKey[], signingKeyId: number): void {
    const member = this.#members.get(id);
    if (member === undefined) return;
    member.config = { ...member.config, keys, signingKeyId };
    this.#worker.post({ type: "keys", id, keys, signingKeyId });
  }

  /** Activity since the previous call, up to a tenth of a second old. Complete after `close`. */
  drain(id: number): ResponderSnapshot {
    const counts = this.#counts.get(id);
    this.#counts.delete(id);
    return counts ?? { answered: 0, refused: {} };
  }

  async close(id: number): Promise<void> {
    const member = this.#members.get(id);
    if (member === undefined) return;
    const closed = Promise.withResolvers<void>();
    member.closed = closed.resolve;
    if (this.#worker.post({ type: "close", id })) {
      const timer = new AbortController();
      await Promise.race([closed.promise, pause(this.#deps.clock, CLOSE_DEADLINE_MS, timer.signal)]);
      timer.abort();
    }
    this.#members.delete(id);
    member.opened.reject(closedError("the responder was closed before it had opened"));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#members.keys()].map((id) => this.close(id)));
    this.#closing.abort();
    await this.#worker.close();
  }

  #openAll(): void {
    for (const { id, config } of this.#members.values()) this.#worker.post({ type: "open", id, config });
  }

  #handle(message: FromResponder): void {
    if (message.type === "ready") {
      const { sockets, reason } = message;
      this.#deps.logger.info("responder thread ready", { sockets, ...(reason === null ? {} : { reason }) });
    } else if (message.type === "fault") {
      const { message: text } = message;
      this.#deps.logger.warnOnce(`responder-fault:${text}`, "responder thread task failed", {
        message: text,
      });
    } else if (message.type === "report") this.#count(message.id, message.snapshot);
    else {
      const member = this.#members.get(message.id);
      if (member !== undefined) this.#handleOf(member, message);
    }
  }

  #handleOf(member: Member, message: Extract<FromResponder, { type: "opened" | "failed" | "closed" }>): void {
    if (message.type === "closed") member.closed?.();
    else if (message.type === "failed") this.#openFailed(member, message);
    else {
      const { udpPort, tcpPort } = message;
      member.wasOpen = true;
      member.config = { ...member.config, udpPort, tcpPort };
      member.opened.resolve({ udpPort, tcpPort });
    }
  }

  #count(id: number, { answered, refused }: ResponderSnapshot): void {
    const counts = this.#counts.get(id) ?? { answered: 0, refused: {} };
    this.#counts.set(id, counts);
    counts.answered += answered;
    for (const [reason, count] of Object.entries(refused))
      counts.refused[reason] = (counts.refused[reason] ?? 0) + count;
  }

  #died(cause: unknown): void {
    for (const member of this.#members.values()) {
      member.closed?.();
      if (member.wasOpen || ++member.failedStarts < MAX_FAILED_STARTS) continue;
      this.#members.delete(member.id);
      const message = `the responder thread died ${member.failedStarts} times before the responder of ${member.config.node} opened`;
      member.opened.reject(new ProbeError("probe_thread_failed", message, { cause }));
    }
  }

  #openFailed(member: Member, { message, errno }: Extract<FromResponder, { type: "failed" }>): void {
    const { node, bindAddress, udpPort, tcpPort } = member.config;
    const text = `cannot open the echo responder on ${bindAddress}, UDP port ${udpPort}, TCP port ${tcpPort}: ${message}`;
    this.#deps.logger.error("responder failed to open", { node, message: text });
    if (member.wasOpen) {
      void this.#reopen(member);
      return;
    }
    this.#members.delete(member.id);
    member.closed?.();
    member.opened.reject(new ProbeError("probe_bind_failed", text, { retryable: errno === "EADDRINUSE" }));
  }

  /** Never rejects: only closing the thread ends the pause early. */
  async #reopen(member: Member): Promise<void> {
    await pause(this.#deps.clock, REOPEN_MS, this.#closing.signal);
    if (this.#closing.signal.aborted || this.#members.get(member.id) !== member) return;
    this.#worker.post({ type: "open", id: member.id, config: member.config });
  }
}

function partOf(config: EngineConfig): ResponderConfig {
  const { node, identity, bindAddress, udpPort, tcpPort, keys, signingKeyId } = config;
  const { acceptTranslatedSource, responderPacketsPerSecond } = config;
  return {
    node,
    identity,
    bindAddress,
    udpPort,
    tcpPort,
    keys,
    signingKeyId,
    acceptTranslatedSource,
    responderPacketsPerSecond,
  };
}

function closedError(message: string): ProbeError {
  return new ProbeError("probe_thread_closed", message);
}
