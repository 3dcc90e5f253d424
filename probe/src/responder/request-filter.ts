import { BPF, type FilterInstruction } from "@isochrone/kernel-sockets";
import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "../domain/packet.ts";

/** The filter sees the UDP header first. */
const UDP_HEADER_BYTES = 8;
/** "ISRR"; then version 1 and type 1 (request); then no flags and the reserved zero. See domain/packet.ts. */
const MAGIC = 0x49535252;
const VERSION_AND_TYPE = 0x0101;
const FLAGS_AND_RESERVED = 0;
const AT = { magic: 0, version: 4, flags: 8, length: 10 } as const;

/** Passes packets formed like UDP requests. The kernel drops others cheaply, before they take queue space. */
export const REQUEST_FILTER: readonly FilterInstruction[] = [
  { code: BPF.LOAD_LENGTH, value: 0 },
  { code: BPF.JUMP_IF_AT_LEAST, ifFalse: 12, value: UDP_HEADER_BYTES + MIN_PACKET_BYTES },
  { code: BPF.JUMP_IF_GREATER, ifTrue: 11, value: UDP_HEADER_BYTES + MAX_PACKET_BYTES },
  { code: BPF.LOAD_WORD, value: UDP_HEADER_BYTES + AT.magic },
  { code: BPF.JUMP_IF_EQUAL, ifFalse: 9, value: MAGIC },
  { code: BPF.LOAD_HALF, value: UDP_HEADER_BYTES + AT.version },
  { code: BPF.JUMP_IF_EQUAL, ifFalse: 7, value: VERSION_AND_TYPE },
  { code: BPF.LOAD_HALF, value: UDP_HEADER_BYTES + AT.flags },
  { code: BPF.JUMP_IF_EQUAL, ifFalse: 5, value: FLAGS_AND_RESERVED },
  { code: BPF.LOAD_HALF, value: UDP_HEADER_BYTES + AT.length },
  { code: BPF.ADD, value: UDP_HEADER_BYTES },
  { code: BPF.A_TO_X, value: 0 },
  { code: BPF.LOAD_LENGTH, value: 0 },
  { code: BPF.JUMP_IF_EQUALS_X, ifFalse: 0, ifTrue: 1, value: 0 },
  { code: BPF.RETURN, value: 0 },
  { code: BPF.RETURN, value: 0xffff },
];

/** Offset of the nonce's last four bytes; steering programs see the payload first. */
const MARK_AT = 20;
/** Maximum flows per program: each costs every packet a comparison, about a nanosecond. */
export const MAX_STEERED_FLOWS = 512;

/** Program that steers these flows to a port's second socket, and all others to the first. */
export function steeringProgram(marks: readonly number[]): FilterInstruction[] {
  return [
    { code: BPF.LOAD_WORD, value: MARK_AT },
    ...marks.flatMap((mark) => [
      { code: BPF.JUMP_IF_EQUAL, ifFalse: 1, value: mark },
      { code: BPF.RETURN, value: 1 },
    ]),
    { code: BPF.RETURN, value: 0 },
  ];
}
