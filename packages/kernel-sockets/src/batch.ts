import { SOCKADDR_BYTES, ipOf, portOf, type SocketAddress } from "./address.ts";
import { toKernelTime, type Block, type Libc } from "./libc.ts";
import { SYS } from "./sys.ts";

/** struct mmsghdr: msghdr (56 bytes), message length, padding. */
const ENTRY_BYTES = 64;
const AT = {
  name: 0,
  nameLength: 8,
  iov: 16,
  iovLength: 24,
  control: 32,
  controlLength: 40,
  messageLength: 56,
} as const;
const CONTROL_BYTES = 256;
/** struct cmsghdr: length (8), level (4), type (4), then the data. */
const CMSG_HEAD_BYTES = 16;

/** Ancillary data of a message. Times are ns since kernelTimeBase; NaN: none. */
export interface MessageInfo {
  kernelTime: number;
  /** For a send time from the error queue: number of the send (from 0); -1: none. */
  sendNumber: number;
  errno: number;
  /** Remaining TTL or hop limit; -1: not requested. */
  hops: number;
  /** DSCP and ECN bits, 0 to 255; -1: not requested. */
  trafficClass: number;
  /** Messages dropped so far for want of queue space (SO_RXQ_OVFL); -1: not requested. */
  overflows: number;
}

/** Buffers of one receive call. Contents are valid until the next `receive`. */
export class ReceiveBatch {
  readonly slots: number;
  readonly #libc: Libc;
  readonly #dataBytes: number;
  readonly #data: Block;
  readonly #control: Block;
  readonly #names: Block;
  readonly #vectors: Block;
  readonly #entries: Block;
  #filled = 0;
  readonly #info: MessageInfo = {
    kernelTime: Number.NaN,
    sendNumber: -1,
    errno: 0,
    hops: -1,
    trafficClass: -1,
    overflows: -1,
  };

  constructor(libc: Libc, slots: number, dataBytes: number) {
    this.slots = slots;
    this.#libc = libc;
    this.#dataBytes = dataBytes;
    this.#data = libc.block(slots * dataBytes);
    this.#control = libc.block(slots * CONTROL_BYTES);
    this.#names = libc.block(slots * SOCKADDR_BYTES);
    this.#vectors = libc.block(slots * 16);
    this.#entries = libc.block(slots * ENTRY_BYTES);
    for (let slot = 0; slot < slots; slot++) this.#prepare(slot);
  }

  /**
   * Reads available messages without waiting. Returns their number, or -1 for an error (`libc.lastError()`).
   */
  receive(fd: number, flags = 0): number {
    const { view } = this.#entries;
    // Resets only the lengths overwritten by the last call.
    for (let at = 0, end = this.#filled * ENTRY_BYTES; at < end; at += ENTRY_BYTES) {
      view.setUint32(at + AT.nameLength, SOCKADDR_BYTES, true);
      view.setUint32(at + AT.controlLength, CONTROL_BYTES, true);
    }
    const count = this.#libc.receiveMessages(fd, this.#entries, this.slots, flags | SYS.MSG_DONTWAIT);
    this.#filled = Math.max(0, count);
    return count < 0 && this.#libc.lastError() === "EAGAIN" ? 0 : count;
  }

  message(slot: number): Buffer {
    const from = slot * this.#dataBytes;
    return this.#data.bytes.subarray(from, from + this.length(slot));
  }

  length(slot: number): number {
    return this.#entries.view.getUint32(slot * ENTRY_BYTES + AT.messageLength, true);
  }

  /** All data; a message begins at `slot * dataBytes`. */
  get data(): Block {
    return this.#data;
  }

  sourceIp(slot: number): string {
    return ipOf(this.#names.view, slot * SOCKADDR_BYTES);
  }

  sourcePort(slot: number): number {
    return portOf(this.#names.view, slot * SOCKADDR_BYTES);
  }

  copySourceIp(slot: number, into: Buffer): void {
    const at = slot * SOCKADDR_BYTES;
    if (this.#names.view.getUint16(at, true) === SYS.AF_INET) {
      into.fill(0, 0, 10).fill(0xff, 10, 12);
      this.#names.bytes.copy(into, 12, at + 4, at + 8);
    } else this.#names.bytes.copy(into, 0, at + 8, at + 24);
  }

  copySource(slot: number, into: Block): number {
    const length = this.#entries.view.getUint32(slot * ENTRY_BYTES + AT.nameLength, true);
    const from = slot * SOCKADDR_BYTES;
    this.#names.bytes.copy(into.bytes, 0, from, from + length);
    return length;
  }

  info(slot: number): MessageInfo {
    const info = this.#info;
    info.kernelTime = Number.NaN;
    info.sendNumber = info.hops = info.trafficClass = info.overflows = -1;
    info.errno = 0;
    const { view } = this.#control;
    const from = slot * CONTROL_BYTES;
    const end = from + this.#entries.view.getUint32(slot * ENTRY_BYTES + AT.controlLength, true);
    for (let at = from; at + CMSG_HEAD_BYTES <= end;) {
      const length = view.getUint32(at, true);
      if (length < CMSG_HEAD_BYTES) break;
      this.#read(view.getInt32(at + 8, true), view.getInt32(at + 12, true), at + CMSG_HEAD_BYTES);
      at += (length + 7) & ~7;
    }
    return info;
  }

  free(): void {
    for (const block of [this.#data, this.#control, this.#names, this.#vectors, this.#entries])
      this.#libc.free(block);
  }

  #read(level: number, type: number, at: number): void {
    const { view } = this.#control;
    if (level === SYS.SOL_SOCKET) {
      if (type === SYS.SO_TIMESTAMPING) this.#info.kernelTime = toKernelTime(view, at);
      else if (type === SYS.SO_RXQ_OVFL) this.#info.overflows = view.getUint32(at, true);
      return;
    }
    const isIp = level === SYS.SOL_IP;
    if (type === (isIp ? SYS.IP_TTL : SYS.IPV6_HOPLIMIT)) this.#info.hops = view.getInt32(at, true);
    // One byte for IPv4, the first of four for IPv6.
    else if (type === (isIp ? SYS.IP_TOS : SYS.IPV6_TCLASS)) this.#info.trafficClass = view.getUint8(at);
    else if (level === SYS.SOL_PACKET || type === (isIp ? SYS.IP_RECVERR : SYS.IPV6_RECVERR))
      this.#readError(at);
  }

  /**
   * struct sock_extended_err: errno (4), origin (1), type, code, padding, info (4), data (4). Packet sockets
   * use it too.
   */
  #readError(at: number): void {
    const { view } = this.#control;
    if (view.getUint8(at + 4) === SYS.SO_EE_ORIGIN_TIMESTAMPING) {
      this.#info.sendNumber = view.getUint32(at + 12, true);
    } else this.#info.errno = view.getUint32(at, true);
  }

  #prepare(slot: number): void {
    const vector = slot * 16;
    this.#vectors.view.setBigUint64(vector, this.#data.address + BigInt(slot * this.#dataBytes), true);
    this.#vectors.view.setBigUint64(vector + 8, BigInt(this.#dataBytes), true);
    const { view } = this.#entries;
    const at = slot * ENTRY_BYTES;
    view.setUint32(at + AT.nameLength, SOCKADDR_BYTES, true);
    view.setUint32(at + AT.controlLength, CONTROL_BYTES, true);
    view.setBigUint64(at + AT.name, this.#names.address + BigInt(slot * SOCKADDR_BYTES), true);
    view.setBigUint64(at + AT.iov, this.#vectors.address + BigInt(vector), true);
    view.setBigUint64(at + AT.iovLength, 1n, true);
    view.setBigUint64(at + AT.control, this.#control.address + BigInt(slot * CONTROL_BYTES), true);
  }
}

export class SendBatch {
  readonly slots: number;
  readonly #libc: Libc;
  readonly #dataBytes: number;
  readonly #data: Block;
  readonly #vectors: Block;
  readonly #entries: Block;
  #count = 0;

  constructor(libc: Libc, slots: number, dataBytes: number) {
    this.slots = slots;
    this.#libc = libc;
    this.#dataBytes = dataBytes;
    this.#data = libc.block(slots * dataBytes);
    this.#vectors = libc.block(slots * 16);
    this.#entries = libc.block(slots * ENTRY_BYTES);
  }

  get count(): number {
    return this.#count;
  }

  get full(): boolean {
    return this.#count === this.slots;
  }

  /** Adds a message of `bytes` bytes and returns its buffer. `to` null: the socket is connected or bound. */
  add(bytes: number, to: SocketAddress | null): Buffer {
    const slot = this.#count++;
    const from = slot * this.#dataBytes;
    this.#vectors.view.setBigUint64(slot * 16, this.#data.address + BigInt(from), true);
    this.#vectors.view.setBigUint64(slot * 16 + 8, BigInt(bytes), true);
    const { view } = this.#entries;
    const at = slot * ENTRY_BYTES;
    view.setBigUint64(at + AT.name, to?.block.address ?? 0n, true);
    view.setUint32(at + AT.nameLength, to?.bytes ?? 0, true);
    view.setBigUint64(at + AT.iov, this.#vectors.address + BigInt(slot * 16), true);
    view.setBigUint64(at + AT.iovLength, 1n, true);
    return this.#data.bytes.subarray(from, from + bytes);
  }

  /**
   * Sends all and empties the batch. Returns how many the kernel accepted; the rest is dropped, see
   * `libc.lastError()`.
   */
  send(fd: number): number {
    if (this.#count === 0) return 0;
    const sent = this.#libc.sendMessages(fd, this.#entries, this.#count, 0);
    this.#count = 0;
    return Math.max(0, sent);
  }

  sendEach(fd: number, onRefused: (error: string) => void): number {
    let taken = 0;
    let left = this.#count;
    while (left > 0) {
      const sent = Math.max(0, this.#libc.sendMessages(fd, this.#entries, left, 0));
      taken += sent;
      if (sent === left) break;
      // An error is only reported for the first message, so retry after the accepted ones.
      if (sent === 0) onRefused(this.#libc.lastError());
      const skip = Math.max(1, sent);
      this.#entries.bytes.copyWithin(0, skip * ENTRY_BYTES, left * ENTRY_BYTES);
      left -= skip;
    }
    this.#count = 0;
    return taken;
  }

  /**
   * Sends what the kernel accepts and keeps the rest. Returns the number accepted; 0: the first was refused,
   * see `libc.lastError()`.
   */
  sendSome(fd: number): number {
    if (this.#count === 0) return 0;
    const sent = Math.max(0, this.#libc.sendMessages(fd, this.#entries, this.#count, 0));
    this.#moveUp(sent);
    return sent;
  }

  /** Drops the next message of `sendSome`. Add no messages until the batch is empty again. */
  dropFirst(): void {
    this.#moveUp(1);
  }

  free(): void {
    for (const block of [this.#data, this.#vectors, this.#entries]) this.#libc.free(block);
  }

  #moveUp(entries: number): void {
    if (entries < this.#count) {
      this.#entries.bytes.copyWithin(0, entries * ENTRY_BYTES, this.#count * ENTRY_BYTES);
    }
    this.#count = Math.max(0, this.#count - entries);
  }
}
