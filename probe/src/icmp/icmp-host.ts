import { MinHeap } from "@isochrone/primitives";
import { onTick } from "../domain/ticks.ts";
import type { ZeroCheckSnapshot } from "../ports/ports.ts";
import { canonicalAddress } from "./canonical-address.ts";
import { EchoFlow, type EchoFlowOptions } from "./echo-flow.ts";
import type { EchoHandlers, EchoPort, ReceivedEcho } from "./echo-port.ts";
import { InFlightRing } from "./in-flight.ts";
import type { FromIcmp, IcmpReport, IcmpTask, ToIcmp } from "./messages.ts";

/** Maximum blocking time while replies are due; messages wait as long. Milliseconds. */
const MAX_WAIT_MS = 20;
const MAX_SLEEP_MS = 200;
const YIELD_MS = 10;
/** Report interval per flow, up to the bound: reports cost time per flow. Milliseconds. */
const REPORT_MS_PER_FLOW = 1;
const MIN_REPORT_MS = 500;
const MAX_REPORT_MS = 5000;
/** Packets remembered by number: minimum and maximum, powers of two. */
const REMEMBERED_PACKETS = 1 << 10;
const MAX_REMEMBERED_PACKETS = 1 << 17;
const MAX_BURST = 32;
/** Above this rate, wake-ups per packet cost too much; kernel stamps don't depend on reading. Per second. */
const DENSE_PER_SECOND = 1000;
/** Below this packet rate flows share wake-ups; above it they are spread to avoid bursts. Per second. */
const SHARED_PER_SECOND = 100;
const DENSE_NAP_MS = 1;
const LOOPBACK = "127.0.0.1";

export interface IcmpHostDeps {
  readonly port: EchoPort;
  monotonic(): number;
  random(): number;
  /** Runs `run` after `delayMs`; 0: after checking messages. */
  later(run: () => void, delayMs: number): void;
  post(message: FromIcmp): void;
  /** Suppresses reports that `take` will return: the owner is in the same thread. @default false */
  readonly isAsked?: boolean;
}

interface Member {
  readonly flows: Map<string, EchoFlow>;
  zero: EchoFlow | null;
}

/** The scheduling loop of all engines: send due packets, wait for replies, yield, repeat. */
export class IcmpHost implements EchoHandlers {
  readonly #deps: IcmpHostDeps;
  readonly #members = new Map<number, Member>();
  readonly #due = new MinHeap<EchoFlow>();
  readonly #inFlight = new InFlightRing(REMEMBERED_PACKETS);
  #waiting = 0;
  #flowCount = 0;
  #remembered = 0;
  #rate = 0;
  #reportMs = 0;
  #running = false;
  #burst = false;
  /** Packets sent before this time use the thread's clock: the port's has stepped since. */
  #clockStepMs = Number.NEGATIVE_INFINITY;

  constructor(deps: IcmpHostDeps) {
    this.#deps = deps;
  }

  handle(message: ToIcmp): void {
    if (message.type === "remove") {
      this.#remove(message.engine);
      this.#deps.post({ type: "removed", engine: message.engine });
      return;
    }
    if (message.type === "stop") {
      this.#stop();
      return;
    }
    this.#setTask(message.task);
    if (this.#running) return;
    this.#running = true;
    this.#reportMs =
      this.#deps.isAsked === true ? Number.POSITIVE_INFINITY : this.#deps.monotonic() + MIN_REPORT_MS;
    this.#cycle();
  }

  /** Returns the activity since the last report; null for an unknown engine. */
  take(engine: number): IcmpReport | null {
    const member = this.#members.get(engine);
    return member === undefined ? null : reportOf(member);
  }

  onAccepted(number: number): void {
    const entry = this.#inFlight.find(number);
    if (entry === null) return;
    const { flow, sentMs } = entry;
    this.#follow(flow, () => this.#inFlight.setSequence(number, flow.sent(sentMs)));
  }

  onRefused(number: number, error: string): void {
    this.#inFlight.find(number)?.flow.refused(error);
  }

  onDeparted(number: number, departedNs: number): void {
    this.#inFlight.setDeparted(number, departedNs);
  }

  onReply(number: number, reply: ReceivedEcho): void {
    const entry = this.#inFlight.find(number);
    if (entry === null || entry.sequence < 0) return;
    const { flow, sequence, sentMs, departedNs } = entry;
    if (reply.source !== flow.options.address) flow.corrupt("wrong_source");
    else if (reply.payloadBytes !== flow.options.payloadBytes) flow.corrupt("bad_length");
    else {
      const comparable = sentMs > this.#clockStepMs;
      const stampsMs = comparable ? (reply.receivedNs - departedNs) / 1e6 : Number.NaN;
      const atMs = this.#deps.monotonic();
      this.#follow(flow, () => flow.reply(sequence, atMs, reply, stampsMs, this.#deps.port.stampedBy));
    }
  }

  onCorrupt(number: number, shortNumber: number, source: string): void {
    const whole = this.#inFlight.find(number);
    const entry =
      whole?.flow.options.address === source ? whole : this.#inFlight.findShort(shortNumber, source);
    entry?.flow.corrupt("bad_payload");
  }

  onUnreachable(shortNumber: number, target: string, error: string): void {
    this.#inFlight.findShort(shortNumber, target)?.flow.unreachable(error);
  }

  onClockStep(): void {
    this.#clockStepMs = this.#deps.monotonic();
  }

  #setTask(task: IcmpTask): void {
    const member: Member = this.#members.get(task.engine) ?? { flows: new Map(), zero: null };
    this.#members.set(task.engine, member);
    const wanted = new Map(task.peers.map((peer) => [keyOf(task, peer.node, peer.address), peer]));
    // Includes the counts of ending flows.
    if ([...member.flows.keys()].some((key) => !wanted.has(key))) this.#report(task.engine, member);
    for (const [key, flow] of member.flows) {
      if (wanted.has(key)) continue;
      this.#end(flow);
      member.flows.delete(key);
    }
    for (const [key, { node, address }] of wanted) {
      if (!member.flows.has(key)) member.flows.set(key, this.#begin(optionsOf(task, node, address)));
    }
    const zeroOptions = { ...optionsOf(task, "", LOOPBACK), intervalMs: task.zeroCheckIntervalMs };
    if (member.zero?.options.intervalMs === task.zeroCheckIntervalMs) return;
    if (member.zero !== null) this.#end(member.zero);
    member.zero = task.zeroCheckIntervalMs > 0 ? this.#begin(zeroOptions) : null;
  }

  #remove(engine: number): void {
    const member = this.#members.get(engine);
    if (member === undefined) return;
    this.#report(engine, member);
    this.#members.delete(engine);
    for (const flow of flowsOf(member)) this.#end(flow);
  }

  #stop(): void {
    for (const engine of this.#members.keys()) this.#remove(engine);
    this.#deps.port.close();
  }

  #begin(options: EchoFlowOptions): EchoFlow {
    const route = this.#deps.port.open(options);
    const firstMs = this.#deps.monotonic() + this.#deps.random() * options.intervalMs;
    const isShared = this.#rate < SHARED_PER_SECOND;
    const flow = new EchoFlow(options, route, isShared ? onTick(firstMs, options.intervalMs) : firstMs);
    this.#flowCount++;
    this.#remembered += flow.remembered;
    const needed = 2 ** Math.ceil(Math.log2(this.#remembered));
    this.#inFlight.grow(Math.min(MAX_REMEMBERED_PACKETS, needed));
    this.#rate += 1000 / options.intervalMs;
    this.#due.push(flow.nextMs, flow);
    return flow;
  }

  #end(flow: EchoFlow): void {
    flow.active = false;
    flow.route.close();
    this.#waiting -= flow.waiting;
    this.#flowCount--;
    this.#remembered -= flow.remembered;
    this.#rate -= 1000 / flow.options.intervalMs;
  }

  #cycle(): void {
    const untilMs = this.#deps.monotonic() + YIELD_MS;
    for (;;) {
      if (this.#members.size === 0) {
        this.#running = false;
        return;
      }
      this.#deps.port.drain(this);
      const nowMs = this.#deps.monotonic();
      if (nowMs >= this.#reportMs) this.#reportAll(nowMs);
      if (this.#sendDue(nowMs) > 0) this.#deps.port.drain(this);
      const delayMs = this.#rest();
      if (delayMs === null && this.#deps.monotonic() < untilMs) continue;
      this.#deps.later(() => this.#cycle(), delayMs ?? 0);
      return;
    }
  }

  #sendDue(nowMs: number): number {
    let sends = 0;
    this.#burst = false;
    while (this.#due.size > 0 && this.#due.nextKey <= nowMs) {
      const due = this.#due.pop()!;
      if (!due.active) continue;
      this.#follow(due, () => due.expire(nowMs));
      let nextMs = Number.POSITIVE_INFINITY;
      if (due.dueMs <= nowMs) {
        due.route.queue(this.#inFlight.add(due, this.#deps.monotonic()));
        due.advance(nowMs);
        sends++;
        // Whether it was sent is only known later.
        nextMs = nowMs + due.options.timeoutMs;
      }
      this.#due.push(Math.min(nextMs, due.nextMs), due);
      this.#burst = sends === MAX_BURST;
      if (this.#burst) break;
    }
    if (sends > 0) this.#deps.port.flush(this);
    return sends;
  }

  /** Waits in the kernel and returns null; if that is impossible, returns how long the event loop may run. */
  #rest(): number | null {
    const { port } = this.#deps;
    const restMs = Math.max(0, Math.min(this.#due.nextKey, this.#reportMs) - this.#deps.monotonic());
    if (this.#waiting === 0 && restMs > MAX_WAIT_MS) return Math.min(restMs, MAX_SLEEP_MS);
    const dense = this.#burst || (this.#rate > DENSE_PER_SECOND && port.stampedBy === "kernel");
    const rested = dense
      ? port.nap(Math.min(Math.max(restMs, DENSE_NAP_MS), MAX_WAIT_MS))
      : port.wait(Math.min(restMs, MAX_WAIT_MS));
    return rested ? null : Math.min(restMs, MAX_SLEEP_MS);
  }

  /** Runs a step that may decide packets, and updates the waiting count. */
  #follow(flow: EchoFlow, run: () => void): void {
    const before = flow.waiting;
    run();
    if (flow.active) this.#waiting += flow.waiting - before;
  }

  #reportAll(nowMs: number): void {
    const every = Math.max(MIN_REPORT_MS, Math.min(MAX_REPORT_MS, this.#flowCount * REPORT_MS_PER_FLOW));
    this.#reportMs = nowMs + every;
    for (const [engine, member] of this.#members) this.#report(engine, member);
  }

  #report(engine: number, member: Member): void {
    this.#deps.post({ type: "report", engine, report: reportOf(member) });
  }
}

function reportOf({ flows, zero }: Member): IcmpReport {
  return {
    flows: Array.from(flows.values(), (flow) => flow.drain()),
    zeroCheck: zero === null ? null : zeroCheckOf(zero),
  };
}

function* flowsOf({ flows, zero }: Member): Iterable<EchoFlow> {
  yield* flows.values();
  if (zero !== null) yield zero;
}

/** Includes every property whose change makes it another flow. */
function keyOf(
  { intervalMs, timeoutMs, dscp, payloadBytes }: IcmpTask,
  node: string,
  address: string,
): string {
  return JSON.stringify([node, address, intervalMs, timeoutMs, dscp, payloadBytes]);
}

function optionsOf(task: IcmpTask, node: string, address: string): EchoFlowOptions {
  const { intervalMs, timeoutMs, warmupPackets, dscp, payloadBytes } = task;
  return { node, ...canonicalAddress(address), intervalMs, timeoutMs, warmupPackets, dscp, payloadBytes };
}

function zeroCheckOf(flow: EchoFlow): ZeroCheckSnapshot {
  const source = flow.stampedBy ?? "none";
  const { outcomes, rtt } = flow.drain();
  return { source, sent: outcomes.sent, received: outcomes.received, rtt };
}
