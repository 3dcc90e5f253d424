import type { Method } from "@isochrone/telemetry";
import { familyOf, parseAddress } from "../domain/ip.ts";
import {
  createRequest,
  findFault,
  isFor,
  isFrom,
  nonceOf,
  residenceNsOf,
  sequenceOf,
  sessionOf,
  setKeyId,
  signRequest,
  type Transport,
} from "../domain/packet.ts";
import { onTick } from "../domain/ticks.ts";
import { Tally } from "../domain/tally.ts";
import { Transactions } from "../domain/transactions.ts";
import type { FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import { Samples } from "../domain/samples.ts";
import type { EngineContext } from "./context.ts";
import type { Appointment } from "./timetable.ts";

/** Packets remembered beyond those that can wait at once, to tell late from duplicate. */
const REMEMBERED = 64;

/** Bookkeeping of a request/response flow: signs ahead, takes times, matches answers, declares losses. */
export class RrSession {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #method: Method;
  readonly #transport: Transport;
  readonly #peerIdentity: Uint8Array;
  readonly #ipFamily: 4 | 6;
  readonly #session: number;
  readonly #nonce: bigint;
  readonly #request: Buffer;
  readonly #transactions: Transactions;
  readonly #tally = new Tally();
  #signedSequence = -1;
  #signedGeneration = -1;
  readonly #samples: Samples;
  readonly #onTimeout: (lost: number) => void;
  #expiry: Appointment | null = null;
  #stopped = false;

  constructor(
    context: EngineContext,
    peer: ProbePeer,
    method: "udp_rr" | "tcp_rr",
    onTimeout: (lost: number) => void = () => {},
  ) {
    const { config } = context;
    this.#onTimeout = onTimeout;
    this.#context = context;
    this.#peer = peer;
    this.#method = method;
    this.#transport = method === "udp_rr" ? "udp" : "tcp";
    this.#peerIdentity = addressOf(peer.identity);
    this.#ipFamily = familyOf(addressOf(peer.address));
    this.#session = Number(context.nonce() & 0xffff_ffffn);
    this.#nonce = context.nonce();
    this.#samples = new Samples(this.#tally, config.warmupPackets);
    this.#request = createRequest(
      {
        bytes: config.packetBytes,
        transport: this.#transport,
        session: this.#session,
        nonce: this.#nonce,
        source: context.identity,
        destination: this.#peerIdentity,
      },
      context.keys.signingKeyId,
    );
    this.#transactions = new Transactions(config.timeoutMs, ringSize(config.timeoutMs / config.intervalMs));
  }

  get tally(): Tally {
    return this.#tally;
  }

  get waiting(): number {
    return this.#transactions.waiting;
  }

  get unanswered(): number {
    return this.#transactions.unanswered;
  }

  renewed(): void {
    this.#transactions.heard();
    this.#tally.renewed();
  }

  /** Signs the next request unless it is signed with the current keys. */
  prepare(): void {
    const sequence = this.#transactions.nextSequence;
    const { keys } = this.#context;
    if (this.#signedSequence === sequence && this.#signedGeneration === keys.generation) return;
    setKeyId(this.#request, keys.signingKeyId);
    signRequest(this.#request, sequence, keys);
    this.#signedSequence = sequence;
    this.#signedGeneration = keys.generation;
  }

  get request(): Buffer {
    this.prepare();
    return this.#request;
  }

  get sequence(): number {
    return this.#transactions.nextSequence;
  }

  /** Prepares the send planned for `plannedMs`: does all bookkeeping, so that `sent` has little to do. */
  begin(nowMs: number, plannedMs: number = nowMs): void {
    this.#tally.count("sent");
    const pushedOut = this.#transactions.sent(nowMs, plannedMs);
    if (pushedOut > 0) this.#tally.countError("lost", "timeout", pushedOut);
    this.#scheduleExpiry();
  }

  /** Sets the send time, read right before the send. Every microsecond between send and answer counts. */
  sent(sentMs: number): void {
    this.#transactions.restamp(sentMs);
  }

  departed(sequence: number, kernelNs: number): void {
    this.#transactions.departed(sequence, kernelNs);
  }

  sendFailed(reason: string): void {
    this.#transactions.takeBack();
    this.#tally.count("sent", -1);
    this.#tally.countError("send_error", reason);
  }

  /** Counts ticks without a connection to send on as lost transactions. */
  lostUnsent(reason: string, ticks = 1): void {
    this.#tally.count("sent", ticks);
    this.#tally.countError("lost", reason, ticks);
  }

  loseAll(reason: string): void {
    const lost = this.#transactions.expireAll();
    if (lost > 0) this.#tally.countError("lost", reason, lost);
  }

  /** `atMs`: in hand; `kernelNs`: kernel arrival, NaN unknown. True for a waiting request's timely answer. */
  answer(packet: Buffer, atMs: number, kernelNs: number = Number.NaN): boolean {
    this.#transactions.heard();
    const fault = this.#faultOf(packet);
    if (fault !== null) {
      this.#tally.countError("corrupt", fault);
      return false;
    }
    const stalledMs = this.#context.stalls.stalledForMs(atMs);
    const settlement = this.#transactions.settle(sequenceOf(packet), atMs, stalledMs);
    if (settlement.kind !== "received") {
      this.#countUntimely(settlement.kind);
      return false;
    }
    this.#tally.count("received");
    const { sentMs, plannedMs, departedNs } = settlement;
    this.#samples.record({
      applicationMs: atMs - sentMs,
      plannedMs: atMs - plannedMs,
      kernelMs: (kernelNs - departedNs) / 1e6,
      residenceMs: residenceNsOf(packet) / 1e6,
      stalled: stalledMs > 0,
    });
    return true;
  }

  drain(): FlowSnapshot {
    return this.#tally.drain({ node: this.#peer.node, method: this.#method, ipFamily: this.#ipFamily });
  }

  stop(): void {
    this.#stopped = true;
    this.#expiry?.cancel();
    this.#expiry = null;
  }

  #faultOf(packet: Buffer): string | null {
    const fault = findFault(packet, "response", this.#transport, this.#context.keys);
    if (fault !== null) return fault;
    if (sessionOf(packet) !== this.#session || nonceOf(packet) !== this.#nonce) return "wrong_session";
    if (!isFrom(packet, this.#peerIdentity)) return "wrong_source";
    return isFor(packet, this.#context.identity) ? null : "wrong_destination";
  }

  /** A late answer's loss is counted once: by the timer or by the answer, whichever is first. */
  #countUntimely(kind: "late" | "late_first" | "duplicate" | "unknown"): void {
    if (kind === "late_first") this.#tally.countError("lost", "timeout");
    if (kind === "late" || kind === "late_first") this.#tally.count("late");
    else if (kind === "duplicate") this.#tally.count("duplicate");
    else this.#tally.countError("corrupt", "unknown_sequence");
  }

  #scheduleExpiry(): void {
    if (this.#expiry !== null || this.#stopped) return;
    const deadlineMs = this.#transactions.nextDeadlineMs();
    if (deadlineMs === null) return;
    const atMs = onTick(deadlineMs, this.#context.config.intervalMs);
    this.#expiry = this.#context.timetable.at(atMs, () => {
      const nowMs = this.#context.monotonic();
      // An answer in the socket's buffer must not lose to the timer.
      this.#context.afterPoll(() => {
        this.#expiry = null;
        if (this.#stopped) return;
        const lost = this.#transactions.expire(nowMs);
        if (lost > 0) this.#tally.countError("lost", "timeout", lost);
        this.#scheduleExpiry();
        if (lost > 0) this.#onTimeout(lost);
      });
    });
  }
}

function addressOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === null) throw new RangeError(`an IP address is needed, got ${JSON.stringify(text)}`);
  return bytes;
}

/** A power of two, so that places in the ring survive sequence wrap-around. */
function ringSize(waiting: number): number {
  return 2 ** Math.ceil(Math.log2(2 * Math.ceil(waiting) + REMEMBERED));
}
