import { Silence } from "../domain/silence.ts";
import type { FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { RrSession } from "./rr-session.ts";
import { SendSchedule, type ScheduledSender } from "./send-schedule.ts";
import type { DatagramSocket } from "./sockets/port.ts";

const REOPEN_MS = 1000;

/**
 * UDP_RR of one peer on its own connected socket: the kernel drops packets from elsewhere, sends need no
 * route look-up, and each source port takes its own ECMP path, as user connections do. The port stays while
 * anything comes back. A socket that loses everything is replaced by one with another port.
 */
export class UdpFlow implements Flow, ScheduledSender {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #session: RrSession;
  readonly #schedule: SendSchedule;
  readonly #onAnswer: () => void;
  readonly #silence: Silence;
  #socket: DatagramSocket | null = null;
  #successor: DatagramSocket | null = null;
  #connected = false;
  #openError = "not_open";
  #reopenAtMs = 0;
  #stopped = false;

  constructor(context: EngineContext, peer: ProbePeer, onAnswer: () => void = () => {}) {
    this.#context = context;
    this.#peer = peer;
    this.#onAnswer = onAnswer;
    this.#silence = new Silence(() => context.random());
    this.#session = new RrSession(context, peer, "udp_rr");
    this.#schedule = new SendSchedule(context, this);
  }

  get isOpen(): boolean {
    return this.#connected;
  }

  start(): void {
    this.open();
    this.#schedule.start();
  }

  open(): void {
    this.#connected = false;
    this.#socket = this.#opened();
  }

  #opened(): DatagramSocket {
    const { address, udpPort: port } = this.#peer;
    const { bindAddress, dscp } = this.#context.config;
    const session = this.#session;
    const socket = this.#context.sockets.openDatagram(
      { address, port, bindAddress, dscp },
      {
        onPacket: (packet, atMs, kernelNs) => {
          this.#silence.heard();
          if (session.answer(packet, atMs, kernelNs)) this.#onAnswer();
        },
        onSent: (sequence, kernelNs) => session.departed(sequence, kernelNs),
        onOpen: () => this.#use(socket),
        onError: (code) => this.#failed(socket, code),
        onSendFailed: (code) => session.sendFailed(code),
      },
    );
    return socket;
  }

  #use(socket: DatagramSocket): void {
    if (socket === this.#successor) {
      this.#successor = null;
      this.#drop();
      this.#socket = socket;
      this.#session.renewed();
    }
    if (socket === this.#socket) this.#connected = true;
  }

  stop(): void {
    this.#stopped = true;
    this.#schedule.stop();
    this.#session.stop();
    this.#dropSuccessor();
    this.#drop();
  }

  drain(): FlowSnapshot {
    return this.#session.drain();
  }

  prepare(): void {
    const nowMs = this.#context.monotonic();
    if (this.#socket === null && nowMs >= this.#reopenAtMs) this.open();
    if (this.#connected && this.#silence.isTooLong(this.#session.unanswered, nowMs)) {
      this.#dropSuccessor();
      this.#successor = this.#opened();
    }
    this.#session.prepare();
  }

  send(plannedMs?: number): void {
    const { request, sequence, tally } = this.#session;
    if (this.#socket === null || !this.#connected) {
      tally.countError("send_error", this.#openError);
      return;
    }
    this.#session.begin(this.#context.monotonic(), plannedMs);
    const sentMs = this.#context.monotonic();
    const error = this.#socket.send(request, sequence);
    this.#session.sent(sentMs);
    if (error !== null) this.#session.sendFailed(error);
  }

  missed(ticks: number): void {
    this.#session.tally.skip("missed_tick", ticks);
  }

  /** An earlier packet's ICMP error arrives here too: the socket stays, the packet times out. */
  #failed(socket: DatagramSocket, code: string): void {
    if (socket === this.#successor) this.#dropSuccessor();
    if (this.#stopped || socket !== this.#socket) return;
    if (this.#connected) {
      this.#session.tally.note(code);
      return;
    }
    this.#openError = code;
    this.#reopenAtMs = this.#context.monotonic() + REOPEN_MS;
    this.#drop();
  }

  #dropSuccessor(): void {
    this.#successor?.close();
    this.#successor = null;
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#connected = false;
    socket?.close();
  }
}
