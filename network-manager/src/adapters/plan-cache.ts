import { codeOf } from "@isochrone/primitives";
import { open, rename, writeFile } from "node:fs/promises";
import type { PlanCache } from "../ports/ports.ts";

/** Bytes of a cached plan that are read at most: of 5,000 flows with the longest names. */
const MAX_BYTES = 16_777_216;

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
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new Error(`${path} must have at most ${MAX_BYTES} bytes, has ${size}`);
    return await file.readFile("utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}
