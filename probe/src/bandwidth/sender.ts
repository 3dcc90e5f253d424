import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SYS,
  type Block,
  type Libc,
} from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { localAddressFor } from "../engine/sockets/addresses.ts";
import { Keyring } from "../domain/keyring.ts";
import type { ArrivalBin } from "./arrivals.ts";
import { Burst, type BurstStep } from "./burst.ts";
import { openTcpChannel, openUdpChannel, setTrafficClass, type Channel } from "./channels.ts";
import { Connection } from "./connection.ts";
import type { SenderResult, SenderTask } from "./messages.ts";
import {
  MESSAGE,
  NONCE_BYTES,
  HEADER_BYTES,
  readAccept,
  readBins,
  readReason,
  writeFinish,
  writeOpen,
  type MessageHead,
  type OpenRequest,
  type Refusal,
} from "./wire.ts";

const MS = 1e6;
const CONNECT_MS = 2000;
const HANDSHAKE_MS = 2000;
const LAST_REPORT_MS = 500;
const SESSION_EXTRA_MS = 3000;
/** Busy-waits below this: the kernel would wake the thread too late. */
const SPIN_NS = 100_000;
const READ_BYTES = 65_536;

interface SenderIo {
  now(): number;
  random(bytes: number): Buffer;
  isAborted(): boolean;
}

/** Runs one test and blocks the calling thread. Never throws: every end is a result. */
export function runTest(libc: Libc, task: SenderTask, io: SenderIo): SenderResult {
  const family = task.address.includes(":") ? 6 : 4;
  const scratch = libc.block(READ_BYTES);
  const poller = new Poller(libc);
  const batch = new ReceiveBatch(libc, 1, READ_BYTES);
  let socket: KernelSocket | null = null;
  try {
    socket = connect(libc, task, family, io);
    const connection = new Connection(libc, socket, scratch);
    return new TestRun({ libc, task, io, family, poller, batch, connection }).run();
  } catch (error) {
    return { type: "failed", message: reasonOf(error) };
  } finally {
    poller.close();
    socket?.close();
    batch.free();
    libc.free(scratch satisfies Block);
  }
}

interface RunParts {
  readonly libc: Libc;
  readonly task: SenderTask;
  readonly io: SenderIo;
  readonly family: 4 | 6;
  readonly poller: Poller;
  readonly batch: ReceiveBatch;
  readonly connection: Connection;
}

class TestRun {
  readonly #parts: RunParts;
  readonly #keys: Keyring;
  #serverNonce: Uint8Array | null = null;
  #request: OpenRequest | null = null;
  #token: Buffer | null = null;
  #refusal: Refusal | null = null;
  #end: Refusal | null = null;
  #broken = false;
  #bins: ArrivalBin[] = [];

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#keys = new Keyring(parts.task.keys);
    const { fd } = parts.connection.socket;
    parts.poller.add(fd, READABLE, () => this.#read());
  }

  run(): SenderResult {
    const { io } = this.#parts;
    const deadlineNs = io.now() + HANDSHAKE_MS * MS;
    while (this.#token === null) {
      if (this.#refusal !== null) return { type: "refused", refusal: this.#refusal };
      if (this.#broken)
        return { type: "failed", message: "the receiver closed the connection before the test" };
      if (io.isAborted()) return { type: "failed", message: "stopped before the test began" };
      if (io.now() > deadlineNs)
        return { type: "failed", message: `the receiver didn't take the test in ${HANDSHAKE_MS} ms` };
      this.#parts.poller.wait(20);
    }
    const channel = this.#openChannel(this.#token);
    try {
      return { type: "done", outcome: this.#burst(channel) };
    } finally {
      channel.close();
    }
  }

  #openChannel(token: Buffer): Channel {
    const { libc, task, family, connection } = this.#parts;
    if (task.transport === "tcp") return openTcpChannel(libc, connection.socket, family);
    const bindAddress = localAddressFor(task.bindAddress, family);
    const { address, port, dscp } = task;
    return openUdpChannel(libc, { family, address, port, bindAddress, token, dscp });
  }

  #burst(channel: Channel): ReturnType<Burst["outcome"]> {
    const { task, io, poller, connection } = this.#parts;
    const roundTripMs = (connection.socket.tcpInfo()?.rttUs ?? 1000) / 1000;
    const { maxBytes, maxBitsPerSecond, maxDurationMs, maxQueueMs } = task;
    const { unitBytes, probeBytes } = channel;
    const limits = { maxBytes, maxBitsPerSecond, maxDurationMs, maxQueueMs };
    const burst = new Burst({ ...limits, roundTripMs, unitBytes, probeBytes });
    for (;;) {
      this.#checkOutside(burst);
      const step = burst.next(io.now());
      if (step.kind === "end") break;
      if (step.kind === "send") this.#send(burst, channel, step);
      else this.#waitUntil(step.untilNs);
      this.#report(burst, channel);
    }
    connection.send(writeFinish(Math.max(0, burst.lastSequence)));
    const deadlineNs = io.now() + (LAST_REPORT_MS + 2 * roundTripMs) * MS;
    while (this.#end === null && !this.#broken && io.now() < deadlineNs) poller.wait(5);
    this.#report(burst, channel);
    return burst.outcome();
  }

  #send(burst: Burst, channel: Channel, step: Extract<BurstStep, { kind: "send" }>): void {
    const nowNs = this.#parts.io.now();
    const taken = channel.send(step.what, burst.lastSequence + 1, step.units, nowNs);
    if (taken > 0) burst.sent(nowNs, step.what, taken);
    this.#parts.poller.wait(0);
  }

  #checkOutside(burst: Burst): void {
    if (this.#parts.io.isAborted()) burst.abort("error", "stopped from outside");
    else if (this.#end !== null) burst.abort("error", `the receiver ended the test: ${this.#end}`);
    else if (this.#broken) burst.abort("error", "the connection to the receiver broke");
  }

  #waitUntil(untilNs: number): void {
    const { io, poller } = this.#parts;
    const leftNs = untilNs - io.now();
    if (leftNs > SPIN_NS) poller.wait(Math.min(5, (leftNs - 0.8 * SPIN_NS) / MS));
    else while (io.now() < untilNs);
  }

  #report(burst: Burst, channel: Channel): void {
    if (this.#bins.length === 0) return;
    const bins = this.#bins.map((bin) => ({ ...bin, bytes: channel.wireBytes(bin.bytes, bin.units) }));
    this.#bins = [];
    burst.take(bins, this.#parts.io.now());
  }

  #read(): void {
    const { connection, batch } = this.#parts;
    const isOpen = connection.receive(batch, 0, {
      accepts: (head) => this.#accepts(head),
      onMessage: (head, message) => this.#handle(head, message),
      onBlock: () => undefined,
    });
    if (isOpen) return;
    this.#broken = true;
    this.#parts.poller.remove(connection.socket.fd);
  }

  #accepts({ type }: MessageHead): boolean {
    if (this.#request === null) return type === MESSAGE.hello;
    if (this.#token === null) return type === MESSAGE.accept || type === MESSAGE.refuse;
    return type === MESSAGE.bins || type === MESSAGE.end;
  }

  #handle(head: MessageHead, message: Buffer): void {
    if (head.type === MESSAGE.hello) this.#open(message);
    else if (head.type === MESSAGE.refuse) this.#refusal = readReason(message) ?? "malformed";
    else if (head.type === MESSAGE.end) this.#end = readReason(message) ?? "malformed";
    else if (head.type === MESSAGE.accept && this.#request !== null) {
      this.#token = readAccept(message, this.#request, this.#keys, this.#parts.task.signingKeyId);
      if (this.#token === null) this.#refusal = "bad_hmac";
    } else {
      const bins = readBins(message);
      if (bins === null) this.#end = "malformed";
      else this.#bins.push(...bins);
    }
  }

  #open(message: Buffer): void {
    const { task, io, connection } = this.#parts;
    this.#serverNonce = Uint8Array.from(message.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES));
    this.#request = {
      serverNonce: this.#serverNonce,
      clientNonce: io.random(NONCE_BYTES),
      source: task.source,
      destination: task.destination,
      maxBytes: task.maxBytes,
      maxMs: task.maxDurationMs + SESSION_EXTRA_MS,
      transport: task.transport,
    };
    if (!connection.send(writeOpen(this.#request, this.#keys, task.signingKeyId))) this.#broken = true;
  }
}

function connect(libc: Libc, task: SenderTask, family: 4 | 6, io: SenderIo): KernelSocket {
  const socket = KernelSocket.open(libc, {
    family: family === 4 ? SYS.AF_INET : SYS.AF_INET6,
    type: SYS.SOCK_STREAM,
    protocol: 0,
  });
  const poller = new Poller(libc);
  try {
    socket.bind(localAddressFor(task.bindAddress, family), 0);
    socket.setOption(SYS.IPPROTO_TCP, SYS.TCP_NODELAY, 1);
    setTrafficClass(socket, family, task.dscp);
    if (socket.connect(task.address, task.port)) {
      poller.add(socket.fd, SYS.POLLOUT, () => undefined);
      const deadlineNs = io.now() + CONNECT_MS * MS;
      let isDone = false;
      while (!isDone && !io.isAborted() && io.now() < deadlineNs) isDone = poller.wait(50) > 0;
      if (io.isAborted()) throw new Error("stopped before the test began");
      if (!isDone) throw new Error(`cannot connect to ${task.address} port ${task.port}: no answer`);
      const errno = socket.takeError();
      if (errno !== 0)
        throw new Error(`cannot connect to ${task.address} port ${task.port}: ${libc.errorName(errno)}`);
    }
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    poller.close();
  }
}
