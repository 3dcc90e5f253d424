import type { Block, KernelSocket, Libc, ReceiveBatch } from "@isochrone/kernel-sockets";
import {
  AT_BLOCK,
  BLOCK_HEAD_BYTES,
  HEADER_BYTES,
  MESSAGE,
  readHead,
  readSendNs,
  readSequence,
  type MessageHead,
} from "./wire.ts";

/** Maximum unsent bytes; a peer that leaves more unread is disconnected. */
const MAX_QUEUED_BYTES = 262_144;

interface ConnectionHandlers {
  accepts(head: MessageHead): boolean;
  onMessage(head: MessageHead, message: Buffer): void;
  onBlock(sequence: number, sendNs: number, bytes: number, arrivalNs: number): void;
}

export class Connection {
  readonly socket: KernelSocket;
  readonly #libc: Libc;
  readonly #scratch: Block;
  readonly #outbox: Buffer[] = [];
  #queuedBytes = 0;
  #carry: Buffer = Buffer.alloc(0);
  #block = { sequence: 0, sendNs: 0, bytes: 0, left: 0 };

  constructor(libc: Libc, socket: KernelSocket, scratch: Block) {
    this.#libc = libc;
    this.socket = socket;
    this.#scratch = scratch;
  }

  get isBehind(): boolean {
    return this.#queuedBytes > 0;
  }

  /** Returns false if the connection is broken or the peer does not read. */
  send(message: Buffer): boolean {
    this.#outbox.push(message);
    this.#queuedBytes += message.length;
    return this.flush() && this.#queuedBytes <= MAX_QUEUED_BYTES;
  }

  flush(): boolean {
    for (let message = this.#outbox[0]; message !== undefined; message = this.#outbox[0]) {
      const bytes = Math.min(message.length, this.#scratch.bytes.length);
      message.copy(this.#scratch.bytes, 0, 0, bytes);
      const sent = this.#libc.send(this.socket.fd, this.#scratch, 0, bytes, 0);
      if (sent < 0) return this.#libc.lastError() === "EAGAIN";
      this.#queuedBytes -= sent;
      if (sent === message.length) this.#outbox.shift();
      else this.#outbox[0] = message.subarray(sent);
    }
    return true;
  }

  /** Returns false if the connection ended or broke the protocol. `nowNs` replaces a missing kernel stamp. */
  receive(batch: ReceiveBatch, nowNs: number, handlers: ConnectionHandlers): boolean {
    const count = batch.receive(this.socket.fd);
    if (count < 0) return false;
    if (count === 0) return true;
    if (batch.length(0) === 0) return false;
    const { kernelTime } = batch.info(0);
    return this.#consume(batch.message(0), Number.isNaN(kernelTime) ? nowNs : kernelTime, handlers);
  }

  #consume(chunk: Buffer, arrivalNs: number, handlers: ConnectionHandlers): boolean {
    let at = this.#skipPadding(chunk, 0, arrivalNs, handlers);
    let data = chunk;
    if (this.#carry.length > 0) {
      data = Buffer.concat([this.#carry, chunk.subarray(at)]);
      this.#carry = Buffer.alloc(0);
      at = 0;
    }
    while (at < data.length) {
      const head = readHead(data, at, data.length);
      if (head === null) break;
      if (head === "malformed" || !handlers.accepts(head)) return false;
      const needed = head.type === MESSAGE.data ? BLOCK_HEAD_BYTES : head.bytes;
      if (head.bytes < needed) return false;
      if (data.length - at < needed) break;
      if (head.type === MESSAGE.data) {
        this.#beginBlock(data, at, head.bytes);
        at = this.#skipPadding(data, at + HEADER_BYTES, arrivalNs, handlers);
      } else {
        handlers.onMessage(head, data.subarray(at, at + head.bytes));
        at += head.bytes;
      }
    }
    if (at < data.length) this.#carry = Buffer.from(data.subarray(at));
    return true;
  }

  #beginBlock(data: Buffer, at: number, bytes: number): void {
    this.#block = {
      sequence: readSequence(data, at + AT_BLOCK),
      sendNs: readSendNs(data, at + AT_BLOCK),
      bytes,
      left: bytes - HEADER_BYTES,
    };
  }

  /** Counts the rest of a block without keeping it. Returns its end offset. */
  #skipPadding(data: Buffer, at: number, arrivalNs: number, handlers: ConnectionHandlers): number {
    const block = this.#block;
    if (block.left === 0) return at;
    const bytes = Math.min(block.left, data.length - at);
    block.left -= bytes;
    if (block.left === 0) handlers.onBlock(block.sequence, block.sendNs, block.bytes, arrivalNs);
    return at + bytes;
  }
}
