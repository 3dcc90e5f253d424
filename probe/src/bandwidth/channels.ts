// Puts a burst's units on the wire: as UDP packets, or as blocks on the session's own TCP connection.
import { KernelSocket, SYS, SendBatch, type Block, type Libc } from "@isochrone/kernel-sockets";
import { wireOverhead, type WireOverhead } from "./arrivals.ts";
import { PACKET_HEAD_BYTES, writeBlockHead, writePacketNumbers, writePacketStart } from "./wire.ts";

const MAX_UNITS = 32;
const PROBE_PAYLOAD_BYTES = 64;
/** Assumes a path MTU of at most 1500: cluster traffic rarely crosses larger ones. */
const MAX_MTU = 1500;
const MIN_MTU = 576;
const IP_MTU = 14;
const IPV6_MTU = 24;
const IPV6_MTU_DISCOVER = 23;
const PMTUDISC_DO = 2;
const SO_SNDBUFFORCE = 32;
const UDP_SEGMENT = 103;
/** A burst at the local shaper waits in this buffer: 25 ms of 1 Gbit/s, doubled as the kernel counts it. */
const SEND_BUFFER_BYTES = 8_388_608;
const TCP_INFO_MSS = 16;
const TCP_INFO_BYTES = 104;
const SEGMENTS_PER_BLOCK = 2;
/**
 * Packets per UDP_SEGMENT buffer. A shaper needs tokens for all of them at once and splits buffers larger
 * than its bucket, which slows the sender. Keep this small.
 */
const CHUNK = 6;
const LARGE_CHUNK = 12;
const LARGE_BATCH = 24;
/** As above for streams: the blocks of one call leave as one. */
const BLOCKS_PER_CHUNK = 4;

export interface Channel {
  readonly overhead: WireOverhead;
  readonly unitBytes: number;
  readonly probeBytes: number;
  send(what: "probe" | "data", sequence: number, units: number, sendNs: number): number;
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
    // Fragments would be counted with too few headers.
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
  /** Null while the kernel segments buffers itself (UDP_SEGMENT), at a tenth of the cost per packet. */
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
    // Small packets go alone: batching them would need another buffer layout.
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

  #refused(taken: number): number {
    // The device cannot segment. The error appears on the first send that needs it.
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

export function openTcpChannel(libc: Libc, socket: KernelSocket, family: 4 | 6): Channel {
  // Without this right, the kernel's autotuning gives more than a request would.
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
  /** Start of the unsent rest of blocks that count as sent; the rest goes first. */
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
    // A small block still has a segment's headers.
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

/** Exceeds the system limit if the process may, else stays at it. */
function setSendBuffer(socket: KernelSocket): void {
  if (!socket.setOption(SYS.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES))
    socket.setOption(SYS.SOL_SOCKET, SYS.SO_SNDBUF, SEND_BUFFER_BYTES);
}
