import type { ChildProcess } from "node:child_process";
import { pause } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { PodProcessError } from "../errors.ts";
import type { Behaviour } from "../manifest/model.ts";
import type { FromPod, PodConfig, ReceivedCounts, Route, ToPod, Usage } from "../pod/protocol.ts";
import { endChild, hasEnded, sendTo, startChild } from "./child.ts";
import { Questions } from "./questions.ts";

const POD_ENTRY = new URL("../pod/main.ts", import.meta.url);
const ANSWER_MS = 1_000;
const STOP_MS = 2_000;

export interface ContainerPorts {
  readonly port: number;
  readonly metricsPort: number;
}

/** Requests CPU of the node; calls `done` once the work has had it. */
type AskCpu = (cpuMs: number, done: () => void) => void;

export class Container {
  /** Resolves with the exit code; null if killed by a signal. */
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #counts: Questions<ReceivedCounts>;
  readonly #pages: Questions<string>;
  readonly #askCpu: AskCpu | null;
  #received: ReceivedCounts = {};
  #usage: Usage;
  #listening: ((result: ContainerPorts | Error) => void) | null = null;
  #routesSent = "";

  constructor(config: PodConfig, clock: Clock, askCpu: AskCpu | null, commandOn: readonly string[]) {
    this.#clock = clock;
    this.#askCpu = askCpu;
    this.#startedAtMs = clock.now();
    this.#usage = { timeMs: this.#startedAtMs, cpuSeconds: 0, memoryBytes: 0 };
    this.#child = startChild(POD_ENTRY, `${config.identity.namespace}/${config.identity.pod}`, commandOn);
    this.#counts = new Questions(this.#child, clock, ANSWER_MS);
    this.#pages = new Questions(this.#child, clock, ANSWER_MS);
    this.exited = new Promise((resolve) => {
      this.#child.once("exit", (code) => resolve(code));
      this.#child.once("error", () => resolve(null));
    });
    this.#child.on("message", (message: FromPod) => this.#handle(message));
    this.#send({ type: "configure", config });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  get usage(): Usage {
    return this.#usage;
  }

  get received(): ReceivedCounts {
    return this.#received;
  }

  /** Throws PodProcessError if it ends or takes too long. */
  async listening(timeoutMs: number): Promise<ContainerPorts> {
    const answer = new Promise<ContainerPorts | Error>((resolve) => {
      this.#listening = resolve;
    });
    const ended = this.exited.then(
      (code) => new PodProcessError(`pod process ended with code ${code} before it was listening`),
    );
    const stop = new AbortController();
    const late = this.#clock.sleep(timeoutMs, stop.signal).then(
      () => new PodProcessError(`pod process must listen within ${timeoutMs} ms and did not`),
      () => new PodProcessError("not waited for"),
    );
    const result = await Promise.race([answer, ended, late]);
    stop.abort();
    if (result instanceof Error) throw result;
    return result;
  }

  setRoutes(routes: readonly Route[], text: string): void {
    if (text === this.#routesSent) return;
    this.#routesSent = text;
    this.#send({ type: "routes", routes });
  }

  setBehaviour(behaviour: Behaviour): void {
    this.#send({ type: "behaviour", behaviour });
  }

  async askReceived(): Promise<ReceivedCounts> {
    return (await this.#counts.ask((id) => this.#send({ type: "counts", id }))) ?? this.#received;
  }

  /** True if the process has handled everything sent before; false on timeout. */
  async answers(): Promise<boolean> {
    return (await this.#counts.ask((id) => this.#send({ type: "counts", id }))) !== null;
  }

  /** The sidecar's metrics page over IPC, for callers that can't reach its address; null on timeout. */
  askPage(): Promise<string | null> {
    return this.#pages.ask((id) => this.#send({ type: "page", id }));
  }

  async stop(): Promise<void> {
    if (hasEnded(this.#child)) return;
    this.#send({ type: "stop" });
    const stop = new AbortController();
    await endChild(this.#child, Promise.race([this.exited, pause(this.#clock, STOP_MS, stop.signal)]));
    stop.abort();
  }

  #send(message: ToPod): void {
    sendTo(this.#child, message);
  }

  #handle(message: FromPod): void {
    if (message.type === "listening") return this.#listening?.(message);
    if (message.type === "failed")
      return this.#listening?.(new PodProcessError(`pod process failed: ${message.reason}`));
    if (message.type === "page") return this.#pages.settle(message.id, message.text);
    if (message.type === "work") {
      const { id, cpuMs } = message;
      return this.#askCpu?.(cpuMs, () => this.#send({ type: "worked", id }));
    }
    this.#received = message.received;
    if (message.type === "counts") this.#counts.settle(message.id, message.received);
    else this.#usage = message.usage;
  }
}
