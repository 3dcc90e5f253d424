import { MemoryKeyStore, RecordKeys } from "@isochrone/aggregator/testing";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";

export const MESH_SPEAKER = "mesh";

/** The same secret in every process, so that one seals and another verifies. */
export function benchRandomBytes(count: number): Uint8Array {
  return Buffer.alloc(count, 1);
}

/** Keys that have been read and never change. */
export async function benchRecordKeys(): Promise<RecordKeys> {
  const keys = new RecordKeys({
    store: new MemoryKeyStore(),
    leadership: { isLeader: () => true },
    clock: new ManualClock(),
    logger: new MemoryLogger(),
    randomBytes: benchRandomBytes,
    rotationMs: 0,
    overlapMs: 60_000,
    checkMs: 60_000,
  });
  await keys.start();
  return keys;
}
