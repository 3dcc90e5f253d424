import type { ZeroCheckSnapshot } from "../../ports/ports.ts";
import { canonicalAddress } from "../canonical-address.ts";
import type { EchoFlowOptions } from "../echo-flow.ts";
import type { FromIcmp, IcmpTask, ToIcmp } from "../messages.ts";
import { FpingFlow, fpingTimeoutMs } from "./flow.ts";
import type { FpingEvents, FpingOptions } from "./process.ts";

const REPORT_MS = 500;
/** Changes of targets that come together start one new fping. Milliseconds. */
const SETTLE_MS = 20;
const RESTART_MIN_MS = 100;
const RESTART_MAX_MS = 10_000;
/** An fping that ran so long starts again with the short pause. Milliseconds. */
const HEALTHY_MS = 30_000;
const LOOPBACK = "127.0.0.1";

interface FpingHostDeps {
  monotonic(): number;
  /** Returns a function that calls it off. */
  later(run: () => void, delayMs: number): () => void;
  startProcess(options: FpingOptions, events: FpingEvents): { stop(): void };
  post(message: FromIcmp): void;
}

interface Member {
  readonly flows: Map<string, FpingFlow>;
  zero: FpingFlow | null;
}

/** Everything that one fping can do: the flows of the same interval, timeout, size and code point. */
interface Group {
  /** By target; engines may share one. */
  readonly flows: Map<string, Set<FpingFlow>>;
  process: { stop(): void } | null;
  startedMs: number;
  restartDelayMs: number;
  /** A start that waits. */
  callOff: (() => void) | null;
}

/**
 * Runs an fping per group of flows, starts it anew when its targets change or it dies, and counts what it
 * says.
 */
export class FpingHost {
  readonly #deps: FpingHostDeps;
  readonly #members = new Map<number, Member>();
  readonly #groups = new Map<string, Group>();
  #callOffReport: (() => void) | null = null;

  constructor(deps: FpingHostDeps) {
    this.#deps = deps;
  }

  handle(message: ToIcmp): void {
    switch (message.type) {
      case "task":
        this.#setTask(message.task);
        this.#callOffReport ??= this.#deps.later(() => this.#reportAll(), REPORT_MS);
        return;
      case "remove":
        this.#remove(message.engine);
        this.#deps.post({ type: "removed", engine: message.engine });
        return;
      case "stop":
        for (const engine of this.#members.keys()) this.#remove(engine);
        this.#callOffReport?.();
        return;
      default:
        message satisfies never;
    }
  }

  #setTask(task: IcmpTask): void {
    const member: Member = this.#members.get(task.engine) ?? { flows: new Map(), zero: null };
    this.#members.set(task.engine, member);
    const wanted = new Map(
      task.peers.map(({ node, address }) => {
        const options = optionsOf(task, node, address);
        return [JSON.stringify(options), options];
      }),
    );
    for (const [key, flow] of member.flows) {
      if (wanted.has(key)) continue;
      this.#end(flow);
      member.flows.delete(key);
    }
    for (const [key, options] of wanted) {
      if (!member.flows.has(key)) member.flows.set(key, this.#begin(options));
    }
    const intervalMs = task.zeroCheckIntervalMs;
    if (member.zero?.options.intervalMs === intervalMs) return;
    if (member.zero !== null) this.#end(member.zero);
    const zeroOptions = { ...optionsOf(task, "", LOOPBACK), intervalMs };
    member.zero = intervalMs > 0 ? this.#begin(zeroOptions) : null;
  }

  #remove(engine: number): void {
    const member = this.#members.get(engine);
    if (member === undefined) return;
    this.#report(engine, member);
    this.#members.delete(engine);
    for (const flow of member.flows.values()) this.#end(flow);
    if (member.zero !== null) this.#end(member.zero);
  }

  #begin(options: EchoFlowOptions): FpingFlow {
    const flow = new FpingFlow(options);
    const key = groupKey(options);
    const group = this.#groups.get(key) ?? newGroup();
    this.#groups.set(key, group);
    const sharing = group.flows.get(options.address) ?? new Set();
    group.flows.set(options.address, sharing.add(flow));
    this.#restart(group, SETTLE_MS);
    return flow;
  }

  #end(flow: FpingFlow): void {
    const { address } = flow.options;
    const key = groupKey(flow.options);
    const group = this.#groups.get(key);
    const sharing = group?.flows.get(address);
    if (group === undefined || sharing === undefined) return;
    sharing.delete(flow);
    if (sharing.size > 0) return;
    group.flows.delete(address);
    if (group.flows.size > 0) {
      this.#restart(group, SETTLE_MS);
      return;
    }
    this.#groups.delete(key);
    group.callOff?.();
    group.process?.stop();
  }

  /** An earlier start that waits is replaced; the fping of before goes on until then. */
  #restart(group: Group, delayMs: number): void {
    group.callOff?.();
    group.callOff = this.#deps.later(() => this.#start(group), delayMs);
  }

  #start(group: Group): void {
    group.callOff = null;
    group.process?.stop();
    const flows = [...group.flows.values()].flatMap((sharing) => [...sharing]);
    const options = flows[0]?.options;
    if (options === undefined) return;
    group.startedMs = this.#deps.monotonic();
    for (const flow of flows) flow.started(group.startedMs);
    group.process = this.#deps.startProcess(
      { ...options, timeoutMs: fpingTimeoutMs(options.timeoutMs), targets: [...group.flows.keys()] },
      {
        onLine: (line) => {
          const nowMs = this.#deps.monotonic();
          for (const flow of group.flows.get(line.target) ?? []) flow.hear(line, nowMs);
        },
        onEnd: (reason) => this.#died(group, reason),
      },
    );
  }

  #died(group: Group, reason: string): void {
    group.process = null;
    const nowMs = this.#deps.monotonic();
    for (const sharing of group.flows.values()) for (const flow of sharing) flow.ended(nowMs);
    if (nowMs - group.startedMs > HEALTHY_MS) group.restartDelayMs = RESTART_MIN_MS;
    const delayMs = group.restartDelayMs;
    group.restartDelayMs = Math.min(RESTART_MAX_MS, 2 * delayMs);
    this.#deps.post({ type: "restarted", reason, inMs: delayMs });
    this.#restart(group, delayMs);
  }

  #reportAll(): void {
    this.#callOffReport = this.#deps.later(() => this.#reportAll(), REPORT_MS);
    for (const [engine, member] of this.#members) this.#report(engine, member);
  }

  #report(engine: number, { flows, zero }: Member): void {
    const nowMs = this.#deps.monotonic();
    for (const flow of flows.values()) flow.sweep(nowMs);
    zero?.sweep(nowMs);
    const zeroCheck = zero === null ? null : zeroCheckOf(zero);
    const snapshots = Array.from(flows.values(), (flow) => flow.take());
    this.#deps.post({ type: "report", engine, report: { flows: snapshots, zeroCheck } });
  }
}

function newGroup(): Group {
  return {
    flows: new Map(),
    process: null,
    startedMs: 0,
    restartDelayMs: RESTART_MIN_MS,
    callOff: null,
  };
}

function groupKey({ intervalMs, timeoutMs, dscp, payloadBytes }: EchoFlowOptions): string {
  return [intervalMs, timeoutMs, dscp, payloadBytes].join(" ");
}

function optionsOf(task: IcmpTask, node: string, address: string): EchoFlowOptions {
  const { intervalMs, timeoutMs, warmupPackets, dscp, payloadBytes } = task;
  return { node, ...canonicalAddress(address), intervalMs, timeoutMs, warmupPackets, dscp, payloadBytes };
}

function zeroCheckOf(flow: FpingFlow): ZeroCheckSnapshot {
  const { outcomes, rtt } = flow.take();
  const source = rtt.count > 0 ? "user" : "none";
  return { source, sent: outcomes.sent, received: outcomes.received, rtt };
}
