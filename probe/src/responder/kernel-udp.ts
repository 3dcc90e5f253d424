import {
  KernelSocket,
  READABLE,
  ReceiveBatch,
  SOCKADDR_BYTES,
  SYS,
  SendBatch,
  type Block,
  type Libc,
  type Poller,
  type SocketAddress,
} from "@isochrone/kernel-sockets";
import { MAX_PACKET_BYTES } from "../domain/packet.ts";
import { LeastTime } from "../domain/least-time.ts";
import { LeaveTime } from "./leave-time.ts";
import { UDP_QUEUE_BYTES, type ListenAddress, type Listener } from "./listener.ts";
import { MAX_STEERED_FLOWS, REQUEST_FILTER, steeringProgram } from "./request-filter.ts";
import type { Responder } from "./responder.ts";
import { sourceOfBytes, type Source } from "./source.ts";

/** Packets read from one port before the others are served. */
const BATCH = 32;
/** A longer residence is a step of the kernel's clock. Nanoseconds. */
const MAX_RESIDENCE_NS = 1e9;

interface ReturnAddress extends SocketAddress {
  family: 4 | 6;
  bytes: number;
}

export class UdpMemory {
  readonly received: ReceiveBatch;
  readonly answers: SendBatch;
  readonly addresses: readonly ReturnAddress[];
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
    // One byte more than a packet, to detect longer ones.
    this.received = new ReceiveBatch(libc, BATCH, MAX_PACKET_BYTES + 1);
    this.answers = new SendBatch(libc, BATCH, MAX_PACKET_BYTES);
    this.addresses = Array.from({ length: BATCH }, () => {
      const block: Block = libc.block(SOCKADDR_BYTES);
      return { family: 4, block, bytes: 0 };
    });
  }

  free(): void {
    this.received.free();
    this.answers.free();
    for (const { block } of this.addresses) this.#libc.free(block);
  }
}

interface KernelUdpDeps {
  readonly libc: Libc;
  readonly poller: Poller;
  readonly memory: UdpMemory;
  readonly monotonic: () => number;
}

interface Admitted {
  readonly slot: number;
  readonly packet: Buffer;
  /** Kernel receive stamp, ns since kernelTimeBase; NaN: unknown. */
  readonly stampNs: number;
}

interface Lane {
  readonly socket: KernelSocket;
  drops: number;
}

/**
 * The UDP side of the echo responder on kernel sockets: many packets per call, kernel receive times. The port
 * has two sockets: the kernel steers packets of known flows to the second one, whose queue a flood of others
 * cannot fill.
 */
export class KernelUdpListener implements Listener {
  readonly port: number;
  readonly #deps: KernelUdpDeps;
  readonly #responder: Responder;
  /** The common lane, then that of known flows, which is missing if the kernel cannot steer. */
  readonly #lanes: Lane[] = [];
  #steeredRevision = 0;
  readonly #leaving: LeaveTime;
  /** From setting the residence to the send call. Applies to a batch, so one slow sample must not count. */
  readonly #preparing = new LeastTime(4);

  constructor(responder: Responder, { address, port }: ListenAddress, deps: KernelUdpDeps) {
    this.#deps = deps;
    this.#responder = responder;
    this.#leaving = new LeaveTime(deps.libc);
    // Bound without sharing: a port in use must be an error.
    const all = this.#open(address, port, false);
    this.port = all.localAddress().port;
    this.#lanes.push({ socket: all, drops: 0 });
    this.#openKnownLane(all, address);
    // Known flows first: handlers run in insertion order.
    for (const { socket } of this.#lanes.toReversed())
      deps.poller.add(socket.fd, READABLE, (events) => this.#ready(socket.fd, events));
  }

  sweep(): void {
    this.#leaving.renew();
    for (const lane of this.#lanes) {
      const drops = lane.socket.drops();
      // The kernel's counter has 32 bits.
      const added = drops < 0 ? 0 : (drops - lane.drops) >>> 0;
      if (added > 0) this.#responder.refuse("kernel_dropped", added);
      lane.drops = Math.max(0, drops);
    }
    if (this.#lanes.length > 1 && this.#responder.knownRevision !== this.#steeredRevision) this.#steer();
  }

  async close(): Promise<void> {
    this.sweep();
    for (const { socket } of this.#lanes) {
      this.#deps.poller.remove(socket.fd);
      socket.close();
    }
    this.#leaving.free();
  }

  #open(address: string, port: number, shared: boolean): KernelSocket {
    const family = address.includes(":") ? SYS.AF_INET6 : SYS.AF_INET;
    const socket = KernelSocket.open(this.#deps.libc, { family, type: SYS.SOCK_DGRAM, protocol: 0 });
    try {
      // Before binding, so that nothing unfiltered enters the queue.
      socket.attachFilter(REQUEST_FILTER);
      socket.enableTimestamps({ sends: false });
      socket.setReceiveBuffer(UDP_QUEUE_BYTES);
      if (shared) socket.setOption(SYS.SOL_SOCKET, SYS.SO_REUSEPORT, 1);
      socket.bind(address, port);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Without it all packets share a queue; not worth failing for. */
  #openKnownLane(all: KernelSocket, address: string): void {
    if (!all.setOption(SYS.SOL_SOCKET, SYS.SO_REUSEPORT, 1)) return;
    let known: KernelSocket;
    try {
      known = this.#open(address, this.port, true);
    } catch {
      return;
    }
    if (all.attachSteering(steeringProgram([]))) this.#lanes.push({ socket: known, drops: 0 });
    else known.close();
  }

  /** If the kernel refuses, the previous program stays, and newer flows use the common queue. */
  #steer(): void {
    this.#steeredRevision = this.#responder.knownRevision;
    const marks = this.#responder.knownMarks(MAX_STEERED_FLOWS);
    this.#lanes[0]?.socket.attachSteering(steeringProgram(marks));
  }

  #ready(fd: number, events: number): void {
    if ((events & SYS.POLLERR) !== 0) this.#leaving.discardLate(fd);
    this.#serve(fd);
  }

  #serve(fd: number): void {
    const { libc, memory, monotonic } = this.#deps;
    const count = memory.received.receive(fd);
    const atMs = monotonic();
    if (count < 0) this.#responder.refuse(`socket_${libc.lastError()}`);
    if (count <= 0) return;
    const strangers: number[] = [];
    const known: Admitted[] = [];
    for (let slot = 0; slot < count; slot++) {
      const source = this.#sourceOf(slot);
      if (count > 1 && !this.#responder.isKnown(memory.received.message(slot), source, atMs))
        strangers.push(slot);
      else this.#admit(slot, source, atMs, known);
    }
    this.#answer(known, atMs);
    if (strangers.length === 0) return;
    const others: Admitted[] = [];
    for (const slot of strangers) this.#admit(slot, this.#sourceOf(slot), atMs, others);
    this.#answer(others, atMs);
  }

  #admit(slot: number, source: Source, atMs: number, into: Admitted[]): void {
    const { received } = this.#deps.memory;
    const packet = received.message(slot);
    if (!this.#responder.admit(packet, "udp", source, atMs)) return;
    into.push({ slot, packet, stampNs: received.info(slot).kernelTime });
  }

  /** Residence: from the kernel's receive stamp to the usual departure within the send call. */
  #answer(admitted: readonly Admitted[], atMs: number): void {
    if (admitted.length === 0) return;
    const { libc, memory, monotonic } = this.#deps;
    const clockNs = libc.clock(SYS.CLOCK_REALTIME);
    const readMs = monotonic();
    let left = admitted.length;
    for (const { slot, packet, stampNs } of admitted) {
      const nowMs = monotonic();
      const heldNs = clockNs - stampNs + (nowMs - readMs) * 1e6;
      const heldMs = heldNs >= 0 && heldNs < MAX_RESIDENCE_NS ? heldNs / 1e6 : nowMs - atMs;
      this.#responder.answer(packet, heldMs + left-- * this.#preparing.ms + this.#leaving.ms);
      memory.answers.add(packet.length, this.#returnAddress(slot)).set(packet);
    }
    this.#preparing.add((monotonic() - readMs) / admitted.length);
    const { socket } = this.#lanes[0]!;
    this.#leaving.around(socket, () =>
      memory.answers.sendEach(socket.fd, (error) => this.#responder.refuse(`send_${error}`)),
    );
  }

  #sourceOf(slot: number): Source {
    const bytes = Buffer.allocUnsafe(16);
    this.#deps.memory.received.copySourceIp(slot, bytes);
    return sourceOfBytes(bytes);
  }

  #returnAddress(slot: number): SocketAddress {
    const { received, addresses } = this.#deps.memory;
    const address = addresses[slot]!;
    address.bytes = received.copySource(slot, address.block);
    return address;
  }
}
