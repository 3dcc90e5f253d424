import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { addressLookup, errnoOf } from "../sockets.ts";
import { localAddressFor, targetOf } from "./addresses.ts";
import {
  CLOSED_BY_PEER,
  type DatagramEvents,
  type DatagramSocket,
  type Remote,
  type Sockets,
  type StreamEvents,
  type StreamSocket,
} from "./port.ts";

const READ_BYTES = 16_384;

/** Node's sockets, if sockets/kernel.ts can't be used: user-space stamps, and no code point. */
export class UserSpaceSockets implements Sockets {
  readonly stamps = "user";
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  openDatagram(remote: Remote, events: DatagramEvents): DatagramSocket {
    return new NodeDatagram(remote, events, this.#monotonic);
  }

  openStream(remote: Remote, events: StreamEvents): StreamSocket {
    return new NodeStream(remote, events, this.#monotonic);
  }

  close(): void {}
}

class NodeDatagram implements DatagramSocket {
  readonly #socket: ReturnType<typeof createSocket>;
  readonly #events: DatagramEvents;
  #closed = false;

  constructor(remote: Remote, events: DatagramEvents, monotonic: () => number) {
    this.#events = events;
    const { ip, family } = targetOf(remote.address);
    const socket = createSocket({ type: family === 4 ? "udp4" : "udp6" });
    this.#socket = socket;
    socket.on("message", (packet) => events.onPacket(packet, monotonic(), Number.NaN));
    socket.on("connect", () => events.onOpen());
    socket.on("error", (error) => events.onError(errnoOf(error)));
    socket.bind({ port: 0, address: localAddressFor(remote.bindAddress, family), exclusive: true }, () => {
      if (!this.#closed) socket.connect(remote.port, ip);
    });
  }

  send(packet: Buffer): string | null {
    try {
      // Synchronous in libuv while the socket accepts it; the callback only reports errors.
      this.#socket.send(packet, (error) => {
        if (error && !this.#closed) this.#events.onSendFailed(errnoOf(error));
      });
      return null;
    } catch (error) {
      return errnoOf(error);
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.removeAllListeners();
    // A closing socket may still report an error; ignore it.
    this.#socket.on("error", () => {});
    this.#socket.close();
  }
}

class NodeStream implements StreamSocket {
  readonly startedMs: number;
  readonly #socket: Socket;
  readonly #events: StreamEvents;
  #state: "connecting" | "open" | "closed" = "connecting";

  constructor(remote: Remote, events: StreamEvents, monotonic: () => number) {
    this.#events = events;
    const { ip, family } = targetOf(remote.address);
    this.startedMs = monotonic();
    this.#socket = connect({
      host: ip,
      port: remote.port,
      localAddress: localAddressFor(remote.bindAddress, family),
      lookup: addressLookup,
      noDelay: true,
      onread: {
        buffer: Buffer.alloc(READ_BYTES),
        callback: (length, buffer) => {
          if (this.#state === "open")
            events.onData(Buffer.from(buffer.buffer, buffer.byteOffset, length), monotonic(), Number.NaN);
          return true;
        },
      },
    });
    this.#socket.on("connect", () => {
      this.#state = "open";
      events.onOpen(monotonic());
    });
    this.#socket.on("error", (error) => this.#end(errnoOf(error)));
    this.#socket.on("close", () => this.#end(CLOSED_BY_PEER));
    this.#socket.on("end", () => this.#end(CLOSED_BY_PEER));
  }

  handshakeMs(): number {
    return Number.NaN;
  }

  write(bytes: Buffer): string | null {
    if (this.#state !== "open") return "not_open";
    // Copied: Node may still hold the bytes when the caller reuses its buffer.
    this.#socket.write(Buffer.from(bytes));
    return null;
  }

  close(): void {
    if (this.#state === "closed") return;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    this.#socket.removeAllListeners();
    // A socket being destroyed may still report an error; ignore it.
    this.#socket.on("error", () => {});
    if (wasOpen) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  #end(reason: string): void {
    this.close();
    this.#events.onClosed(reason);
  }
}
