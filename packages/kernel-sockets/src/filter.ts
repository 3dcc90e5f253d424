// Classic BPF for socket filters (linux/filter.h), equal on every architecture.

export interface FilterInstruction {
  readonly code: number;
  readonly ifTrue?: number;
  readonly ifFalse?: number;
  readonly value: number;
}

/**
 * Instruction codes. A is the accumulator, X the index register. Offsets count from the transport header, on
 * raw IPv4 sockets from the IP header.
 */
export const BPF = {
  LOAD_LENGTH: 0x80,
  /** A = big-endian word or half-word at an offset. */
  LOAD_WORD: 0x20,
  LOAD_HALF: 0x28,
  /** X = length of the IPv4 header at an offset. */
  IP_HEADER_TO_X: 0xb1,
  /** A = half-word at X plus an offset. */
  LOAD_HALF_BEHIND_X: 0x48,
  ADD: 0x04,
  A_TO_X: 0x07,
  JUMP_IF_EQUAL: 0x15,
  JUMP_IF_GREATER: 0x25,
  JUMP_IF_AT_LEAST: 0x35,
  JUMP_IF_EQUALS_X: 0x1d,
  /** Passes this many bytes of the packet; 0 drops it. */
  RETURN: 0x06,
} as const;

const INSTRUCTION_BYTES = 8;

export function filterProgram(instructions: readonly FilterInstruction[]): Uint8Array {
  const bytes = new Uint8Array(instructions.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [i, { code, ifTrue = 0, ifFalse = 0, value }] of instructions.entries()) {
    const at = i * INSTRUCTION_BYTES;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, ifTrue);
    view.setUint8(at + 3, ifFalse);
    view.setUint32(at + 4, value >>> 0, true);
  }
  return bytes;
}
