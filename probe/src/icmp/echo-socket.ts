import {
  KernelSocket,
  ReceiveBatch,
  SYS,
  SendBatch,
  SystemCallError,
  type Libc,
  type SocketAddress,
} from "@isochrone/kernel-sockets";
import {
  ECHO_HEADER_BYTES,
  EchoCodec,
  MAX_PAYLOAD_BYTES,
  filterById,
  shortSequenceOf,
} from "./echo-packet.ts";
import type { EchoHandlers } from "./echo-port.ts";

/** Messages per system call; their memory is preallocated. */
const SEND_SLOTS = 32;
const RECEIVE_SLOTS = 32;
const ERROR_SLOTS = 32;
const DATA_BYTES = 2048;
/** Only the beginning of the packet quoted in an ICMP error is needed. */
const QUOTE_BYTES = 64;
const MIN_QUOTE_BYTES = 8;
const NONCE_QUOTE_BYTES = 16;
const RECEIVE_BUFFER_BYTES = 4 << 20;
const STAMP_RING = 1 << 16;
const ECHO_REPLY_V4 = 0;
const ECHO_REPLY_V6 = 129;
/** struct icmp6_filter: one bit per type, 1 = blocked. */
const ICMP6_FILTER_BYTES = 32;
const USUAL_HOP_LIMITS = [64, 128, 255];

export type SocketMode = "datagram" | "raw";

interface EchoSocketOptions {
  readonly family: 4 | 6;
  readonly dscp: number;
  /** Used on raw sockets; the kernel assigns one to datagram sockets. */
  readonly id: number;
  readonly nonce: bigint;
  readonly modes?: readonly SocketMode[];
}

/** A non-blocking ICMP socket: datagram where allowed, else raw. The kernel stamps packets and replies. */
export class EchoSocket {
  readonly mode: SocketMode;
  readonly #libc: Libc;
  readonly #family: 4 | 6;
  readonly #socket: KernelSocket;
  readonly #codec: EchoCodec;
  readonly #sends: SendBatch;
  readonly #replies: ReceiveBatch;
  readonly #errors: ReceiveBatch;
  readonly #queued: number[] = [];
  readonly #numberOfSend = new Uint32Array(STAMP_RING);
  #sendCount = 0;

  /** @throws SystemCallError naming every refused mode and its reason */
  constructor(libc: Libc, options: EchoSocketOptions) {
    const { family, dscp, id, nonce, modes = ["datagram", "raw"] } = options;
    const { socket, mode } = openFirst(libc, family, modes);
    this.mode = mode;
    this.#libc = libc;
    this.#family = family;
    this.#socket = socket;
    this.#codec = new EchoCodec({ family, id: mode === "raw" ? id : null, nonce });
    this.#sends = new SendBatch(libc, SEND_SLOTS, ECHO_HEADER_BYTES + MAX_PAYLOAD_BYTES);
    this.#replies = new ReceiveBatch(libc, RECEIVE_SLOTS, DATA_BYTES);
    this.#errors = new ReceiveBatch(libc, ERROR_SLOTS, QUOTE_BYTES);
    if (mode === "raw") this.#letOnlyOurRepliesThrough(id);
    this.#setOptions(dscp);
  }

  get fd(): number {
    return this.#socket.fd;
  }

  queue(number: number, to: SocketAddress, payloadBytes: number, handlers: EchoHandlers): void {
    if (this.#sends.full) this.flush(handlers);
    this.#codec.write(this.#sends.add(ECHO_HEADER_BYTES + payloadBytes, to), number);
    this.#queued.push(number);
  }

  flush(handlers: EchoHandlers): void {
    const numbers = this.#queued;
    let decided = 0;
    let refusals = 0;
    while (this.#sends.count > 0) {
      const sent = this.#sends.sendSome(this.fd);
      for (const end = decided + sent; decided < end; decided++) {
        const number = numbers[decided]!;
        this.#numberOfSend[this.#sendCount++ % STAMP_RING] = number;
        handlers.onAccepted(number);
      }
      if (sent > 0) {
        refusals = 0;
        continue;
      }
      const error = this.#libc.lastError();
      this.#restartNumbering(handlers);
      // The next call reports an earlier packet's ICMP error once, instead of sending.
      if (++refusals < 2) continue;
      refusals = 0;
      this.#sends.dropFirst();
      handlers.onRefused(numbers[decided++]!, error);
    }
    numbers.length = 0;
  }

  drain(handlers: EchoHandlers): void {
    let count = 0;
    do {
      // Replies are read first and judged last: their send stamps are in the error queue by then.
      count = this.#replies.receive(this.fd);
      this.#drainErrors(handlers);
      for (let slot = 0; slot < count; slot++) this.#judge(slot, handlers);
    } while (count === RECEIVE_SLOTS);
  }

  close(): void {
    this.#socket.close();
    this.#sends.free();
    this.#replies.free();
    this.#errors.free();
  }

  #setOptions(dscp: number): void {
    const socket = this.#socket;
    const v4 = this.#family === 4;
    socket.setReceiveBuffer(RECEIVE_BUFFER_BYTES);
    socket.setOption(v4 ? SYS.SOL_IP : SYS.SOL_IPV6, v4 ? SYS.IP_TOS : SYS.IPV6_TCLASS, dscp << 2);
    socket.setOption(v4 ? SYS.SOL_IP : SYS.SOL_IPV6, v4 ? SYS.IP_RECVERR : SYS.IPV6_RECVERR, 1);
    socket.setOption(v4 ? SYS.SOL_IP : SYS.SOL_IPV6, v4 ? SYS.IP_RECVTTL : SYS.IPV6_RECVHOPLIMIT, 1);
    socket.enableTimestamps({ sends: true });
  }

  /** A raw socket gets all ICMP messages of the namespace. Own errors arrive by the error queue anyway. */
  #letOnlyOurRepliesThrough(id: number): void {
    // Without the filter, foreign replies cost a wake-up each.
    this.#socket.attachFilter(filterById(this.#family, id));
    if (this.#family === 4) {
      this.#socket.setOption(SYS.SOL_RAW, SYS.ICMP_FILTER, ~(1 << ECHO_REPLY_V4));
      return;
    }
    const filter = this.#libc.block(ICMP6_FILTER_BYTES);
    filter.bytes.fill(0xff);
    const at = (ECHO_REPLY_V6 >> 5) * 4;
    filter.view.setUint32(at, ~(1 << (ECHO_REPLY_V6 & 31)) >>> 0, true);
    this.#socket.setOptionBytes(SYS.SOL_ICMPV6, SYS.ICMPV6_FILTER, filter, ICMP6_FILTER_BYTES);
    this.#libc.free(filter);
  }

  /** A refused send may have used a kernel number: read outstanding stamps, then restart both counters. */
  #restartNumbering(handlers: EchoHandlers): void {
    this.#drainErrors(handlers);
    this.#socket.restartNumbering();
    this.#sendCount = 0;
  }

  #drainErrors(handlers: EchoHandlers): void {
    let count = 0;
    do {
      count = this.#errors.receive(this.fd, SYS.MSG_ERRQUEUE);
      for (let slot = 0; slot < count; slot++) {
        const { sendNumber, kernelTime, errno } = this.#errors.info(slot);
        if (sendNumber >= 0) this.#stamp(sendNumber, kernelTime, handlers);
        else if (errno > 0) this.#unreachable(slot, errno, handlers);
      }
    } while (count === ERROR_SLOTS);
  }

  #stamp(sendNumber: number, kernelTime: number, handlers: EchoHandlers): void {
    const back = this.#sendCount - sendNumber;
    if (back > 0 && back <= STAMP_RING) {
      handlers.onDeparted(this.#numberOfSend[sendNumber % STAMP_RING]!, kernelTime);
    }
  }

  #unreachable(slot: number, errno: number, handlers: EchoHandlers): void {
    const quote = this.#errors.message(slot);
    if (quote.length < MIN_QUOTE_BYTES || !this.#codec.hasOurId(quote, 0)) return;
    if (quote.length >= NONCE_QUOTE_BYTES && !this.#codec.isOurs(quote, 0)) return;
    handlers.onUnreachable(
      shortSequenceOf(quote, 0),
      this.#errors.sourceIp(slot),
      this.#libc.errorName(errno),
    );
  }

  #judge(slot: number, handlers: EchoHandlers): void {
    const { bytes } = this.#replies.data;
    const from = slot * DATA_BYTES;
    const header = this.mode === "raw" && this.#family === 4 ? (bytes[from]! & 15) * 4 : 0;
    const length = this.#replies.length(slot) - header;
    const reply = this.#codec.read(bytes, from + header, length);
    if (reply.kind === "foreign") return;
    const source = this.#replies.sourceIp(slot);
    if (reply.kind === "corrupt") {
      handlers.onCorrupt(reply.sequence, reply.shortSequence, source);
      return;
    }
    const { kernelTime, hops } = this.#replies.info(slot);
    handlers.onReply(reply.sequence, {
      source,
      receivedNs: kernelTime,
      hops: hopsOf(hops),
      payloadBytes: length - ECHO_HEADER_BYTES,
    });
  }
}

/** Routers passed, from the remaining hop limit and the next usual initial one. -1: unknown. */
export function hopsOf(remaining: number): number {
  if (remaining < 0) return -1;
  const start = USUAL_HOP_LIMITS.find((limit) => limit >= remaining);
  return start === undefined ? -1 : start - remaining;
}

function openFirst(
  libc: Libc,
  family: 4 | 6,
  modes: readonly SocketMode[],
): { readonly socket: KernelSocket; readonly mode: SocketMode } {
  const refusals: string[] = [];
  let code = "EINVAL";
  for (const mode of modes) {
    try {
      const socket = KernelSocket.open(libc, {
        family: family === 4 ? SYS.AF_INET : SYS.AF_INET6,
        type: mode === "raw" ? SYS.SOCK_RAW : SYS.SOCK_DGRAM,
        protocol: family === 4 ? SYS.IPPROTO_ICMP : SYS.IPPROTO_ICMPV6,
      });
      return { socket, mode };
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      code = error.code;
      refusals.push(
        `${mode} ${code} (${mode === "raw" ? "needs CAP_NET_RAW" : "needs net.ipv4.ping_group_range"})`,
      );
    }
  }
  throw new SystemCallError(`no ICMPv${family} socket: ${refusals.join(", ")}`, code);
}
