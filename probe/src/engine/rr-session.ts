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

/** Packets that a flow remembers beyond those that can wait at once, to tell late from duplicate. */
const REMEMBERED = 64;

/**
 * The bookkeeping of one request/response flow, whatever carries its packets: signs ahead, times, judges
 * answers, declares losses.
 */
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
  /** Which keys the signature is of. */
  #signedGeneration = -1;
  readonly #samples: Samples;
  readonly #onTimeout: (lost: number) => void;
  #expiry: Appointment | null = null;
  #stopped = false;

  /** `onTimeout` hears of transactions that were just declared lost. */
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

  /** Transactions without an answer that haven't timed out. */
  get waiting(): number {
    return this.#transactions.waiting;
  }

  /** Requests that are lost, of those that were sent since anything came from the peer. */
  get unanswered(): number {
    return this.#transactions.unanswered;
  }

  /** Counts `unanswered` anew: the socket is another one. */
  renewed(): void {
    this.#transactions.heard();
    this.#tally.renewed();
  }

  /** Signs the next request, if that isn't done, or the keys have changed since. */
  prepare(): void {
    const sequence = this.#transactions.nextSequence;
    const { keys } = this.#context;
    if (this.#signedSequence === sequence && this.#signedGeneration === keys.generation) return;
    setKeyId(this.#request, keys.signingKeyId);
    signRequest(this.#request, sequence, keys);
    this.#signedSequence = sequence;
    this.#signedGeneration = keys.generation;
  }

  /** The signed request; the buffer is used again for the next one. */
  get request(): Buffer {
    this.prepare();
    return this.#request;
  }

  /** The sequence of that request. */
  get sequence(): number {
    return this.#transactions.nextSequence;
  }

  /**
   * Says that the request is going out, planned for `plannedMs`: all that has to be written down, so that
   * `sent` has little to do.
   */
  begin(nowMs: number, plannedMs: number = nowMs): void {
    this.#tally.count("sent");
    const pushedOut = this.#transactions.sent(nowMs, plannedMs);
    if (pushedOut > 0) this.#tally.countError("lost", "timeout", pushedOut);
    this.#scheduleExpiry();
  }

  /**
   * When the request that was just begun went out, stamped right before. Every microsecond between send and
   * answer counts.
   */
  sent(sentMs: number): void {
    this.#transactions.restamp(sentMs);
  }

  /** The kernel's stamp of a request's departure. */
  departed(sequence: number, kernelNs: number): void {
    this.#transactions.departed(sequence, kernelNs);
  }

  /** Takes the latest `begin` back: the kernel refused the packet. */
  sendFailed(reason: string): void {
    this.#transactions.takeBack();
    this.#tally.count("sent", -1);
    this.#tally.countError("send_error", reason);
  }

  /** A tick whose request could not even be sent for want of a connection: a lost transaction. */
  lostUnsent(reason: string, ticks = 1): void {
    this.#tally.count("sent", ticks);
    this.#tally.countError("lost", reason, ticks);
  }

  /** Everything that still waits is lost, e.g. with its connection. */
  loseAll(reason: string): void {
    const lost = this.#transactions.expireAll();
    if (lost > 0) this.#tally.countError("lost", reason, lost);
  }

  /**
   * Judges an answer that was in hand at `atMs`, and that the kernel received at `kernelNs` (NaN: it doesn't
   * say). True when it is the timely answer of a waiting request.
   */
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

  /** A late answer's loss is counted by whoever sees it first: the timer, or the answer itself. */
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
      // An answer that lies in the socket's buffer must not lose the race against the timer.
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

/** A power of two, so that the ring's place of a sequence survives the sequence's wrap. */
function ringSize(waiting: number): number {
  return 2 ** Math.ceil(Math.log2(2 * Math.ceil(waiting) + REMEMBERED));
}
