import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SOCKADDR_BYTES,
  SYS,
  ipOf,
  type Block,
  type Libc,
} from "@isochrone/kernel-sockets";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import { Connection } from "./connection.ts";
import type { ReceiverConfig, ReceiverCounts } from "./messages.ts";
import { MAX_WAITING, openPorts } from "./receiver-ports.ts";
import { ReceiverSession } from "./receiver-session.ts";
import {
  AT_PACKET,
  MESSAGE,
  isPacketOf,
  readFinish,
  readOpen,
  readSendNs,
  readSequence,
  verifyMessage,
  writeAccept,
  writeHello,
  writeReason,
  type MessageHead,
  type OpenRequest,
  type Refusal,
} from "./wire.ts";

const MS = 1e6;
const HANDSHAKE_NS = 2000 * MS;
const PACKETS = 64;
const PACKET_BYTES = 64;
/** Bytes of a stream read per call. They share one stamp, so keep it small. */
const STREAM_BYTES = 16_384;

interface Guest {
  readonly connection: Connection;
  readonly address: Uint8Array;
  readonly nonce: Uint8Array;
  readonly deadlineNs: number;
  session: ReceiverSession | null;
  closing: Refusal | "ended" | null;
}

export class Receiver {
  readonly #libc: Libc;
  readonly #config: ReceiverConfig;
  readonly #random: (bytes: number) => Buffer;
  readonly #poller: Poller;
  readonly #packets: ReceiveBatch;
  readonly #stream: ReceiveBatch;
  readonly #scratch: Block;
  readonly #guests = new Set<Guest>();
  readonly #ownAddress: Uint8Array;
  #keys: Keyring;
  #keyCount: number;
  #listener: KernelSocket | null = null;
  #udp: KernelSocket | null = null;
  #active: Guest | null = null;
  #overflows = 0;
  #counts = noCounts();

  constructor(libc: Libc, config: ReceiverConfig, random: (bytes: number) => Buffer) {
    const address = parseAddress(config.identity);
    if (address === null)
      throw new RangeError(`bandwidth identity must be an IP address, got ${config.identity}`);
    this.#libc = libc;
    this.#config = config;
    this.#random = random;
    this.#ownAddress = address;
    this.#keys = new Keyring(config.keys);
    this.#keyCount = config.keys.length;
    this.#poller = new Poller(libc);
    this.#packets = new ReceiveBatch(libc, PACKETS, PACKET_BYTES);
    this.#stream = new ReceiveBatch(libc, 1, STREAM_BYTES);
    this.#scratch = libc.block(STREAM_BYTES);
  }

  /** True while a test runs: call `turn` without pauses. */
  get isBusy(): boolean {
    return this.#active !== null;
  }

  get isIdle(): boolean {
    return this.#guests.size === 0;
  }

  /** Opens TCP and UDP on one port if needed, and returns the port. @throws SystemCallError */
  open(): number {
    const { sockets, port } = this.#config;
    const ports = sockets === undefined ? openPorts(this.#libc, this.#config) : null;
    const listener = ports?.listener ?? new KernelSocket(this.#libc, sockets!.listener);
    this.#listener = listener;
    this.#udp = ports?.udp ?? new KernelSocket(this.#libc, sockets!.udp);
    this.#poller.add(listener.fd, READABLE, () => this.#accept(listener));
    return ports?.port ?? port;
  }

  setKeys(keys: ReceiverConfig["keys"]): void {
    this.#keys = new Keyring(keys);
    this.#keyCount = keys.length;
  }

  turn(waitMs: number): void {
    this.#poller.wait(waitMs);
    const nowNs = this.#now();
    const session = this.#active?.session;
    if (this.#active !== null && session) this.#active.closing ??= session.turn(nowNs);
    for (const guest of this.#guests) {
      if (guest.session === null && nowNs > guest.deadlineNs) guest.closing ??= "too_long";
      if (guest.connection.isBehind && !guest.connection.flush()) guest.closing ??= "ended";
      if (guest.closing !== null) this.#dismiss(guest, guest.closing);
    }
  }

  takeCounts(): ReceiverCounts {
    const counts = this.#counts;
    this.#counts = noCounts();
    return counts;
  }

  close(): void {
    for (const guest of this.#guests) this.#dismiss(guest, "closing");
    if (this.#config.sockets === undefined) {
      this.#listener?.close();
      this.#udp?.close();
    }
    this.#poller.close();
    this.#packets.free();
    this.#stream.free();
    this.#libc.free(this.#scratch);
  }

  #accept(listener: KernelSocket): void {
    const address = this.#libc.block(SOCKADDR_BYTES);
    const length = this.#libc.block(4);
    length.view.setUint32(0, SOCKADDR_BYTES, true);
    const fd = this.#libc.accept(listener.fd, address, length, SYS.SOCK_NONBLOCK | SYS.SOCK_CLOEXEC);
    const source = parseAddress(ipOf(address.view, 0));
    this.#libc.free(address);
    this.#libc.free(length);
    if (fd < 0) return;
    const socket = new KernelSocket(this.#libc, fd);
    if (source === null || this.#waiting() >= MAX_WAITING) {
      socket.close();
      this.#count("busy");
      return;
    }
    socket.setOption(SYS.IPPROTO_TCP, SYS.TCP_NODELAY, 1);
    socket.enableTimestamps({ sends: false });
    const connection = new Connection(this.#libc, socket, this.#scratch);
    const nonce = this.#random(16);
    const deadlineNs = this.#now() + HANDSHAKE_NS;
    const guest: Guest = { connection, address: source, nonce, deadlineNs, session: null, closing: null };
    this.#guests.add(guest);
    this.#poller.add(fd, READABLE, () => this.#read(guest));
    connection.send(writeHello(nonce));
  }

  #waiting(): number {
    return [...this.#guests].filter((guest) => guest.session === null).length;
  }

  #read(guest: Guest): void {
    const isOpen = guest.connection.receive(this.#stream, this.#now(), {
      accepts: (head) => accepts(guest, head),
      onMessage: (head, message) => this.#handle(guest, head, message),
      onBlock: (sequence, sendNs, bytes, arrivalNs) =>
        guest.session?.add(sequence, sendNs, arrivalNs, bytes, 0),
    });
    if (!isOpen) guest.closing ??= guest.session === null ? "malformed" : "ended";
  }

  #handle(guest: Guest, head: MessageHead, message: Buffer): void {
    if (head.type === MESSAGE.finish) {
      const sequence = readFinish(message);
      if (sequence === null) guest.closing ??= "malformed";
      else guest.session?.finish(sequence, this.#now());
      return;
    }
    const request = readOpen(message);
    const refusal = request === null ? "malformed" : this.#findRefusal(guest, request, head.keyId, message);
    if (refusal === null && request !== null) this.#begin(guest, copyOf(request), head.keyId);
    else guest.closing ??= refusal;
  }

  /** Cheap checks come first. The HMAC precedes anything that reveals this node's state. */
  #findRefusal(guest: Guest, request: OpenRequest, keyId: number, message: Buffer): Refusal | null {
    const { acceptTranslatedSource, maxBytes, maxMs } = this.#config;
    const needsKey = this.#keyCount > 0;
    if (needsKey !== (keyId !== 0) || (needsKey && !this.#keys.has(keyId))) return "unknown_key";
    if (!verifyMessage(message, this.#keys, keyId)) return "bad_hmac";
    if (!isSame(request.serverNonce, guest.nonce)) return "wrong_nonce";
    if (!isSame(request.destination, this.#ownAddress)) return "wrong_destination";
    if (!acceptTranslatedSource && !isSame(request.source, guest.address)) return "wrong_source";
    if (request.maxBytes > maxBytes) return "too_many_bytes";
    if (request.maxMs > maxMs) return "too_long";
    return this.#active === null ? null : "busy";
  }

  #begin(guest: Guest, request: OpenRequest, keyId: number): void {
    const token = this.#random(16);
    guest.session = new ReceiverSession(guest.connection, request, token, this.#now());
    this.#active = guest;
    this.#counts.tests++;
    if (request.transport === "udp" && this.#udp !== null) {
      const { fd } = this.#udp;
      this.#drain(fd);
      this.#poller.add(fd, READABLE, () => this.#readPackets(fd, guest.session as ReceiverSession));
    }
    guest.connection.send(writeAccept(request, token, this.#keys, keyId));
  }

  #drain(fd: number): void {
    for (let turns = 0; turns < 1000; turns++) {
      const count = this.#packets.receive(fd, SYS.MSG_TRUNC);
      if (count <= 0) return;
      this.#counts.strangePackets += count;
      this.#overflows = Math.max(this.#overflows, this.#packets.info(count - 1).overflows);
    }
  }

  #readPackets(fd: number, session: ReceiverSession): void {
    const count = this.#packets.receive(fd, SYS.MSG_TRUNC);
    const { bytes: data } = this.#packets.data;
    for (let slot = 0; slot < count; slot++) {
      const at = slot * PACKET_BYTES;
      const bytes = this.#packets.length(slot);
      const { kernelTime, overflows } = this.#packets.info(slot);
      if (!isPacketOf(session.token, data, at, Math.min(bytes, PACKET_BYTES))) {
        this.#counts.strangePackets++;
        continue;
      }
      const dropped = overflows > this.#overflows ? overflows - this.#overflows : 0;
      this.#overflows = Math.max(this.#overflows, overflows);
      const sequence = readSequence(data, at + AT_PACKET);
      const sendNs = readSendNs(data, at + AT_PACKET);
      const arrivalNs = Number.isNaN(kernelTime) ? this.#now() : kernelTime;
      session.add(sequence, sendNs, arrivalNs, bytes, dropped);
    }
  }

  #dismiss(guest: Guest, why: Refusal | "ended"): void {
    const { connection, session } = guest;
    // Malformed messages get no answer.
    if (session === null && why !== "ended" && why !== "malformed")
      connection.send(writeReason(MESSAGE.refuse, why));
    if (session !== null) {
      if (why !== "ended") session.end(why);
      this.#counts.bytes += session.bytes;
      if (session.request.transport === "udp" && this.#udp !== null) this.#poller.remove(this.#udp.fd);
      this.#active = null;
    }
    this.#count(why === "ended" ? "closing" : why);
    this.#guests.delete(guest);
    this.#poller.remove(connection.socket.fd);
    connection.socket.close();
  }

  #count(why: Refusal): void {
    this.#counts.ends[why] = (this.#counts.ends[why] ?? 0) + 1;
  }

  #now(): number {
    return this.#libc.clock(SYS.CLOCK_REALTIME);
  }
}

function accepts({ session }: Guest, { type }: MessageHead): boolean {
  if (session === null) return type === MESSAGE.open;
  return type === MESSAGE.finish || (type === MESSAGE.data && session.request.transport === "tcp");
}

function copyOf(request: OpenRequest): OpenRequest {
  return {
    ...request,
    serverNonce: Uint8Array.from(request.serverNonce),
    clientNonce: Uint8Array.from(request.clientNonce),
    source: Uint8Array.from(request.source),
    destination: Uint8Array.from(request.destination),
  };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

interface MutableCounts {
  tests: number;
  bytes: number;
  ends: Partial<Record<Refusal, number>>;
  strangePackets: number;
}

function noCounts(): MutableCounts {
  return { tests: 0, bytes: 0, ends: {}, strangePackets: 0 };
}
