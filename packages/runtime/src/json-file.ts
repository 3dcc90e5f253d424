import { open, rename, writeFile } from "node:fs/promises";
import { codeOf } from "@isochrone/primitives";

export interface JsonFile {
  /** Null without a file. As untrusted as network input. Rejects for too many bytes or invalid JSON. */
  read(): Promise<unknown>;
  write(value: unknown): Promise<void>;
}

export function jsonFile(path: string | null, maxBytes: number): JsonFile {
  if (path === null) return { read: async () => null, write: async () => {} };
  return {
    async read(): Promise<unknown> {
      const text = await readText(path, maxBytes);
      return text === null ? null : JSON.parse(text);
    },
    async write(value): Promise<void> {
      // A crash in between leaves the old file intact.
      const temporary = `${path}.tmp`;
      await writeFile(temporary, JSON.stringify(value), { mode: 0o600 });
      await rename(temporary, path);
    },
  };
}

async function readText(path: string, maxBytes: number): Promise<string | null> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    if (size > maxBytes) throw new Error(`${path} must have at most ${maxBytes} bytes, has ${size}`);
    return await file.readFile("utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}
