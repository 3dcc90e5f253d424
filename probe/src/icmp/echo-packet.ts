// ICMP echo request (RFC 792): type, code, checksum, id, sequence (16 bits), then our payload of 32 bytes:
// nonce (8), full sequence (4), zeros. The nonce tells our replies from those of others in the same network namespace.

export const ECHO_BYTES = 40;
const ECHO_REQUEST = 8;
const ECHO_REPLY = 0;
const AT = { checksum: 2, id: 4, sequence: 6, nonce: 8, fullSequence: 16 } as const;

/** Writes a request into `view`. */
export function writeEcho(view: DataView, id: number, sequence: number, nonce: bigint): void {
  for (let i = 0; i < ECHO_BYTES; i += 4) view.setUint32(i, 0);
  view.setUint8(0, ECHO_REQUEST);
  view.setUint16(AT.id, id);
  view.setUint16(AT.sequence, sequence & 0xffff);
  view.setBigUint64(AT.nonce, nonce);
  view.setUint32(AT.fullSequence, sequence >>> 0);
  view.setUint16(AT.checksum, checksum(view, ECHO_BYTES));
}

/** What a received message is: a reply of ours with its full sequence, somebody else's, or a damaged one of ours. */
export type EchoReply =
  | { readonly kind: "ours"; readonly sequence: number }
  | { readonly kind: "foreign" | "corrupt" };

/** Reads the ICMP message of `length` bytes that begins at `offset`. `id` null: the kernel has checked it (datagram sockets). */
export function readEcho(
  view: DataView,
  offset: number,
  length: number,
  nonce: bigint,
  id: number | null,
): EchoReply {
  if (length < AT.fullSequence + 4 || view.getUint8(offset) !== ECHO_REPLY) return { kind: "foreign" };
  if (id !== null && view.getUint16(offset + AT.id) !== id) return { kind: "foreign" };
  if (view.getBigUint64(offset + AT.nonce) !== nonce) return { kind: "foreign" };
  const sequence = view.getUint32(offset + AT.fullSequence);
  const agrees = length === ECHO_BYTES && view.getUint16(offset + AT.sequence) === (sequence & 0xffff);
  return agrees ? { kind: "ours", sequence } : { kind: "corrupt" };
}

/** Internet checksum (RFC 1071) of an even number of bytes. */
export function checksum(view: DataView, bytes: number): number {
  let sum = 0;
  for (let i = 0; i < bytes; i += 2) sum += view.getUint16(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
