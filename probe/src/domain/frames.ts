import { MAX_PACKET_BYTES, MIN_PACKET_BYTES } from "./packet.ts";

export const FRAME_HEAD_BYTES = 2;

/** Splits a stream into packets. Buffers at most one incomplete packet. */
export class FrameReader {
  readonly #pending = Buffer.alloc(FRAME_HEAD_BYTES + MAX_PACKET_BYTES);
  #length = 0;

  /** Calls `onPacket` per packet; its buffer is valid during the call. False: not our stream, close it. */
  push(chunk: Uint8Array, onPacket: (packet: Buffer) => void): boolean {
    let at = 0;
    while (at < chunk.length) {
      const wanted = this.#wanted();
      if (wanted === null) return false;
      const take = Math.min(wanted - this.#length, chunk.length - at);
      this.#pending.set(chunk.subarray(at, at + take), this.#length);
      this.#length += take;
      at += take;
      if (!this.#emit(onPacket)) return false;
    }
    return true;
  }

  #wanted(): number | null {
    if (this.#length < FRAME_HEAD_BYTES) return FRAME_HEAD_BYTES;
    const packetBytes = this.#pending.readUInt16BE(0);
    return packetBytes < MIN_PACKET_BYTES || packetBytes > MAX_PACKET_BYTES
      ? null
      : FRAME_HEAD_BYTES + packetBytes;
  }

  #emit(onPacket: (packet: Buffer) => void): boolean {
    const wanted = this.#wanted();
    if (wanted === null) return false;
    if (this.#length < FRAME_HEAD_BYTES || this.#length < wanted || wanted === FRAME_HEAD_BYTES) return true;
    this.#length = 0;
    onPacket(this.#pending.subarray(FRAME_HEAD_BYTES, wanted));
    return true;
  }
}

/** A buffer for `packetBytes` with its length prefix; write the packet behind the prefix. */
export function createFrame(packetBytes: number): { readonly frame: Buffer; readonly packet: Buffer } {
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + packetBytes);
  frame.writeUInt16BE(packetBytes, 0);
  return { frame, packet: frame.subarray(FRAME_HEAD_BYTES) };
}
