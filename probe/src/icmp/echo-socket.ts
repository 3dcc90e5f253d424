import { ECHO_BYTES, readEcho, writeEcho } from "./echo-packet.ts";
import { SYS, type Block, type Libc } from "./libc.ts";

/** SOF_TIMESTAMPING_ TX_SOFTWARE, RX_SOFTWARE, SOFTWARE, OPT_ID (numbers our sends), OPT_TSONLY, OPT_CMSG. */
const TIMESTAMPING = (1 << 1) | (1 << 3) | (1 << 4) | (1 << 7) | (1 << 11) | (1 << 10);
const DATA_BYTES = 512;
const CONTROL_BYTES = 512;
const ADDRESS_BYTES = 16;
const RECEIVE_BUFFER_BYTES = 1 << 20;
const LE = true;
/** Offsets in struct msghdr. */
const MSG = {
  name: 0,
  nameLength: 8,
  iov: 16,
  iovLength: 24,
  control: 32,
  controlLength: 40,
  bytes: 56,
} as const;

/** A reply, with the kernel's time of its arrival in ns of CLOCK_REALTIME (0n: it gave none). */
export interface ReceivedEcho {
  readonly kind: "ours" | "corrupt";
  readonly sequence: number;
  readonly source: string;
  readonly kernelNs: bigint;
}

export interface EchoSocketHandlers {
  onReply(reply: ReceivedEcho): void;
  /** The kernel's time at which the n-th packet (from 0) left. */
  onSent(sendNumber: number, kernelNs: bigint): void;
}

/** One ICMP socket: datagram where the kernel allows (it filters by id for us), else raw. Never blocks, except in `wait`. */
export class EchoSocket {
  readonly raw: boolean;
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #id: number;
  readonly #nonce: bigint;
  readonly #data: Block;
  readonly #control: Block;
  readonly #message: Block;
  readonly #packet: Block;
  readonly #address: Block;
  readonly #source: Block;
  readonly #pollFd: Block;
  readonly #timeout: Block;
  readonly #option: Block;
  #sends = 0;

  /** `id` is only used on raw sockets. @throws Error with the system's reason */
  constructor(libc: Libc, id: number, nonce: bigint) {
    this.#libc = libc;
    this.#id = id;
    this.#nonce = nonce;
    const flags = SYS.SOCK_CLOEXEC | SYS.SOCK_NONBLOCK;
    let fd = libc.socket(SYS.AF_INET, SYS.SOCK_DGRAM | flags, SYS.IPPROTO_ICMP);
    const refusal = fd < 0 ? libc.lastError() : "";
    this.raw = fd < 0;
    if (this.raw) fd = libc.socket(SYS.AF_INET, SYS.SOCK_RAW | flags, SYS.IPPROTO_ICMP);
    if (fd < 0) {
      throw new Error(
        `no ICMP socket: datagram ${refusal} (net.ipv4.ping_group_range), raw ${libc.lastError()} (CAP_NET_RAW)`,
      );
    }
    this.#fd = fd;
    this.#data = libc.block(DATA_BYTES);
    this.#control = libc.block(CONTROL_BYTES);
    this.#message = libc.block(MSG.bytes);
    this.#packet = libc.block(ECHO_BYTES);
    this.#address = libc.block(ADDRESS_BYTES);
    this.#source = libc.block(ADDRESS_BYTES);
    this.#pollFd = libc.block(8);
    this.#timeout = libc.block(16);
    this.#option = libc.block(4);
    this.#prepareMessage();
    this.#setOptions();
  }

  /** Sends a request; returns its send number, or the system's error. */
  send(target: string, sequence: number): { readonly number: number } | { readonly error: string } {
    const { view } = this.#address;
    view.setUint16(0, SYS.AF_INET, LE);
    for (const [i, part] of target.split(".").entries()) view.setUint8(4 + i, Number(part));
    writeEcho(this.#packet.view, this.#id, sequence, this.#nonce);
    if (this.#libc.sendTo(this.#fd, this.#packet, ECHO_BYTES, this.#address, ADDRESS_BYTES) >= 0)
      return { number: this.#sends++ };
    const error = this.#libc.lastError();
    this.#restartNumbering();
    return { error };
  }

  /** Hands over every send time and reply that has come. */
  drain(handlers: EchoSocketHandlers): void {
    while (this.#receiveSendTime(handlers));
    while (this.#receiveReply(handlers));
  }

  /** Blocks the thread until something comes, at most so long. */
  wait(timeoutMs: number): void {
    const ns = Math.max(0, Math.round(timeoutMs * 1e6));
    this.#timeout.view.setBigInt64(0, BigInt(Math.floor(ns / 1e9)), LE);
    this.#timeout.view.setBigInt64(8, BigInt(ns % 1e9), LE);
    this.#libc.poll(this.#pollFd, 1, this.#timeout);
  }

  close(): void {
    this.#libc.close(this.#fd);
  }

  #prepareMessage(): void {
    const iov = this.#libc.block(16);
    iov.view.setBigUint64(0, this.#data.address, LE);
    iov.view.setBigUint64(8, BigInt(DATA_BYTES), LE);
    const { view } = this.#message;
    view.setBigUint64(MSG.name, this.#source.address, LE);
    view.setBigUint64(MSG.iov, iov.address, LE);
    view.setBigUint64(MSG.iovLength, 1n, LE);
    view.setBigUint64(MSG.control, this.#control.address, LE);
    this.#pollFd.view.setInt32(0, this.#fd, LE);
    this.#pollFd.view.setInt16(4, SYS.POLLIN, LE);
  }

  #setOptions(): void {
    // A raw socket sees every ICMP message of the network namespace: let only echo replies through.
    if (this.raw) this.#setOption(SYS.SOL_RAW, SYS.ICMP_FILTER, ~1);
    this.#setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUF, RECEIVE_BUFFER_BYTES);
    this.#setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, TIMESTAMPING);
  }

  /** A refused send may or may not have used up a number of the kernel's: count from 0 on both sides again. */
  #restartNumbering(): void {
    this.#setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, 0);
    this.#setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, TIMESTAMPING);
    this.#sends = 0;
  }

  #setOption(level: number, name: number, value: number): void {
    this.#option.view.setUint32(0, value >>> 0, LE);
    this.#libc.setOption(this.#fd, level, name, this.#option, 4);
  }

  #receiveSendTime(handlers: EchoSocketHandlers): boolean {
    if (this.#receive(SYS.MSG_ERRQUEUE | SYS.MSG_DONTWAIT) < 0) return false;
    const { kernelNs, sendNumber } = this.#readControl();
    if (sendNumber !== null) handlers.onSent(sendNumber, kernelNs);
    return true;
  }

  #receiveReply(handlers: EchoSocketHandlers): boolean {
    const length = this.#receive(SYS.MSG_DONTWAIT);
    if (length < 0) return false;
    const { view } = this.#data;
    const offset = this.raw ? (view.getUint8(0) & 15) * 4 : 0;
    const reply = readEcho(view, offset, length - offset, this.#nonce, this.raw ? this.#id : null);
    if (reply.kind === "foreign") return true;
    const sequence = reply.kind === "ours" ? reply.sequence : 0;
    handlers.onReply({
      kind: reply.kind,
      sequence,
      source: this.#sourceText(),
      kernelNs: this.#readControl().kernelNs,
    });
    return true;
  }

  #receive(flags: number): number {
    this.#message.view.setUint32(MSG.nameLength, ADDRESS_BYTES, LE);
    this.#message.view.setBigUint64(MSG.controlLength, BigInt(CONTROL_BYTES), LE);
    return this.#libc.receive(this.#fd, this.#message, flags);
  }

  #sourceText(): string {
    const { view } = this.#source;
    return [4, 5, 6, 7].map((at) => view.getUint8(at)).join(".");
  }

  /** Walks the control messages: cmsghdr is length (8), level (4), type (4), then the data, aligned to 8. */
  #readControl(): { kernelNs: bigint; sendNumber: number | null } {
    const { view } = this.#control;
    const end = Number(this.#message.view.getBigUint64(MSG.controlLength, LE));
    let kernelNs = 0n;
    let sendNumber: number | null = null;
    for (let at = 0; at + 16 <= end;) {
      const length = Number(view.getBigUint64(at, LE));
      if (length < 16) break;
      const level = view.getInt32(at + 8, LE);
      const type = view.getInt32(at + 12, LE);
      if (level === SYS.SOL_SOCKET && type === SYS.SO_TIMESTAMPING) {
        kernelNs = view.getBigInt64(at + 16, LE) * 1_000_000_000n + view.getBigInt64(at + 24, LE);
      } else if (
        level === SYS.SOL_IP &&
        type === SYS.IP_RECVERR &&
        view.getUint8(at + 20) === SYS.SO_EE_ORIGIN_TIMESTAMPING
      ) {
        sendNumber = view.getUint32(at + 28, LE);
      }
      at += (length + 7) & ~7;
    }
    return { kernelNs, sendNumber };
  }
}
