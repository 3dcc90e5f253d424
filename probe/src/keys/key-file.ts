import { open } from "node:fs/promises";

/** Bytes of a key file: room for far more keys than are taken. */
const MAX_BYTES = 65_536;

/**
 * Reads a file of keys whole. The path is followed anew each time: Kubernetes replaces a projected Secret by
 * changing a symbolic link above it, which no watch of the file itself would see. Rejects with the system's
 * error, or one that names the file and its size.
 */
export async function readKeyFile(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) throw new RangeError(`${path} must have at most ${MAX_BYTES} bytes, has ${size}`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
