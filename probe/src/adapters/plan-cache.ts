import { codeOf } from "@isochrone/primitives";
import { open, rename, writeFile } from "node:fs/promises";

/** Bytes of a cached plan that are read at most. */
const MAX_BYTES = 1_048_576;

/** The last accepted plan on disk, for a start while the aggregator is away. */
export interface PlanCache {
  /** Null when there is none. What it returns is as untrusted as an answer from the network. */
  read(): Promise<unknown>;
  write(plan: unknown): Promise<void>;
}

/** A file; null means no cache. */
export function createPlanCache(path: string | null): PlanCache {
  if (path === null) return { read: async () => null, write: async () => {} };
  return {
    async read(): Promise<unknown> {
      const text = await readBounded(path);
      return text === null ? null : JSON.parse(text);
    },
    async write(plan): Promise<void> {
      // A crash in between leaves the old file whole.
      const temporary = `${path}.tmp`;
      await writeFile(temporary, JSON.stringify(plan), { mode: 0o600 });
      await rename(temporary, path);
    },
  };
}

async function readBounded(path: string): Promise<string | null> {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} must have at most ${MAX_BYTES} bytes, has ${size}`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
