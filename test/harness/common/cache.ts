// Creates large test dependencies once and keeps them in the user's cache by name and version.
import { codeOf } from "@isochrone/primitives";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const LOCK_POLL_MS = 200;
const PARTIAL = ".partial";

export function cachePath(name: string): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "isochrone", name);
}

/** One process creates the path while others wait; it appears atomically. `make` gets an unused path. */
export async function makeOnce(path: string, make: (partial: string) => Promise<void>): Promise<void> {
  if (existsSync(path)) return;
  await mkdir(dirname(path), { recursive: true });
  await withLock(path, async () => {
    if (existsSync(path)) return;
    await removePartials(path);
    // Unique per process, because programs of an interrupted run may still write to theirs.
    const partial = `${path}.${process.pid}${PARTIAL}`;
    await make(partial);
    await rename(partial, path);
  });
}

async function removePartials(path: string): Promise<void> {
  const begin = `${basename(path)}.`;
  const names = (await readdir(dirname(path))).filter(
    (name) => name.startsWith(begin) && name.includes(PARTIAL),
  );
  for (const name of names) await rm(join(dirname(path), name), { recursive: true, force: true });
}

/** Locks with an abstract-namespace socket, which the kernel releases whenever the holder ends. */
async function withLock(path: string, run: () => Promise<void>): Promise<void> {
  const name = `\0isochrone-${createHash("sha256").update(path).digest("hex").slice(0, 32)}`;
  let holder = await tryToHold(name);
  while (holder === null) {
    await sleep(LOCK_POLL_MS);
    holder = await tryToHold(name);
  }
  try {
    await run();
  } finally {
    holder.close();
  }
}

async function tryToHold(name: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen(name);
    await once(server, "listening");
    return server;
  } catch (error) {
    if (codeOf(error) === "EADDRINUSE") return null;
    throw error;
  }
}
