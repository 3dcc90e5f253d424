import { open } from "node:fs/promises";

const MAX_BYTES = 65_536;

/**
 * Reads a key file. Resolves the path each time: Kubernetes replaces a projected Secret by changing a parent
 * symbolic link, which a watch of the file would miss. Rejects with the system's error, or one naming the
 * file and its size.
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
