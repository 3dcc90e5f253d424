import { READABLE, SYS, type Block, type KernelSocket } from "@isochrone/kernel-sockets";
import { FRAME_HEAD_BYTES } from "../../domain/frames.ts";
import { MAX_PACKET_BYTES } from "../../domain/packet.ts";
import { Departures } from "./departures.ts";
import type { KernelSurroundings } from "./kernel-surroundings.ts";
import { CLOSED_BY_PEER, type StreamEvents, type StreamSocket } from "./port.ts";

export class KernelStream implements StreamSocket {
  readonly startedMs: number;
  readonly #socket: KernelSocket;
  readonly #shared: KernelSurroundings;
  readonly #events: StreamEvents;
  readonly #out: Block;
  readonly #departures = new Departures();
  readonly #onSent: (tag: number, kernelNs: number) => void;
  readonly #attempt: () => boolean;
  #state: "connecting" | "open" | "closed" = "connecting";
  /** Bytes written; the kernel numbers a stream's stamps by the last byte of each write. */
  #written = 0;

  constructor(socket: KernelSocket, shared: KernelSurroundings, events: StreamEvents, startedMs: number) {
    this.#socket = socket;
    this.#shared = shared;
    this.#events = events;
    this.startedMs = startedMs;
    this.#onSent = (tag, kernelNs) => events.onSent(tag, kernelNs);
    this.#attempt = () => this.#state === "open" && this.#read();
    this.#out = shared.libc.block(FRAME_HEAD_BYTES + MAX_PACKET_BYTES);
    shared.poller.add(socket.fd, SYS.POLLOUT, (ready) => this.#ready(ready));
  }

  /** The kernel does not time a repeated handshake from its start. */
  handshakeMs(): number {
    const info = this.#state === "open" ? this.#socket.tcpInfo() : null;
    return info === null || info.retransmits > 0 || info.rttUs === 0 ? Number.NaN : info.rttUs / 1000;
  }

  write(bytes: Buffer, tag: number): string | null {
    if (this.#state !== "open") return "not_open";
    const { libc } = this.#shared;
    bytes.copy(this.#out.bytes);
    const sent = libc.send(this.#socket.fd, this.#out, 0, bytes.length, SYS.MSG_DONTWAIT);
    if (sent < 0) return libc.lastError();
    // A peer that leaves no room for a hundred bytes does not answer either.
    if (sent < bytes.length) return "EAGAIN";
    this.#written += sent;
    this.#departures.expect((this.#written - 1) >>> 0, tag);
    this.#shared.poller.expect(this.#attempt);
    return null;
  }

  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#shared.poller.remove(this.#socket.fd);
    this.#socket.close();
    this.#shared.libc.free(this.#out);
  }

  #ready(events: number): void {
    const atMs = this.#shared.monotonic();
    if (this.#state === "connecting") {
      const errno = this.#socket.takeError();
      if (errno === 0) this.#opened(atMs);
      else this.#end(this.#shared.libc.errorName(errno));
    } else if ((events & SYS.POLLIN) === 0) this.#readErrors();
    else this.#read();
  }

  #opened(atMs: number): void {
    this.#state = "open";
    // Only now: numbers count from the first unacknowledged byte at the time stamping is enabled.
    this.#socket.enableTimestamps({ sends: true });
    this.#shared.poller.change(this.#socket.fd, READABLE);
    this.#events.onOpen(atMs);
  }

  #read(): boolean {
    const { libc, chunks, monotonic } = this.#shared;
    const count = chunks.receive(this.#socket.fd);
    const atMs = monotonic();
    if (count < 0) {
      this.#end(libc.lastError());
      return true;
    }
    if (count === 0) return false;
    const chunk = chunks.message(0);
    if (chunk.length === 0) {
      this.#end(CLOSED_BY_PEER);
      return true;
    }
    this.#collect();
    this.#events.onData(chunk, atMs, chunks.info(0).kernelTime);
    return true;
  }

  /** Handles departure stamps, and broken connections, which a read reveals. */
  #readErrors(): void {
    const { stamps } = this.#shared;
    if (!this.#departures.drain(this.#socket.fd, stamps, this.#onSent)) this.#read();
  }

  #collect(): void {
    if (this.#state !== "open" || !this.#departures.outstanding) return;
    this.#departures.drain(this.#socket.fd, this.#shared.stamps, this.#onSent);
  }

  #end(reason: string): void {
    this.close();
    this.#events.onClosed(reason);
  }
}
