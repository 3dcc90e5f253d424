import { backoffMs } from "@isochrone/primitives";
import { FrameReader, createFrame } from "../domain/frames.ts";
import type { FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { RrSession } from "./rr-session.ts";
import { SendSchedule, type ScheduledSender } from "./send-schedule.ts";
import type { StreamSocket } from "./sockets/port.ts";

const BACKOFF = { initialMs: 250, maxMs: 8000, factor: 2 };
/** After so many losses, reconnecting is faster than the old connection's retransmission timer. */
const LOSSES_BEFORE_RECONNECT = 3;
/** Unexpected packets accepted from a peer between two ticks before it is disconnected. */
const MAX_UNEXPECTED = 64;

/** TCP_RR of one peer: one connection, one transaction at a time, on the fixed schedule. */
export class TcpFlow implements Flow, ScheduledSender {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #session: RrSession;
  readonly #schedule: SendSchedule;
  readonly #out: { readonly frame: Buffer; readonly packet: Buffer };
  readonly #onAnswer: () => void;
  #socket: StreamSocket | null = null;
  #state: "closed" | "connecting" | "open" = "closed";
  #reason = "not_connected";
  #retryAtMs = 0;
  #failures = 0;
  #connectDeadlineMs = 0;
  /** Ticks during a connection attempt: lost if it fails, skipped if it succeeds. */
  #ticksConnecting = 0;
  #lossesInRow = 0;
  #unexpected = 0;

  constructor(context: EngineContext, peer: ProbePeer, onAnswer: () => void = () => {}) {
    this.#context = context;
    this.#peer = peer;
    this.#onAnswer = onAnswer;
    this.#session = new RrSession(context, peer, "tcp_rr", (lost) => this.#timedOut(lost));
    this.#schedule = new SendSchedule(context, this);
    this.#out = createFrame(context.config.packetBytes);
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  start(): void {
    this.open();
    this.#schedule.start();
  }

  open(): void {
    this.#connect();
  }

  stop(): void {
    this.#schedule.stop();
    this.#session.stop();
    this.#drop();
  }

  drain(): FlowSnapshot {
    return this.#session.drain();
  }

  prepare(): void {
    const nowMs = this.#context.monotonic();
    if (this.#state === "connecting" && nowMs >= this.#connectDeadlineMs) this.#close("connect_timeout");
    if (this.#state === "closed" && nowMs >= this.#retryAtMs) this.#connect();
    this.#session.prepare();
  }

  send(plannedMs?: number): void {
    this.#unexpected = 0;
    const socket = this.#socket;
    if (this.#state === "connecting") {
      this.#ticksConnecting++;
    } else if (this.#state === "closed" || socket === null) {
      this.#session.lostUnsent(this.#reason);
    } else if (this.#session.waiting > 0) {
      this.#session.tally.skip("still_waiting");
    } else {
      this.#transmit(socket, plannedMs);
    }
  }

  missed(ticks: number): void {
    this.#session.tally.skip("missed_tick", ticks);
  }

  #transmit(socket: StreamSocket, plannedMs: number | undefined): void {
    const { request, sequence } = this.#session;
    request.copy(this.#out.packet);
    this.#session.begin(this.#context.monotonic(), plannedMs);
    const sentMs = this.#context.monotonic();
    const error = socket.write(this.#out.frame, sequence);
    this.#session.sent(sentMs);
    if (error === null) return;
    this.#session.sendFailed(error);
    this.#close(error);
  }

  #connect(): void {
    const reader = new FrameReader();
    const { address, tcpPort: port } = this.#peer;
    const { bindAddress, dscp, timeoutMs } = this.#context.config;
    this.#state = "connecting";
    this.#connectDeadlineMs = this.#context.monotonic() + timeoutMs;
    const socket: StreamSocket = this.#context.sockets.openStream(
      { address, port, bindAddress, dscp },
      {
        onOpen: () => this.#connected(),
        onData: (chunk, atMs, kernelNs) => this.#read(reader, chunk, atMs, kernelNs),
        onSent: (sequence, kernelNs) => this.#session.departed(sequence, kernelNs),
        onClosed: (reason) => {
          if (this.#socket === socket) this.#close(reason);
        },
      },
    );
    this.#socket = socket;
  }

  #connected(): void {
    this.#state = "open";
    this.#lossesInRow = 0;
    this.#session.tally.skip("connecting", this.#ticksConnecting);
    this.#ticksConnecting = 0;
  }

  #read(reader: FrameReader, chunk: Buffer, atMs: number, kernelNs: number): void {
    let answered = false;
    const ours = reader.push(chunk, (packet) => {
      if (this.#session.answer(packet, atMs, kernelNs)) {
        this.#lossesInRow = 0;
        this.#failures = 0;
        answered = true;
      } else this.#unexpected++;
    });
    if (!ours || this.#unexpected > MAX_UNEXPECTED) {
      if (!ours) this.#session.tally.countError("corrupt", "bad_frame");
      this.#close(ours ? "flooded" : "bad_frame");
    } else if (answered) this.#onAnswer();
  }

  #timedOut(lost: number): void {
    this.#lossesInRow += lost;
    if (this.#state === "open" && this.#lossesInRow >= LOSSES_BEFORE_RECONNECT) this.#close("timeout");
  }

  #close(reason: string): void {
    this.#drop();
    this.#reason = reason;
    this.#session.loseAll(reason);
    if (this.#ticksConnecting > 0) this.#session.lostUnsent(reason, this.#ticksConnecting);
    this.#ticksConnecting = 0;
    // Half of the backoff is random: many probes lose one peer at the same moment.
    this.#retryAtMs =
      this.#context.monotonic() + backoffMs(BACKOFF, ++this.#failures) * (0.5 + this.#context.random() / 2);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#state = "closed";
    socket?.close();
  }
}
