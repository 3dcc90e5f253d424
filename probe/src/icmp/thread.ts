import { Worker } from "node:worker_threads";
import { Distribution, type Outcome } from "@isochrone/telemetry";
import type { Logger } from "@isochrone/runtime";
import { noOutcomes } from "../domain/tally.ts";
import type { FlowSnapshot, ZeroCheckSnapshot } from "../ports.ts";
import type { FromIcmp, IcmpReport, IcmpTask, ToIcmp } from "./messages.ts";

const NOTHING: IcmpReport = { flows: [], zeroCheck: null };

/** The main thread's side of the ICMP thread, which starts with the first task. Where ICMP can't run it says so once, and reports nothing. */
export class IcmpThread {
  readonly #logger: Logger;
  readonly #workerUrl: URL;
  /** Reports that no snapshot has taken yet. */
  readonly #reports = new Map<number, IcmpReport>();
  #worker: Worker | null = null;
  #state: "idle" | "running" | "unavailable" | "closed" = "idle";

  constructor(logger: Logger, workerUrl = new URL("./worker.ts", import.meta.url)) {
    this.#logger = logger;
    this.#workerUrl = workerUrl;
  }

  setTask(task: IcmpTask): void {
    const wanted = task.peers.length > 0 || task.zeroCheckIntervalMs > 0;
    if (this.#state === "idle" && wanted) this.#start();
    this.#post({ type: "task", task });
  }

  remove(engine: number): void {
    this.#reports.delete(engine);
    this.#post({ type: "remove", engine });
  }

  /** What came for the engine since the last call. */
  take(engine: number): IcmpReport {
    const report = this.#reports.get(engine) ?? NOTHING;
    this.#reports.delete(engine);
    return report;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#state = "closed";
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): void {
    this.#state = "running";
    const worker = new Worker(this.#workerUrl, { name: "isochrone-icmp", execArgv: [] });
    this.#worker = worker;
    worker.on("message", (message: FromIcmp) => this.#handle(message));
    worker.on("error", (error) => this.#unavailable(error.message));
    worker.on("exit", (code) => this.#unavailable(`the ICMP thread ended with code ${code}`));
  }

  #handle(message: FromIcmp): void {
    if (message.type === "unavailable") this.#unavailable(message.reason);
    else if (message.type === "ready") this.#logger.info("ICMP thread ready", { socket: message.socket });
    else {
      const waiting = this.#reports.get(message.engine);
      this.#reports.set(
        message.engine,
        waiting === undefined ? message.report : mergeReports(waiting, message.report),
      );
    }
  }

  #unavailable(reason: string): void {
    if (this.#state !== "running") return;
    this.#state = "unavailable";
    this.#worker = null;
    this.#logger.warn("ICMP not available; the other methods go on", { reason });
  }

  #post(message: ToIcmp): void {
    this.#worker?.postMessage(message);
  }
}

function mergeReports(a: IcmpReport, b: IcmpReport): IcmpReport {
  const flows = new Map(a.flows.map((flow) => [flow.node, flow]));
  for (const flow of b.flows) {
    const known = flows.get(flow.node);
    flows.set(flow.node, known === undefined ? flow : mergeFlows(known, flow));
  }
  return { flows: [...flows.values()], zeroCheck: mergeZeroChecks(a.zeroCheck, b.zeroCheck) };
}

function mergeFlows(a: FlowSnapshot, b: FlowSnapshot): FlowSnapshot {
  const outcomes = noOutcomes();
  for (const name of Object.keys(outcomes) as Outcome[]) outcomes[name] = a.outcomes[name] + b.outcomes[name];
  return {
    ...b,
    outcomes,
    errors: addCounts(a.errors, b.errors),
    discards: addCounts(a.discards, b.discards),
    variationSeconds: a.variationSeconds + b.variationSeconds,
    variationCount: a.variationCount + b.variationCount,
    rtt: mergeDistributions(a.rtt, b.rtt),
  };
}

function mergeZeroChecks(a: ZeroCheckSnapshot | null, b: ZeroCheckSnapshot | null): ZeroCheckSnapshot | null {
  if (a === null || b === null) return a ?? b;
  const sources = [a.source, b.source].filter((source) => source !== "none");
  const source = sources.includes("user") ? "user" : (sources[0] ?? "none");
  return {
    source,
    sent: a.sent + b.sent,
    received: a.received + b.received,
    rtt: mergeDistributions(a.rtt, b.rtt),
  };
}

function mergeDistributions(a: FlowSnapshot["rtt"], b: FlowSnapshot["rtt"]): FlowSnapshot["rtt"] {
  const merged = new Distribution();
  merged.mergeData(a);
  merged.mergeData(b);
  return merged.toData();
}

function addCounts(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
