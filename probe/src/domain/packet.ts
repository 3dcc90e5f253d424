// The request/response packet. UDP carries one per datagram; TCP prefixes it with a length of 2 bytes. All
// numbers are big-endian. A response is as long as its request, so that a responder cannot amplify.
//
// | offset | bytes | field                | request                        | response                              |
// | ------ | ----- | -------------------- | ------------------------------ | ------------------------------------- |
// | 0      | 4     | magic                | "ISRR"                         | same                                  |
// | 4      | 1     | version              | 1                              | same                                  |
// | 5      | 1     | type                 | 1                              | 2                                     |
// | 6      | 2     | key id               | the key that signed            | the key of the request                |
// | 8      | 1     | flags                | bit 0: 1 = TCP; others 0       | same                                  |
// | 9      | 1     | reserved             | 0                              | 0                                     |
// | 10     | 2     | length               | of the whole packet            | same                                  |
// | 12     | 4     | session              | random per flow                | same                                  |
// | 16     | 8     | nonce                | random per session             | same                                  |
// | 24     | 4     | sequence             | counts up, wraps               | same                                  |
// | 28     | 16    | source identity      | the asker's own IP address     | the responder's                       |
// | 44     | 16    | destination identity | the IP address of who is asked | the asker's                           |
// | 60     | 8     | residence, ns        | 0                              | between reception and answer          |
// | 68     | n     | padding              | zeros                          | zeros                                 |
// | 68 + n | 16    | authentication       | HMAC-SHA256 of all bytes before, truncated to 16 bytes                 |
//
// Identities are declared, since addresses may be translated on the way. IPv4 addresses are IPv4-mapped.
import { ADDRESS_BYTES } from "./ip.ts";
import { TAG_BYTES, type Keyring } from "./keyring.ts";

const MAGIC = 0x49535252;
const VERSION = 1;
const AT = {
  type: 5,
  keyId: 6,
  flags: 8,
  reserved: 9,
  length: 10,
  session: 12,
  nonce: 16,
  sequence: 24,
  source: 28,
  destination: 44,
  residence: 60,
} as const;

const UINT32_SPACE = 2 ** 32;

export const MIN_PACKET_BYTES = 84;
/** Fits the minimum IPv6 path MTU (1280) with headers. */
export const MAX_PACKET_BYTES = 1200;

const PACKET_TYPES = { request: 1, response: 2 } as const;
type PacketType = keyof typeof PACKET_TYPES;
export type Transport = "udp" | "tcp";

/** Reasons for rejecting a packet, in checking order: cheap checks first, the HMAC last. */
const PACKET_FAULTS = [
  "too_short",
  "too_long",
  "bad_magic",
  "bad_version",
  "bad_type",
  "bad_length",
  "unknown_key",
  "bad_hmac",
] as const;
type PacketFault = (typeof PACKET_FAULTS)[number];

interface RequestFields {
  readonly bytes: number;
  readonly transport: Transport;
  readonly session: number;
  readonly nonce: bigint;
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
}

/** Creates a request without sequence and signature; `signRequest` completes it, repeatedly. */
export function createRequest(fields: RequestFields, keyId: number): Buffer {
  const packet = Buffer.alloc(fields.bytes);
  packet.writeUInt32BE(MAGIC, 0);
  packet[4] = VERSION;
  packet[AT.type] = PACKET_TYPES.request;
  packet.writeUInt16BE(keyId, AT.keyId);
  packet[AT.flags] = fields.transport === "tcp" ? 1 : 0;
  packet.writeUInt16BE(fields.bytes, AT.length);
  packet.writeUInt32BE(fields.session, AT.session);
  packet.writeBigUInt64BE(fields.nonce, AT.nonce);
  packet.set(fields.source, AT.source);
  packet.set(fields.destination, AT.destination);
  return packet;
}

export function setKeyId(packet: Buffer, keyId: number): void {
  packet.writeUInt16BE(keyId, AT.keyId);
}

export function signRequest(packet: Buffer, sequence: number, keys: Keyring): void {
  packet.writeUInt32BE(sequence, AT.sequence);
  keys.sign(packet.readUInt16BE(AT.keyId), packet);
}

/** Turns a checked request into its answer, in place. The caller signs it once the residence is known. */
export function turnIntoResponse(packet: Buffer, residenceNs: number): void {
  packet[AT.type] = PACKET_TYPES.response;
  // A loop: for so few bytes, calls into native code cost more.
  for (let i = 0; i < ADDRESS_BYTES; i++) {
    const swap = packet[AT.source + i]!;
    packet[AT.source + i] = packet[AT.destination + i]!;
    packet[AT.destination + i] = swap;
  }
  packet.fill(0, AT.residence + 8, packet.length - TAG_BYTES);
  const ns = Math.max(0, Math.round(residenceNs));
  packet.writeUInt32BE(Math.floor(ns / UINT32_SPACE), AT.residence);
  packet.writeUInt32BE(ns % UINT32_SPACE, AT.residence + 4);
}

/** Checks form and signature. Returns null for an authentic packet; the caller checks its destination. */
export function findFault(
  packet: Buffer,
  type: PacketType,
  transport: Transport,
  keys: Keyring,
): PacketFault | null {
  const fault = findFormFault(packet, type, transport);
  if (fault !== null) return fault;
  const keyId = packet.readUInt16BE(AT.keyId);
  if (!keys.has(keyId)) return "unknown_key";
  return keys.verify(keyId, packet) ? null : "bad_hmac";
}

/** The nearly free part of `findFault`. */
export function findFormFault(packet: Buffer, type: PacketType, transport: Transport): PacketFault | null {
  if (packet.length < MIN_PACKET_BYTES) return "too_short";
  if (packet.length > MAX_PACKET_BYTES) return "too_long";
  if (packet.readUInt32BE(0) !== MAGIC) return "bad_magic";
  if (packet[4] !== VERSION) return "bad_version";
  if (packet[AT.type] !== PACKET_TYPES[type]) return "bad_type";
  if (packet[AT.flags] !== (transport === "tcp" ? 1 : 0) || packet[AT.reserved] !== 0) return "bad_type";
  return packet.readUInt16BE(AT.length) === packet.length ? null : "bad_length";
}

export const keyIdOf = (packet: Buffer): number => packet.readUInt16BE(AT.keyId);
export const sequenceOf = (packet: Buffer): number => packet.readUInt32BE(AT.sequence);
export const sessionOf = (packet: Buffer): number => packet.readUInt32BE(AT.session);
export const nonceOf = (packet: Buffer): bigint => packet.readBigUInt64BE(AT.nonce);
export const residenceNsOf = (packet: Buffer): number =>
  packet.readUInt32BE(AT.residence) * UINT32_SPACE + packet.readUInt32BE(AT.residence + 4);

export function isFrom(packet: Buffer, address: Uint8Array): boolean {
  return hasAddress(packet, AT.source, address);
}

export function isFor(packet: Buffer, address: Uint8Array): boolean {
  return hasAddress(packet, AT.destination, address);
}

function hasAddress(packet: Buffer, at: number, address: Uint8Array): boolean {
  for (let i = 0; i < ADDRESS_BYTES; i++) if (packet[at + i] !== address[i]) return false;
  return true;
}
