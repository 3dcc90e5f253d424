// How the units of a burst get onto the wire: packets of UDP, or blocks of the session's own TCP connection.
import { KernelSocket, SYS, SendBatch, type Block, type Libc } from "@isochrone/kernel-sockets";
import { wireOverhead, type WireOverhead } from "./arrivals.ts";
import { PACKET_HEAD_BYTES, writeBlockHead, writePacketNumbers, writePacketStart } from "./wire.ts";

const MAX_UNITS = 32;
const PROBE_PAYLOAD_BYTES = 64;
/** A path of 1500 bytes; larger ones are not used: what cluster traffic crosses seldom has more. */
const MAX_MTU = 1500;
const MIN_MTU = 576;
/** Linux's numbers of options that the sockets' own table lacks. */
const IP_MTU = 14;
const IPV6_MTU = 24;
const IPV6_MTU_DISCOVER = 23;
const PMTUDISC_DO = 2;
const SO_SNDBUFFORCE = 32;
const UDP_SEGMENT = 103;
/**
 * A burst at the local shaper waits in this buffer: room for 25 ms of 1 Gbit/s, twice as the kernel counts.
 */
const SEND_BUFFER_BYTES = 8_388_608;
const TCP_INFO_MSS = 16;
const TCP_INFO_BYTES = 104;
const SEGMENTS_PER_BLOCK = 2;
/**
 * Packets that the kernel cuts from one buffer pass a shaper as one: it must have tokens for all, and cuts
 * what is larger than its bucket at a cost that would slow the sender down. So few at a time.
 */
const CHUNK = 6;
const LARGE_CHUNK = 12;
const LARGE_BATCH = 24;
/** The same for streams: what one call hands over leaves as one. */
const BLOCKS_PER_CHUNK = 4;

export interface Channel {
  readonly overhead: WireOverhead;
  /** Bytes on the wire of a full-sized and of a small unit. */
  readonly unitBytes: number;
  readonly probeBytes: number;
  /**
   * Hands units to the kernel, numbered from `sequence`; returns how many it took. Throws nothing: refused
   * units are just not taken.
   */
  send(what: "probe" | "data", sequence: number, units: number, sendNs: number): number;
  /** On the wire, of what a receiver counted as payload. */
  wireBytes(payloadBytes: number, units: number): number;
  close(): void;
}

interface ChannelOptions {
  readonly family: 4 | 6;
  readonly address: string;
  readonly port: number;
  readonly bindAddress: string;
  readonly token: Buffer;
  readonly dscp: number;
}

/** Opens the socket of a UDP test. @throws SystemCallError */
export function openUdpChannel(libc: Libc, options: ChannelOptions): Channel {
  const { family, address, port, bindAddress, token, dscp } = options;
  const socket = KernelSocket.open(libc, {
    family: family === 4 ? SYS.AF_INET : SYS.AF_INET6,
    type: SYS.SOCK_DGRAM,
    protocol: 0,
  });
  try {
    socket.bind(bindAddress, 0);
    setSendBuffer(socket);
    setTrafficClass(socket, family, dscp);
    // A packet in fragments would be counted with too few headers.
    if (family === 4) socket.setOption(SYS.SOL_IP, SYS.IP_MTU_DISCOVER, PMTUDISC_DO);
    else socket.setOption(SYS.SOL_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO);
    socket.connect(address, port);
  } catch (error) {
    socket.close();
    throw error;
  }
  return new UdpChannel(libc, socket, family, token);
}

class UdpChannel implements Channel {
  readonly overhead: WireOverhead;
  readonly unitBytes: number;
  readonly probeBytes: number;
  readonly #libc: Libc;
  readonly #socket: KernelSocket;
  readonly #block: Block;
  readonly #payloadBytes: number;
  /**
   * Null while the kernel cuts a buffer into packets itself (UDP_SEGMENT): a tenth of the cost of single
   * ones.
   */
  #batch: SendBatch | null = null;

  constructor(libc: Libc, socket: KernelSocket, family: 4 | 6, token: Buffer) {
    const known =
      family === 4 ? socket.getOption(SYS.SOL_IP, IP_MTU) : socket.getOption(SYS.SOL_IPV6, IPV6_MTU);
    const mtu = known < MIN_MTU ? MAX_MTU : Math.min(known, MAX_MTU);
    this.#libc = libc;
    this.#socket = socket;
    this.#payloadBytes = mtu - (family === 4 ? 28 : 48);
    this.overhead = wireOverhead(family, mtu);
    this.unitBytes = this.#payloadBytes + this.overhead.packetBytes;
    this.probeBytes = PROBE_PAYLOAD_BYTES + this.overhead.packetBytes;
    this.#block = libc.block(MAX_UNITS * this.#payloadBytes);
    for (let i = 0; i < MAX_UNITS; i++) writePacketStart(this.#block.bytes, i * this.#payloadBytes, token);
    if (!socket.setOption(SYS.IPPROTO_UDP, UDP_SEGMENT, this.#payloadBytes)) this.#sendSingly();
  }

  send(what: "probe" | "data", sequence: number, units: number, sendNs: number): number {
    const { bytes } = this.#block;
    const unitBytes = what === "probe" ? PROBE_PAYLOAD_BYTES : this.#payloadBytes;
    // Small ones go alone: they would have to lie closer in the buffer.
    const count = what === "probe" ? 1 : units;
    for (let i = 0; i < count; i++) writePacketNumbers(bytes, i * this.#payloadBytes, sequence + i, sendNs);
    if (this.#batch !== null) return this.#sendBatch(this.#batch, count, unitBytes);
    const chunk = count > LARGE_BATCH ? LARGE_CHUNK : CHUNK;
    for (let from = 0; from < count; from += chunk) {
      const bytes = Math.min(chunk, count - from) * unitBytes;
      if (this.#libc.send(this.#socket.fd, this.#block, from * unitBytes, bytes, 0) < 0)
        return this.#refused(from);
    }
    return count;
  }

  /** `taken`: how many of the batch had left before. */
  #refused(taken: number): number {
    // A device that can't cut: the error comes with the first send that has something to cut.
    if (["EIO", "EINVAL", "EMSGSIZE"].includes(this.#libc.lastError())) this.#sendSingly();
    return taken;
  }

  wireBytes(payloadBytes: number, units: number): number {
    return payloadBytes + units * this.overhead.packetBytes;
  }

  close(): void {
    this.#socket.close();
    this.#batch?.free();
    this.#libc.free(this.#block);
  }

  #sendSingly(): void {
    this.#socket.setOption(SYS.IPPROTO_UDP, UDP_SEGMENT, 0);
    this.#batch ??= new SendBatch(this.#libc, MAX_UNITS, this.#payloadBytes);
  }

  #sendBatch(batch: SendBatch, count: number, unitBytes: number): number {
    for (let i = 0; i < count; i++) {
      const from = i * this.#payloadBytes;
      this.#block.bytes.copy(batch.add(unitBytes, null), 0, from, from + PACKET_HEAD_BYTES);
    }
    return batch.send(this.#socket.fd);
  }
}

/** The session's connection itself carries the data. `socket` stays the caller's. */
export function openTcpChannel(libc: Libc, socket: KernelSocket, family: 4 | 6): Channel {
  // Where this may not be forced the kernel's own tuning gives more than asking would.
  socket.setOption(SYS.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES);
  return new TcpChannel(libc, socket, family);
}

class TcpChannel implements Channel {
  readonly overhead: WireOverhead;
  readonly unitBytes: number;
  readonly probeBytes: number;
  readonly #libc: Libc;
  readonly #socket: KernelSocket;
  readonly #block: Block;
  readonly #blockBytes: number;
  /** What the kernel didn't take of blocks that count as sent: it goes first. */
  #from = 0;
  #to = 0;

  constructor(libc: Libc, socket: KernelSocket, family: 4 | 6) {
    const segmentBytes = segmentBytesOf(libc, socket);
    this.#libc = libc;
    this.#socket = socket;
    this.#blockBytes = SEGMENTS_PER_BLOCK * segmentBytes;
    this.#block = libc.block(MAX_UNITS * this.#blockBytes);
    this.overhead = wireOverhead(family, segmentBytes);
    this.unitBytes = this.wireBytes(this.#blockBytes);
    // A small block has the headers of a segment all the same.
    this.probeBytes = PROBE_PAYLOAD_BYTES + (this.overhead.streamFactor - 1) * segmentBytes;
  }

  send(what: "probe" | "data", sequence: number, units: number, sendNs: number): number {
    if (!this.#flush()) return 0;
    const bytes = what === "probe" ? PROBE_PAYLOAD_BYTES : this.#blockBytes;
    for (let i = 0; i < units; i++) writeBlockHead(this.#block.bytes, i * bytes, sequence + i, sendNs, bytes);
    this.#from = 0;
    this.#to = units * bytes;
    this.#flush();
    return units;
  }

  wireBytes(payloadBytes: number): number {
    return payloadBytes * this.overhead.streamFactor;
  }

  close(): void {
    this.#libc.free(this.#block);
  }

  /** True when nothing is left over. */
  #flush(): boolean {
    while (this.#from < this.#to) {
      const bytes = Math.min(BLOCKS_PER_CHUNK * this.#blockBytes, this.#to - this.#from);
      const sent = this.#libc.send(this.#socket.fd, this.#block, this.#from, bytes, 0);
      if (sent <= 0) return false;
      this.#from += sent;
    }
    return true;
  }
}

/** Payload of a full segment, options already subtracted. */
function segmentBytesOf(libc: Libc, socket: KernelSocket): number {
  const info = libc.block(TCP_INFO_BYTES);
  const read = socket.getOptionBytes(SYS.IPPROTO_TCP, SYS.TCP_INFO, info);
  const bytes = read < TCP_INFO_BYTES ? 0 : info.view.getUint32(TCP_INFO_MSS, true);
  libc.free(info);
  return bytes < 100 ? 1448 : Math.min(bytes, MAX_MTU - 52);
}

export function setTrafficClass(socket: KernelSocket, family: 4 | 6, dscp: number): void {
  if (dscp === 0) return;
  if (family === 4) socket.setOption(SYS.SOL_IP, SYS.IP_TOS, dscp << 2);
  else socket.setOption(SYS.SOL_IPV6, SYS.IPV6_TCLASS, dscp << 2);
}

/** Beyond the system's bound where this process may, else up to it. */
function setSendBuffer(socket: KernelSocket): void {
  if (!socket.setOption(SYS.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES))
    socket.setOption(SYS.SOL_SOCKET, SYS.SO_SNDBUF, SEND_BUFFER_BYTES);
}
