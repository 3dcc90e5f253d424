import type { ZeroCheckSnapshot } from "../ports.ts";
import { EchoFlow } from "./echo-flow.ts";
import type { EchoSocketHandlers, ReceivedEcho } from "./echo-socket.ts";
import type { FromIcmp, IcmpTask, ToIcmp } from "./messages.ts";

/** Longest time that the thread is blocked waiting for a reply: then it looks for messages. Milliseconds. */
const MAX_WAIT_MS = 20;
/** Longest sleep when nothing is due. Milliseconds. */
const MAX_SLEEP_MS = 200;
const REPORT_MS = 500;
/** Sent packets whose flow is remembered. */
const MAX_IN_FLIGHT = 65_536;
/** The address that answers without a network in between. */
const LOOPBACK = "127.0.0.1";

/** The part of EchoSocket that the host uses. */
export interface EchoPort {
  send(target: string, sequence: number): { readonly number: number } | { readonly error: string };
  drain(handlers: EchoSocketHandlers): void;
  wait(timeoutMs: number): void;
}

export interface IcmpHostDeps {
  readonly socket: EchoPort;
  monotonic(): number;
  /** Uniform in [0, 1). */
  random(): number;
  /** Runs `run` after `delayMs`; 0 = as soon as messages were looked at. */
  later(run: () => void, delayMs: number): void;
  post(message: FromIcmp): void;
}

interface InFlight {
  readonly flow: EchoFlow;
  readonly sequence: number;
  sentKernelNs: bigint;
}

interface Member {
  readonly flows: Map<string, EchoFlow>;
  zero: EchoFlow | null;
}

/** The one scheduling loop of the ICMP thread, for all engines: send what is due, wait for replies, yield, again. */
export class IcmpHost implements EchoSocketHandlers {
  readonly #deps: IcmpHostDeps;
  readonly #members = new Map<number, Member>();
  /** By the number in the packet. */
  readonly #inFlight = new Map<number, InFlight>();
  /** By the socket's send number, until the kernel's send time has come. */
  readonly #unstamped = new Map<number, InFlight>();
  #nextSequence = 0;
  #reportMs = 0;
  #running = false;

  constructor(deps: IcmpHostDeps) {
    this.#deps = deps;
  }

  handle(message: ToIcmp): void {
    if (message.type === "remove") {
      this.#report(message.engine);
      this.#members.delete(message.engine);
      return;
    }
    this.#setTask(message.task);
    if (this.#running) return;
    this.#running = true;
    this.#reportMs = this.#deps.monotonic() + REPORT_MS;
    this.#cycle();
  }

  onReply(reply: ReceivedEcho): void {
    const atMs = this.#deps.monotonic();
    const entry = this.#inFlight.get(reply.sequence);
    if (entry === undefined) return;
    if (reply.kind === "corrupt") entry.flow.corrupt("bad_payload");
    else if (reply.source !== entry.flow.target) entry.flow.corrupt("wrong_source");
    else entry.flow.reply(entry.sequence, atMs, kernelRoundTripMs(entry.sentKernelNs, reply.kernelNs));
  }

  onSent(sendNumber: number, kernelNs: bigint): void {
    const entry = this.#unstamped.get(sendNumber);
    if (entry === undefined) return;
    entry.sentKernelNs = kernelNs;
    this.#unstamped.delete(sendNumber);
  }

  #setTask(task: IcmpTask): void {
    const member: Member = this.#members.get(task.engine) ?? { flows: new Map(), zero: null };
    this.#members.set(task.engine, member);
    const { intervalMs, timeoutMs, warmupPackets } = task;
    const startMs = this.#deps.monotonic();
    const wanted = new Map(task.peers.map((peer) => [`${peer.node} ${peer.address}`, peer]));
    for (const key of member.flows.keys()) if (!wanted.has(key)) member.flows.delete(key);
    for (const [key, { node, address }] of wanted) {
      if (member.flows.has(key)) continue;
      const options = { node, target: address, intervalMs, timeoutMs, warmupPackets };
      member.flows.set(key, new EchoFlow(options, startMs, this.#deps.random()));
    }
    if (task.zeroCheckIntervalMs > 0) {
      const options = {
        node: "",
        target: LOOPBACK,
        intervalMs: task.zeroCheckIntervalMs,
        timeoutMs,
        warmupPackets,
      };
      member.zero ??= new EchoFlow(options, startMs, this.#deps.random());
    }
  }

  #cycle(): void {
    if (this.#members.size === 0) {
      this.#running = false;
      return;
    }
    this.#deps.socket.drain(this);
    const nowMs = this.#deps.monotonic();
    for (const flow of this.#flows()) {
      flow.expire(nowMs);
      if (flow.dueMs <= nowMs) this.#send(flow);
    }
    if (nowMs >= this.#reportMs) this.#reportAll(nowMs);
    this.#deps.socket.drain(this);
    this.#rest();
  }

  /** Blocks while replies are due; sleeps, so that messages get through, when none is. */
  #rest(): void {
    let dueMs = this.#reportMs;
    let waiting = 0;
    for (const flow of this.#flows()) {
      dueMs = Math.min(dueMs, flow.dueMs);
      waiting += flow.waiting;
    }
    const restMs = Math.max(0, dueMs - this.#deps.monotonic());
    if (waiting > 0) this.#deps.socket.wait(Math.min(restMs, MAX_WAIT_MS));
    this.#deps.later(() => this.#cycle(), waiting > 0 ? 0 : Math.min(restMs, MAX_SLEEP_MS));
  }

  #send(flow: EchoFlow): void {
    const number = this.#nextSequence++ >>> 0;
    const sentMs = this.#deps.monotonic();
    flow.advance(sentMs);
    const sent = this.#deps.socket.send(flow.target, number);
    if ("error" in sent) {
      flow.sendFailed(sent.error);
      // The socket counts from 0 again.
      this.#unstamped.clear();
      return;
    }
    const entry: InFlight = { flow, sequence: flow.sent(sentMs), sentKernelNs: 0n };
    this.#inFlight.set(number, entry);
    this.#unstamped.set(sent.number, entry);
    trim(this.#inFlight);
    trim(this.#unstamped);
  }

  *#flows(): Iterable<EchoFlow> {
    for (const { flows, zero } of this.#members.values()) {
      yield* flows.values();
      if (zero !== null) yield zero;
    }
  }

  #reportAll(nowMs: number): void {
    this.#reportMs = nowMs + REPORT_MS;
    for (const engine of this.#members.keys()) this.#report(engine);
  }

  #report(engine: number): void {
    const member = this.#members.get(engine);
    if (member === undefined) return;
    const zeroCheck = member.zero === null ? null : zeroCheckOf(member.zero);
    const flows = [...member.flows.values()].map((flow) => flow.take());
    this.#deps.post({ type: "report", engine, report: { flows, zeroCheck } });
  }
}

function zeroCheckOf(flow: EchoFlow): ZeroCheckSnapshot {
  const source = flow.stampedBy ?? "none";
  const { outcomes, rtt } = flow.take();
  return { source, sent: outcomes.sent, received: outcomes.received, rtt };
}

function kernelRoundTripMs(sentNs: bigint, receivedNs: bigint): number | null {
  return sentNs === 0n || receivedNs === 0n ? null : Number(receivedNs - sentNs) / 1e6;
}

function trim(map: Map<number, InFlight>): void {
  if (map.size <= MAX_IN_FLIGHT) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
