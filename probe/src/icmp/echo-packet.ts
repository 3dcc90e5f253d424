// ICMP echo (RFC 792, RFC 4443): type, code, checksum, id, sequence (16 bits), then our payload: nonce (8
// bytes), full sequence (4), the same inverted (4), and a pattern up to the configured size. The nonce
// identifies our replies within a network namespace. The pattern reveals damage that no checksum caught: raw
// sockets get packets before the kernel checks them.
import { BPF, type FilterInstruction } from "@isochrone/kernel-sockets";

export const ECHO_HEADER_BYTES = 8;
const ECHO_IDENTITY_BYTES = 16;
export const MAX_PAYLOAD_BYTES = 1472;

const TYPES = { 4: { request: 8, reply: 0 }, 6: { request: 128, reply: 129 } } as const;
const AT = {
  checksum: 2,
  id: 4,
  sequence: 6,
  nonce: 8,
  fullSequence: 16,
  inverted: 20,
  pattern: 24,
} as const;

interface EchoIdentity {
  readonly family: 4 | 6;
  readonly id: number | null;
  readonly nonce: bigint;
}

/** Classification of a message: our reply with its full sequence, another sender's, or our damaged one. */
type EchoReply =
  | { readonly kind: "ours"; readonly sequence: number }
  /** `shortSequence` comes from the header, which may be intact. */
  | { readonly kind: "corrupt"; readonly sequence: number; readonly shortSequence: number }
  | { readonly kind: "foreign" };

const FOREIGN: EchoReply = { kind: "foreign" };

interface Template {
  readonly bytes: Buffer;
  readonly sum: number;
}

export class EchoCodec {
  readonly #identity: EchoIdentity;
  readonly #nonceHigh: number;
  readonly #nonceLow: number;
  readonly #pattern = Buffer.from(Array.from({ length: MAX_PAYLOAD_BYTES }, (_, i) => (i * 167 + 29) & 0xff));
  readonly #templates = new Map<number, Template>();

  constructor(identity: EchoIdentity) {
    this.#identity = identity;
    this.#nonceHigh = Number(identity.nonce >> 32n);
    this.#nonceLow = Number(identity.nonce & 0xffff_ffffn);
  }

  /** Fills `into`; its length sets the payload size: ECHO_IDENTITY_BYTES to MAX_PAYLOAD_BYTES. */
  write(into: Buffer, sequence: number): void {
    const { bytes, sum } = this.#template(into.length);
    into.set(bytes);
    const short = sequence & 0xffff;
    into.writeUInt16BE(short, AT.sequence);
    into.writeUInt32BE(sequence >>> 0, AT.fullSequence);
    into.writeUInt32BE(~sequence >>> 0, AT.inverted);
    // The kernel fills in IPv6's checksum, which covers addresses.
    if (this.#identity.family === 6) return;
    // The words of the full sequence and its inverse have a constant sum.
    into.writeUInt16BE(folded(sum + short + 2 * 0xffff), AT.checksum);
  }

  read(bytes: Buffer, offset: number, length: number): EchoReply {
    if (length < AT.pattern || bytes[offset] !== TYPES[this.#identity.family].reply) return FOREIGN;
    if (!this.isOurs(bytes, offset)) return FOREIGN;
    const sequence = bytes.readUInt32BE(offset + AT.fullSequence);
    const shortSequence = bytes.readUInt16BE(offset + AT.sequence);
    const patternBytes = Math.min(length - AT.pattern, this.#pattern.length);
    const from = offset + AT.pattern;
    const whole = this.#pattern.compare(bytes, from, from + patternBytes, 0, patternBytes) === 0;
    const agree =
      shortSequence === (sequence & 0xffff) && bytes.readUInt32BE(offset + AT.inverted) === ~sequence >>> 0;
    if (whole && agree) return { kind: "ours", sequence };
    return { kind: "corrupt", sequence, shortSequence };
  }

  isOurs(bytes: Buffer, offset: number): boolean {
    return (
      this.hasOurId(bytes, offset) &&
      bytes.readUInt32BE(offset + AT.nonce) === this.#nonceHigh &&
      bytes.readUInt32BE(offset + AT.nonce + 4) === this.#nonceLow
    );
  }

  hasOurId(bytes: Buffer, offset: number): boolean {
    const { id } = this.#identity;
    return id === null || bytes.readUInt16BE(offset + AT.id) === id;
  }

  #template(length: number): Template {
    const known = this.#templates.get(length);
    if (known !== undefined) return known;
    const { family, id, nonce } = this.#identity;
    if (length < AT.pattern || length > ECHO_HEADER_BYTES + MAX_PAYLOAD_BYTES) {
      throw new RangeError(
        `payload of an echo must be ${ECHO_IDENTITY_BYTES} to ${MAX_PAYLOAD_BYTES} bytes, got ${length - ECHO_HEADER_BYTES}`,
      );
    }
    const bytes = Buffer.alloc(length);
    bytes[0] = TYPES[family].request;
    bytes.writeUInt16BE(id ?? 0, AT.id);
    bytes.writeBigUInt64BE(nonce, AT.nonce);
    this.#pattern.copy(bytes, AT.pattern, 0, length - AT.pattern);
    const template = { bytes, sum: sumOfWords(bytes) };
    this.#templates.set(length, template);
    return template;
  }
}

/** Passes only replies with this id; otherwise every reply in the network namespace wakes the thread. */
export function filterById(family: 4 | 6, id: number): FilterInstruction[] {
  const loadId =
    family === 4
      ? [
          { code: BPF.IP_HEADER_TO_X, value: 0 },
          { code: BPF.LOAD_HALF_BEHIND_X, value: AT.id },
        ]
      : [{ code: BPF.LOAD_HALF, value: AT.id }];
  return [
    ...loadId,
    { code: BPF.JUMP_IF_EQUAL, ifFalse: 1, value: id },
    { code: BPF.RETURN, value: 0xffff },
    { code: BPF.RETURN, value: 0 },
  ];
}

export function shortSequenceOf(bytes: Buffer, offset: number): number {
  return bytes.readUInt16BE(offset + AT.sequence);
}

/** Internet checksum (RFC 1071); a missing last byte counts as zero. */
export function checksum(bytes: Buffer): number {
  return folded(sumOfWords(bytes));
}

function sumOfWords(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i + 1 < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  return bytes.length % 2 === 0 ? sum : sum + (bytes.at(-1)! << 8);
}

function folded(sum: number): number {
  let rest = sum;
  while (rest > 0xffff) rest = (rest & 0xffff) + (rest >>> 16);
  return ~rest & 0xffff;
}
