import { READABLE, SYS, type Block, type KernelSocket } from "@isochrone/kernel-sockets";
import { MAX_PACKET_BYTES } from "../../domain/packet.ts";
import { Departures } from "./departures.ts";
import type { KernelSurroundings } from "./kernel-surroundings.ts";
import type { DatagramEvents, DatagramSocket } from "./port.ts";

const OWN_ERRORS: ReadonlySet<string> = new Set(["EAGAIN", "ENOBUFS", "EMSGSIZE"]);

export class KernelDatagram implements DatagramSocket {
  readonly #socket: KernelSocket;
  readonly #shared: KernelSurroundings;
  readonly #events: DatagramEvents;
  readonly #out: Block;
  readonly #departures = new Departures();
  readonly #onSent: (tag: number, kernelNs: number) => void;
  readonly #attempt: () => boolean;
  #sends = 0;
  #closed = false;

  constructor(socket: KernelSocket, shared: KernelSurroundings, events: DatagramEvents) {
    this.#socket = socket;
    this.#shared = shared;
    this.#events = events;
    this.#onSent = (tag, kernelNs) => events.onSent(tag, kernelNs);
    this.#attempt = () => !this.#closed && this.#read();
    this.#out = shared.libc.block(MAX_PACKET_BYTES);
    socket.enableTimestamps({ sends: true });
    shared.poller.add(socket.fd, READABLE, (events_) => this.#ready(events_));
    shared.soon(() => {
      if (!this.#closed) events.onOpen();
    });
  }

  send(packet: Buffer, tag: number): string | null {
    const { libc } = this.#shared;
    packet.copy(this.#out.bytes);
    let sent = libc.send(this.#socket.fd, this.#out, 0, packet.length, SYS.MSG_DONTWAIT);
    if (sent < 0) {
      const code = libc.lastError();
      // A connected socket reports an earlier packet's error (ECONNREFUSED) once, instead of sending this
      // one.
      if (!OWN_ERRORS.has(code))
        sent = libc.send(this.#socket.fd, this.#out, 0, packet.length, SYS.MSG_DONTWAIT);
      if (sent < 0) {
        this.#restartNumbering();
        return code;
      }
      this.#restartNumbering();
      this.#events.onError(code);
      return null;
    }
    this.#departures.expect(this.#sends++, tag);
    this.#shared.poller.expect(this.#attempt);
    return null;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#shared.poller.remove(this.#socket.fd);
    this.#socket.close();
    this.#shared.libc.free(this.#out);
  }

  #ready(events: number): void {
    // Usually there is only a stamp; anything else wakes the thread again.
    const onlyErrors = (events & SYS.POLLERR) !== 0 && (events & SYS.POLLIN) === 0;
    if (onlyErrors && this.#departures.drain(this.#socket.fd, this.#shared.stamps, this.#onSent)) return;
    this.#read();
  }

  /** Reads one packet: a second attempt would cost every answer more than it saves in rare bursts. */
  #read(): boolean {
    const { libc, datagrams, monotonic } = this.#shared;
    const count = datagrams.receive(this.#socket.fd);
    if (count === 0) return false;
    const atMs = monotonic();
    if (count < 0) {
      this.#events.onError(libc.lastError());
      return true;
    }
    this.#collect();
    this.#events.onPacket(datagrams.message(0), atMs, datagrams.info(0).kernelTime);
    return true;
  }

  #collect(): void {
    if (!this.#departures.outstanding) return;
    this.#departures.drain(this.#socket.fd, this.#shared.stamps, this.#onSent);
  }

  /** A refused send may have used a number. Drops outstanding stamps; their packets use user-space times. */
  #restartNumbering(): void {
    this.#socket.restartNumbering();
    this.#sends = 0;
    this.#departures.restart();
  }
}
