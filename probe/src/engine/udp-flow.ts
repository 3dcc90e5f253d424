import { createSocket, type Socket } from "node:dgram";
import type { FlowSnapshot, ProbePeer } from "../ports.ts";
import { familyOf, parseAddress } from "../domain/ip.ts";
import type { EngineContext, Flow } from "./context.ts";
import { errnoOf, localAddressFor } from "./sockets.ts";
import { RrSession } from "./rr-session.ts";
import { SendSchedule, type ScheduledSender } from "./send-schedule.ts";

/** How soon a socket that broke is opened again. Milliseconds. */
const REOPEN_MS = 1000;

/**
 * UDP_RR of one peer on a socket of its own. The socket is connected: the kernel drops what comes from elsewhere, a send needs no
 * look-up, and another source port takes another path through ECMP, as users' connections do.
 */
export class UdpFlow implements Flow, ScheduledSender {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #session: RrSession;
  readonly #schedule: SendSchedule;
  #socket: Socket | null = null;
  #connected = false;
  /** Errno of the last failure to open the socket. */
  #openError = "not_open";
  #reopenAtMs = 0;
  #stopped = false;

  constructor(context: EngineContext, peer: ProbePeer) {
    this.#context = context;
    this.#peer = peer;
    this.#session = new RrSession(context, peer, "udp_rr");
    this.#schedule = new SendSchedule(context, this);
  }

  /** True when packets can be sent. */
  get isOpen(): boolean {
    return this.#connected;
  }

  start(): void {
    this.#open();
    this.#schedule.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#schedule.stop();
    this.#session.stop();
    this.#drop();
  }

  take(): FlowSnapshot {
    return this.#session.take();
  }

  prepare(): void {
    if (this.#socket === null && this.#context.monotonic() >= this.#reopenAtMs) this.#open();
    this.#session.prepare();
  }

  send(): void {
    const { request, tally } = this.#session;
    if (this.#socket === null || !this.#connected) {
      tally.countError("send_error", this.#openError);
      return;
    }
    const socket = this.#socket;
    const sentMs = this.#context.monotonic();
    try {
      // Synchronous in libuv as long as the socket takes it; the callback only tells of errors.
      socket.send(request, (error) => {
        if (error) this.#session.sendFailed(errnoOf(error));
      });
    } catch (error) {
      tally.countError("send_error", errnoOf(error));
      return;
    }
    this.#session.sent(sentMs);
  }

  missed(ticks: number): void {
    this.#session.tally.skip("missed_tick", ticks);
  }

  #open(): void {
    const address = parseAddress(this.#peer.address);
    const family = address === null ? 4 : familyOf(address);
    this.#connected = false;
    const socket = createSocket({ type: family === 4 ? "udp4" : "udp6" });
    this.#socket = socket;
    socket.on("message", (packet) => {
      const atMs = this.#context.monotonic();
      this.#session.answer(packet, atMs);
    });
    socket.on("connect", () => {
      this.#connected = true;
    });
    socket.on("error", (error) => this.#failed(socket, error));
    socket.bind(
      { port: 0, address: localAddressFor(this.#context.config.bindAddress, family), exclusive: true },
      () => {
        if (this.#socket === socket) socket.connect(this.#peer.udpPort, this.#peer.address);
      },
    );
  }

  /** An ICMP error of an earlier packet arrives here too (ECONNREFUSED): the socket lives on, the packet times out as lost. */
  #failed(socket: Socket, error: Error): void {
    if (this.#stopped || socket !== this.#socket) return;
    const code = errnoOf(error);
    if (this.#connected) {
      this.#session.tally.note(code);
      return;
    }
    this.#openError = code;
    this.#reopenAtMs = this.#context.monotonic() + REOPEN_MS;
    this.#drop();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#connected = false;
    if (socket === null) return;
    socket.removeAllListeners();
    // A closing socket may still report an error; nobody is left to care.
    socket.on("error", () => {});
    socket.close();
  }
}
