// The wire protocol of bandwidth tests. One TCP connection carries the session; UDP carries the
// packets of a UDP test.
//
// Message header: type (1 byte), version (1), id of the signing key (2; 0: not signed), length including the
// header (4). Numbers are big-endian. Signed messages end with a tag of 16 bytes: the truncated HMAC-SHA256
// of all bytes before.
//
// | message | from     | body                                                                                                    |
// | ------- | -------- | ------------------------------------------------------------------------------------------------------- |
// | hello   | receiver | nonce (16): fresh for each connection, so that an open can't be replayed                                |
// | open    | sender   | that nonce (16), own nonce (16), source (16), destination (16), max bytes (8), max ms (4), transport (4), tag |
// | accept  | receiver | both nonces (32), token of the session (16), tag                                                        |
// | refuse  | receiver | reason (4)                                                                                              |
// | data    | sender   | sequence (4), send time in ns (8), padding: a block of a TCP test                                       |
// | finish  | sender   | last sequence (4)                                                                                       |
// | bins    | receiver | arrivals (48 bytes each)                                                                                |
// | end     | receiver | reason (4): nothing follows                                                                             |
//
// An answer is never longer than the open. Bins are a few percent of the data they report on. A UDP packet:
// "ISBW" (4), token (16), sequence (4), send time in ns (8), padding; it is never answered.
import { TAG_BYTES, type Keyring } from "../domain/keyring.ts";
import type { ArrivalBin } from "./arrivals.ts";

export const MESSAGE = {
  hello: 1,
  open: 2,
  accept: 3,
  refuse: 4,
  data: 5,
  finish: 6,
  bins: 7,
  end: 8,
} as const;

const VERSION = 1;
export const HEADER_BYTES = 8;
export const NONCE_BYTES = 16;
const TOKEN_BYTES = 16;
const OPEN_BYTES = HEADER_BYTES + 2 * NONCE_BYTES + 32 + 16 + TAG_BYTES;
const ACCEPT_BYTES = HEADER_BYTES + 2 * NONCE_BYTES + TOKEN_BYTES + TAG_BYTES;
const BIN_BYTES = 48;
export const BLOCK_HEAD_BYTES = HEADER_BYTES + 12;
export const PACKET_HEAD_BYTES = 32;
const PACKET_MAGIC = 0x49534257;
/** Upper bound for data messages, which are the largest. */
const MAX_MESSAGE_BYTES = 65_536;

/** Reasons for refusing or ending a test. The position is the number on the wire. */
export const REFUSALS = [
  "finished",
  "busy",
  "malformed",
  "unknown_key",
  "bad_hmac",
  "wrong_nonce",
  "wrong_source",
  "wrong_destination",
  "too_many_bytes",
  "too_long",
  "closing",
] as const;
export type Refusal = (typeof REFUSALS)[number];

export interface MessageHead {
  readonly type: number;
  readonly keyId: number;
  readonly bytes: number;
}

/** Null: less than a header is available. "malformed": not a message. */
export function readHead(data: Buffer, offset: number, end: number): MessageHead | "malformed" | null {
  if (end - offset < HEADER_BYTES) return null;
  const bytes = data.readUInt32BE(offset + 4);
  if (data[offset + 1] !== VERSION || bytes < HEADER_BYTES || bytes > MAX_MESSAGE_BYTES) return "malformed";
  return { type: data[offset]!, keyId: data.readUInt16BE(offset + 2), bytes };
}

export interface OpenRequest {
  readonly serverNonce: Uint8Array;
  readonly clientNonce: Uint8Array;
  /** 16 bytes each: the identities of the two nodes. */
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly maxBytes: number;
  readonly maxMs: number;
  readonly transport: "tcp" | "udp";
}

export function writeHello(nonce: Uint8Array): Buffer {
  return Buffer.concat([head(MESSAGE.hello, 0, HEADER_BYTES + NONCE_BYTES), nonce]);
}

export function writeOpen(request: OpenRequest, keys: Keyring, keyId: number): Buffer {
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(BigInt(Math.round(request.maxBytes)), 0);
  numbers.writeUInt32BE(Math.round(request.maxMs), 8);
  numbers.writeUInt32BE(request.transport === "tcp" ? 1 : 0, 12);
  const { serverNonce, clientNonce, source, destination } = request;
  const parts = [
    head(MESSAGE.open, keyId, OPEN_BYTES),
    serverNonce,
    clientNonce,
    source,
    destination,
    numbers,
  ];
  return signed(Buffer.concat([...parts, Buffer.alloc(TAG_BYTES)]), keys, keyId);
}

/** Returns null if malformed. Does not check the tag; see {@link verifyMessage}. */
export function readOpen(message: Buffer): OpenRequest | null {
  if (message.length !== OPEN_BYTES || message[0] !== MESSAGE.open) return null;
  const at = (index: number): Uint8Array =>
    message.subarray(HEADER_BYTES + 16 * index, HEADER_BYTES + 16 * (index + 1));
  const numbers = HEADER_BYTES + 64;
  const transport = message.readUInt32BE(numbers + 12);
  if (transport > 1) return null;
  return {
    serverNonce: at(0),
    clientNonce: at(1),
    source: at(2),
    destination: at(3),
    maxBytes: Number(message.readBigUInt64BE(numbers)),
    maxMs: message.readUInt32BE(numbers + 8),
    transport: transport === 1 ? "tcp" : "udp",
  };
}

export function writeAccept(request: OpenRequest, token: Uint8Array, keys: Keyring, keyId: number): Buffer {
  const start = head(MESSAGE.accept, keyId, ACCEPT_BYTES);
  const parts = [start, request.serverNonce, request.clientNonce, token, Buffer.alloc(TAG_BYTES)];
  return signed(Buffer.concat(parts), keys, keyId);
}

export function readAccept(
  message: Buffer,
  request: OpenRequest,
  keys: Keyring,
  keyId: number,
): Buffer | null {
  if (message.length !== ACCEPT_BYTES || message.readUInt16BE(2) !== keyId) return null;
  const nonces = message.subarray(HEADER_BYTES, HEADER_BYTES + 2 * NONCE_BYTES);
  if (nonces.compare(Buffer.concat([request.serverNonce, request.clientNonce])) !== 0) return null;
  if (!verifyMessage(message, keys, keyId)) return null;
  return Buffer.from(message.subarray(HEADER_BYTES + 2 * NONCE_BYTES, -TAG_BYTES));
}

/** Always true without keys (id 0). */
export function verifyMessage(message: Buffer, keys: Keyring, keyId: number): boolean {
  return keyId === 0 || keys.verify(keyId, message);
}

export function writeReason(type: typeof MESSAGE.refuse | typeof MESSAGE.end, reason: Refusal): Buffer {
  return numberMessage(type, REFUSALS.indexOf(reason));
}

export function readReason(message: Buffer): Refusal | null {
  return message.length === HEADER_BYTES + 4 ? (REFUSALS[message.readUInt32BE(HEADER_BYTES)] ?? null) : null;
}

export function writeFinish(lastSequence: number): Buffer {
  return numberMessage(MESSAGE.finish, lastSequence);
}

export function readFinish(message: Buffer): number | null {
  return message.length === HEADER_BYTES + 4 ? message.readUInt32BE(HEADER_BYTES) : null;
}

export function writeBlockHead(
  into: Buffer,
  offset: number,
  sequence: number,
  sendNs: number,
  bytes: number,
): void {
  into[offset] = MESSAGE.data;
  into[offset + 1] = VERSION;
  into.writeUInt16BE(0, offset + 2);
  into.writeUInt32BE(bytes, offset + 4);
  into.writeUInt32BE(sequence, offset + 8);
  into.writeDoubleBE(sendNs, offset + 12);
}

export function writePacketStart(into: Buffer, offset: number, token: Buffer): void {
  into.writeUInt32BE(PACKET_MAGIC, offset);
  token.copy(into, offset + 4);
}

export function writePacketNumbers(into: Buffer, offset: number, sequence: number, sendNs: number): void {
  into.writeUInt32BE(sequence, offset + AT_PACKET);
  into.writeDoubleBE(sendNs, offset + AT_PACKET + 4);
}

export function isPacketOf(token: Buffer, data: Buffer, offset: number, bytes: number): boolean {
  if (bytes < PACKET_HEAD_BYTES || data.readUInt32BE(offset) !== PACKET_MAGIC) return false;
  return token.compare(data, offset + 4, offset + 4 + TOKEN_BYTES) === 0;
}

/** Offset of sequence and send time: see {@link AT_PACKET} and {@link AT_BLOCK}. */
export const readSequence = (data: Buffer, offset: number): number => data.readUInt32BE(offset);
export const readSendNs = (data: Buffer, offset: number): number => data.readDoubleBE(offset + 4);
export const AT_PACKET = 20;
export const AT_BLOCK = HEADER_BYTES;

export function writeBins(bins: readonly ArrivalBin[]): Buffer {
  const message = Buffer.alloc(HEADER_BYTES + bins.length * BIN_BYTES);
  head(MESSAGE.bins, 0, message.length).copy(message);
  for (const [i, bin] of bins.entries()) {
    const at = HEADER_BYTES + i * BIN_BYTES;
    message.writeUInt32BE(bin.lastSequence, at);
    message.writeUInt32BE(bin.units, at + 4);
    message.writeUInt32BE(bin.lost, at + 8);
    message.writeUInt32BE(bin.overflowed, at + 12);
    message.writeDoubleBE(bin.bytes, at + 16);
    message.writeDoubleBE(bin.lastSendNs, at + 24);
    message.writeDoubleBE(bin.lastArrivalNs, at + 32);
    message.writeDoubleBE(bin.minDelayNs, at + 40);
  }
  return message;
}

/** Returns null if malformed or with numbers that no receiver can have measured. */
export function readBins(message: Buffer): ArrivalBin[] | null {
  if ((message.length - HEADER_BYTES) % BIN_BYTES !== 0) return null;
  const bins: ArrivalBin[] = [];
  for (let at = HEADER_BYTES; at < message.length; at += BIN_BYTES) {
    const bin = {
      lastSequence: message.readUInt32BE(at),
      units: message.readUInt32BE(at + 4),
      lost: message.readUInt32BE(at + 8),
      overflowed: message.readUInt32BE(at + 12),
      bytes: message.readDoubleBE(at + 16),
      lastSendNs: message.readDoubleBE(at + 24),
      lastArrivalNs: message.readDoubleBE(at + 32),
      minDelayNs: message.readDoubleBE(at + 40),
    };
    if (bin.units === 0 || !Object.values(bin).every(Number.isFinite) || bin.bytes < 0) return null;
    bins.push(bin);
  }
  return bins;
}

function head(type: number, keyId: number, bytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = type;
  header[1] = VERSION;
  header.writeUInt16BE(keyId, 2);
  header.writeUInt32BE(bytes, 4);
  return header;
}

function numberMessage(type: number, value: number): Buffer {
  const message = Buffer.alloc(HEADER_BYTES + 4);
  head(type, 0, message.length).copy(message);
  message.writeUInt32BE(value, HEADER_BYTES);
  return message;
}

function signed(message: Buffer, keys: Keyring, keyId: number): Buffer {
  if (keyId !== 0) keys.sign(keyId, message);
  return message;
}
