// Netlink access to connection tracking through libc: one socket for requests, one for end events.
import {
  KernelSocket,
  loadLibc,
  SYS,
  SystemCallError,
  type Block,
  type Libc,
} from "@isochrone/kernel-sockets";
import { type MESSAGE, NETLINK, NetlinkReader, request, type NetlinkVisitor } from "./netlink.ts";

/** A dump's messages fit the offered buffer, up to 32 KiB. */
const RECEIVE_BYTES = 65_536;
/** Space for some 20,000 end events. The kernel accounts twice as much. */
const EVENT_BUFFER_BYTES = 8 * 1024 * 1024;
const RECEIVES_PER_TURN = 8;
/** The kernel answers a request before it returns. */
const MAX_EMPTY_RECEIVES = 200;

export class ConntrackSocket {
  readonly #libc: Libc;
  readonly #requests: KernelSocket;
  readonly #events: KernelSocket;
  readonly #block: Block;
  readonly #reader = new NetlinkReader();
  #sequence = 0;
  /** Events dropped by the kernel so far; wraps at 2^32. */
  #dropped = 0;

  /** @throws SystemCallError; EPERM without CAP_NET_ADMIN in the network's namespace */
  static async open(eventBufferBytes = EVENT_BUFFER_BYTES): Promise<ConntrackSocket> {
    const libc = await loadLibc();
    const kind = { family: SYS.AF_NETLINK, type: SYS.SOCK_RAW, protocol: NETLINK.netfilter };
    const requests = KernelSocket.open(libc, kind);
    const events = KernelSocket.open(libc, kind);
    // Only bound sockets receive events.
    events.bindNetlink();
    events.setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUFFORCE, eventBufferBytes);
    if (!events.setOption(NETLINK.solNetlink, NETLINK.addMembership, NETLINK.destroyGroup)) {
      const code = libc.lastError();
      requests.close();
      events.close();
      throw new SystemCallError("join the events of connection tracking", code);
    }
    return new ConntrackSocket(libc, requests, events);
  }

  private constructor(libc: Libc, requests: KernelSocket, events: KernelSocket) {
    this.#libc = libc;
    this.#requests = requests;
    this.#events = events;
    this.#block = libc.block(RECEIVE_BYTES);
  }

  async ask(
    message: (typeof MESSAGE)[keyof typeof MESSAGE],
    visitor: Omit<NetlinkVisitor, "done">,
  ): Promise<void> {
    const asked = request(message, ++this.#sequence);
    asked.copy(this.#block.bytes);
    if (this.#libc.send(this.#requests.fd, this.#block, 0, asked.length, 0) < 0)
      throw new SystemCallError("ask for connections", this.#libc.lastError());
    const answer: { errno: number | null } = { errno: null };
    let empty = 0;
    const reading: NetlinkVisitor = {
      ...visitor,
      // The answer to a request other than a dump is one message.
      table: (size) => {
        visitor.table?.(size);
        answer.errno ??= 0;
      },
      done: (errno) => void (answer.errno = errno),
    };
    for (let turn = 1; answer.errno === null; turn++) {
      const code = this.#receive(this.#requests, reading);
      if (code === "EAGAIN" && ++empty > MAX_EMPTY_RECEIVES)
        throw new SystemCallError("read connections", "ETIMEDOUT");
      if (code !== null && code !== "EAGAIN") throw new SystemCallError("read connections", code);
      if (code === "EAGAIN" || turn % RECEIVES_PER_TURN === 0) await turnOfOthers(code === "EAGAIN");
    }
    if (answer.errno > 0)
      throw new SystemCallError("ask for connections", this.#libc.errorName(answer.errno));
  }

  /** Reads end events. Returns how many more the kernel dropped. */
  ends(onEnd: NonNullable<NetlinkVisitor["connection"]>): number {
    const visitor: NetlinkVisitor = { connection: onEnd, done: () => undefined };
    let overflows = 0;
    for (;;) {
      const code = this.#receive(this.#events, visitor);
      if (code === "ENOBUFS") overflows++;
      else if (code !== null) break;
    }
    const dropped = this.#events.drops();
    if (dropped < 0) return overflows;
    const since = (dropped - this.#dropped) >>> 0;
    this.#dropped = dropped;
    return since;
  }

  close(): void {
    this.#requests.close();
    this.#events.close();
    this.#libc.free(this.#block);
  }

  #receive(socket: KernelSocket, visitor: NetlinkVisitor): string | null {
    const count = this.#libc.receive(socket.fd, this.#block, RECEIVE_BYTES, SYS.MSG_DONTWAIT);
    if (count < 0) return this.#libc.lastError();
    return this.#reader.read(this.#block.bytes.subarray(0, count), visitor) ? null : "EBADMSG";
  }
}

function turnOfOthers(isWait: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (isWait) setTimeout(resolve, 5);
    else setImmediate(resolve);
  });
}
