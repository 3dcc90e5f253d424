import { connect, type Socket } from "node:net";
import { FrameReader, createFrame } from "../domain/frames.ts";
import { familyOf, parseAddress } from "../domain/ip.ts";
import type { FlowSnapshot, ProbePeer } from "../ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { RrSession } from "./rr-session.ts";
import { SendSchedule, type ScheduledSender } from "./send-schedule.ts";
import { addressLookup, errnoOf, localAddressFor } from "./sockets.ts";

/** Back-off between connection attempts, doubled with each failure. Milliseconds. */
const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 8000;
/** After so many lost transactions in a row a new connection finds out sooner than the old one's growing retransmission timer. */
const LOSSES_BEFORE_RECONNECT = 3;
/** Read buffer of a connection. */
const READ_BYTES = 16_384;
/** Packets beyond the expected answer that a peer may send between two ticks before it is hung up on. */
const MAX_UNEXPECTED = 64;

/** TCP_RR of one peer: one connection, one transaction at a time, on the fixed schedule. */
export class TcpFlow implements Flow, ScheduledSender {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #session: RrSession;
  readonly #schedule: SendSchedule;
  readonly #out: { readonly frame: Buffer; readonly packet: Buffer };
  readonly #readBuffer = Buffer.alloc(READ_BYTES);
  #socket: Socket | null = null;
  #state: "closed" | "connecting" | "open" = "closed";
  /** Why there is no connection: the reason of transactions lost meanwhile. */
  #reason = "not_connected";
  #retryAtMs = 0;
  #backoffMs = BACKOFF_MIN_MS;
  #connectDeadlineMs = 0;
  /** Ticks that passed during a connection attempt: lost if it fails, left out if it succeeds. */
  #ticksConnecting = 0;
  #lossesInRow = 0;
  #unexpected = 0;

  constructor(context: EngineContext, peer: ProbePeer) {
    this.#context = context;
    this.#peer = peer;
    this.#session = new RrSession(context, peer, "tcp_rr", (lost) => this.#timedOut(lost));
    this.#schedule = new SendSchedule(context, this);
    this.#out = createFrame(context.config.packetBytes);
  }

  /** True when packets can be sent. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  start(): void {
    this.#connect();
    this.#schedule.start();
  }

  stop(): void {
    this.#schedule.stop();
    this.#session.stop();
    this.#drop();
  }

  take(): FlowSnapshot {
    return this.#session.take();
  }

  prepare(): void {
    const nowMs = this.#context.monotonic();
    if (this.#state === "connecting" && nowMs >= this.#connectDeadlineMs) this.#close("connect_timeout");
    if (this.#state === "closed" && nowMs >= this.#retryAtMs) this.#connect();
    this.#session.request.copy(this.#out.packet);
  }

  send(): void {
    this.#unexpected = 0;
    const socket = this.#socket;
    if (this.#state === "connecting") {
      this.#ticksConnecting++;
    } else if (this.#state === "closed" || socket === null) {
      this.#session.lostUnsent(this.#reason);
    } else if (this.#session.waiting > 0) {
      this.#session.tally.skip("still_waiting");
    } else {
      const sentMs = this.#context.monotonic();
      socket.write(this.#out.frame);
      this.#session.sent(sentMs);
    }
  }

  missed(ticks: number): void {
    this.#session.tally.skip("missed_tick", ticks);
  }

  #connect(): void {
    const address = parseAddress(this.#peer.address);
    const family = address === null ? 4 : familyOf(address);
    const reader = new FrameReader();
    this.#state = "connecting";
    this.#connectDeadlineMs = this.#context.monotonic() + this.#context.config.timeoutMs;
    const socket = connect({
      host: this.#peer.address,
      port: this.#peer.tcpPort,
      localAddress: localAddressFor(this.#context.config.bindAddress, family),
      lookup: addressLookup,
      noDelay: true,
      onread: {
        buffer: this.#readBuffer,
        callback: (length, buffer) => {
          const atMs = this.#context.monotonic();
          if (this.#socket === socket) this.#read(reader, buffer.subarray(0, length), atMs);
          return true;
        },
      },
    });
    this.#socket = socket;
    socket.on("connect", () => this.#connected(socket));
    socket.on("error", (error) => this.#closed(socket, errnoOf(error)));
    socket.on("close", () => this.#closed(socket, "closed_by_peer"));
    socket.on("end", () => this.#closed(socket, "closed_by_peer"));
  }

  #connected(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#state = "open";
    this.#lossesInRow = 0;
    this.#session.tally.skip("connecting", this.#ticksConnecting);
    this.#ticksConnecting = 0;
  }

  #read(reader: FrameReader, chunk: Uint8Array, atMs: number): void {
    const ours = reader.push(chunk, (packet) => {
      if (this.#session.answer(packet, atMs)) {
        this.#lossesInRow = 0;
        this.#backoffMs = BACKOFF_MIN_MS;
      } else this.#unexpected++;
    });
    if (ours && this.#unexpected <= MAX_UNEXPECTED) return;
    if (!ours) this.#session.tally.countError("corrupt", "bad_frame");
    this.#close(ours ? "flooded" : "bad_frame");
  }

  #timedOut(lost: number): void {
    this.#lossesInRow += lost;
    if (this.#state === "open" && this.#lossesInRow >= LOSSES_BEFORE_RECONNECT) this.#close("timeout");
  }

  #closed(socket: Socket, reason: string): void {
    if (this.#socket === socket) this.#close(reason);
  }

  #close(reason: string): void {
    this.#drop();
    this.#reason = reason;
    this.#session.loseAll(reason);
    if (this.#ticksConnecting > 0) this.#session.lostUnsent(reason, this.#ticksConnecting);
    this.#ticksConnecting = 0;
    // Half of the back-off is random: many probes lose one peer at the same moment.
    this.#retryAtMs = this.#context.monotonic() + this.#backoffMs * (0.5 + this.#context.random() / 2);
    this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#state = "closed";
    if (socket === null) return;
    socket.removeAllListeners();
    // A socket that is being destroyed may still report an error; nobody is left to care.
    socket.on("error", () => {});
    socket.destroy();
  }
}
