/** Ethernet, IPv4 and TCP with timestamps, on the wire. */
const HEADER_BYTES = 66;
const SEGMENT_BYTES = 1_448;

export function withHeaders(bytesPerFrame: number): number {
  return bytesPerFrame * (1 + HEADER_BYTES / Math.min(SEGMENT_BYTES, bytesPerFrame));
}
