import {
  KernelSocket,
  READABLE,
  ReceiveBatch,
  SOCKADDR_BYTES,
  SYS,
  SystemCallError,
  ipOf,
  type Block,
  type Libc,
  type Poller,
} from "@isochrone/kernel-sockets";
import { FRAME_HEAD_BYTES, FrameReader } from "../domain/frames.ts";
import { MAX_PACKET_BYTES } from "../domain/packet.ts";
import { ConnectionTable } from "./connection-table.ts";
import { LeastTime } from "../domain/least-time.ts";
import { LeaveTime } from "./leave-time.ts";
import { MAX_UNREAD_BYTES, type ListenAddress, type Listener } from "./listener.ts";
import type { Responder } from "./responder.ts";
import { sourceOf, type Source } from "./source.ts";

/** Connections accepted, and bytes read from one, before the others are served. */
const ACCEPTS = 16;
const READ_BYTES = 4096;
const BACKLOG = 256;
/** Kernel buffers per connection: packets are short, and thousands of connections may be hostile. Bytes. */
const KERNEL_BUFFER_BYTES = 65_536;
const MAX_RESIDENCE_NS = 1e9;
/** accept(2) errors that concern one connection; others wait for the next turn. */
const PASSING = new Set(["EAGAIN", "ECONNABORTED", "EINTR"]);

export class TcpMemory {
  readonly received: ReceiveBatch;
  readonly out: Block;
  readonly address: Block;
  readonly length: Block;
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
    this.received = new ReceiveBatch(libc, 1, READ_BYTES);
    this.out = libc.block(FRAME_HEAD_BYTES + MAX_PACKET_BYTES);
    this.address = libc.block(SOCKADDR_BYTES);
    this.length = libc.block(4);
  }

  free(): void {
    this.received.free();
    for (const block of [this.out, this.address, this.length]) this.#libc.free(block);
  }
}

interface KernelTcpDeps {
  readonly libc: Libc;
  readonly poller: Poller;
  readonly memory: TcpMemory;
  readonly monotonic: () => number;
}

interface Connection {
  readonly socket: KernelSocket;
  readonly source: Source;
  readonly reader: FrameReader;
  unread: Buffer;
  closed: boolean;
}

export class KernelTcpListener implements Listener {
  readonly port: number;
  readonly #deps: KernelTcpDeps;
  readonly #responder: Responder;
  readonly #socket: KernelSocket;
  readonly #connections = new ConnectionTable<Connection>();
  readonly #leaving: LeaveTime;
  /** Time from setting the residence to the send call. */
  readonly #preparing = new LeastTime();

  constructor(responder: Responder, { address, port }: ListenAddress, deps: KernelTcpDeps) {
    this.#deps = deps;
    this.#responder = responder;
    this.#leaving = new LeaveTime(deps.libc);
    const family = address.includes(":") ? SYS.AF_INET6 : SYS.AF_INET;
    const socket = KernelSocket.open(deps.libc, { family, type: SYS.SOCK_STREAM, protocol: 0 });
    this.#socket = socket;
    try {
      // Lets old connections in TIME_WAIT not hold the port. Accepted sockets inherit the other options.
      socket.setOption(SYS.SOL_SOCKET, SYS.SO_REUSEADDR, 1);
      socket.setOption(SYS.IPPROTO_TCP, SYS.TCP_NODELAY, 1);
      socket.setOption(SYS.SOL_SOCKET, SYS.SO_SNDBUF, KERNEL_BUFFER_BYTES);
      socket.setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUF, KERNEL_BUFFER_BYTES);
      socket.bind(address, port);
      if (deps.libc.listen(socket.fd, BACKLOG) < 0)
        throw new SystemCallError("listen", deps.libc.lastError());
      this.port = socket.localAddress().port;
    } catch (error) {
      socket.close();
      throw error;
    }
    deps.poller.add(socket.fd, READABLE, () => this.#accept());
  }

  sweep(nowMs: number): void {
    this.#leaving.renew();
    this.#deps.poller.change(this.#socket.fd, READABLE);
    for (const connection of this.#connections.expired(nowMs)) this.#close(connection);
  }

  async close(): Promise<void> {
    for (const connection of this.#connections.all) this.#close(connection);
    this.#deps.poller.remove(this.#socket.fd);
    this.#socket.close();
    this.#leaving.free();
  }

  #accept(): void {
    const { libc, memory } = this.#deps;
    for (let i = 0; i < ACCEPTS; i++) {
      memory.length.view.setUint32(0, SOCKADDR_BYTES, true);
      const fd = libc.accept(
        this.#socket.fd,
        memory.address,
        memory.length,
        SYS.SOCK_NONBLOCK | SYS.SOCK_CLOEXEC,
      );
      if (fd < 0) {
        this.#acceptFailed(libc.lastError());
        return;
      }
      this.#welcome(new KernelSocket(libc, fd), sourceOf(ipOf(memory.address.view, 0)));
    }
  }

  /** Out of descriptors, say, a waiting connection is reported ready endlessly. The next sweep retries. */
  #acceptFailed(error: string): void {
    if (PASSING.has(error)) return;
    this.#responder.refuse(`accept_${error}`);
    this.#deps.poller.change(this.#socket.fd, 0);
  }

  #welcome(socket: KernelSocket, source: Source | null): void {
    const evict = (connection: Connection): void => {
      this.#responder.refuse("evicted");
      this.#close(connection);
    };
    if (source === null || !this.#connections.admits(source.key, evict)) {
      this.#responder.refuse("too_many_connections");
      socket.close();
      return;
    }
    socket.enableTimestamps({ sends: false });
    const reader = new FrameReader();
    const connection: Connection = { socket, source, reader, unread: Buffer.alloc(0), closed: false };
    this.#connections.add(connection, source.key, this.#deps.monotonic());
    this.#deps.poller.add(socket.fd, READABLE, (events) => this.#ready(connection, events));
  }

  #ready(connection: Connection, events: number): void {
    if ((events & SYS.POLLERR) !== 0) this.#leaving.discardLate(connection.socket.fd);
    if ((events & SYS.POLLOUT) !== 0) this.#flush(connection);
    if ((events & READABLE) !== 0 && !connection.closed) this.#read(connection);
  }

  #read(connection: Connection): void {
    const { memory, monotonic } = this.#deps;
    const count = memory.received.receive(connection.socket.fd);
    const atMs = monotonic();
    if (count === 0) return;
    // End of stream reads as an empty message.
    if (count < 0 || memory.received.length(0) === 0) {
      this.#close(connection);
      return;
    }
    this.#connections.heard(connection, atMs);
    const stampNs = memory.received.info(0).kernelTime;
    const ours = connection.reader.push(memory.received.message(0), (packet) => {
      if (connection.closed || !this.#responder.admit(packet, "tcp", connection.source, atMs)) return;
      this.#connections.proven(connection);
      this.#answer(connection, packet, stampNs, atMs);
    });
    if (ours || connection.closed) return;
    this.#responder.refuse("bad_frame");
    this.#close(connection);
  }

  #answer(connection: Connection, packet: Buffer, stampNs: number, atMs: number): void {
    const { libc, memory, monotonic } = this.#deps;
    const beganMs = monotonic();
    const heldNs = libc.clock(SYS.CLOCK_REALTIME) - stampNs;
    const heldMs = heldNs >= 0 && heldNs < MAX_RESIDENCE_NS ? heldNs / 1e6 : beganMs - atMs;
    this.#responder.answer(packet, heldMs + this.#preparing.ms + this.#leaving.ms);
    memory.out.view.setUint16(0, packet.length);
    packet.copy(memory.out.bytes, FRAME_HEAD_BYTES);
    this.#preparing.add(monotonic() - beganMs);
    this.#send(connection, FRAME_HEAD_BYTES + packet.length);
  }

  #send(connection: Connection, bytes: number): void {
    const { libc, memory, poller } = this.#deps;
    let sent = 0;
    if (connection.unread.length === 0) {
      let error = "";
      this.#leaving.around(connection.socket, () => {
        sent = libc.send(connection.socket.fd, memory.out, 0, bytes, SYS.MSG_DONTWAIT);
        if (sent < 0) error = libc.lastError();
      });
      if (sent === bytes) return;
      if (sent < 0 && error !== "EAGAIN") {
        this.#responder.refuse(`send_${error}`);
        this.#close(connection);
        return;
      }
    }
    const rest = memory.out.bytes.subarray(Math.max(0, sent), bytes);
    connection.unread = Buffer.concat([connection.unread, rest]);
    if (connection.unread.length > MAX_UNREAD_BYTES) {
      this.#responder.refuse("slow_reader");
      this.#close(connection);
    } else poller.change(connection.socket.fd, READABLE | SYS.POLLOUT);
  }

  #flush(connection: Connection): void {
    const { libc, memory, poller } = this.#deps;
    while (connection.unread.length > 0) {
      const bytes = connection.unread.copy(memory.out.bytes);
      const sent = libc.send(connection.socket.fd, memory.out, 0, bytes, SYS.MSG_DONTWAIT);
      if (sent < 0 && libc.lastError() === "EAGAIN") return;
      if (sent < 0) {
        this.#close(connection);
        return;
      }
      connection.unread = connection.unread.subarray(sent);
    }
    poller.change(connection.socket.fd, READABLE);
  }

  #close(connection: Connection): void {
    if (connection.closed) return;
    connection.closed = true;
    this.#connections.remove(connection);
    this.#deps.poller.remove(connection.socket.fd);
    connection.socket.close();
  }
}
