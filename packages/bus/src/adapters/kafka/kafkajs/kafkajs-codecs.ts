import { zstdCompressSync } from "node:zlib";

import { lz4Compress } from "@platformatic/wasm-utils";
import type kafkajs from "kafkajs";

interface Encoder {
  readonly buffer: Buffer;
}

/** Registers codecs that kafkajs lacks. Compression only; `unpack` decompresses. */
export function registerCodecs({ CompressionCodecs, CompressionTypes }: typeof kafkajs): void {
  const unused = async (): Promise<never> => await Promise.reject(new Error("batches are not unpacked here"));
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: async ({ buffer }: Encoder) => lz4Compress(buffer),
    decompress: unused,
  });
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: Encoder) => zstdCompressSync(buffer),
    decompress: unused,
  });
}
