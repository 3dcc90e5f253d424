import { codeOf, looseFields } from "@isochrone/primitives";
import { randomUUID } from "node:crypto";
import { link, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { KeyStoreError } from "../ports/errors.ts";
import type { HmacKeySet, KeyStore, StoredKeys } from "../ports/ports.ts";
import { readKeys, writeKeyLines, writeKeyState } from "./key-text.ts";

const MAX_BYTES = 65_536;
/** Revision of a key file written elsewhere. Our revisions start at 1. */
const FOREIGN = 0;

/**
 * Keys in the file that probes read, for clusters on one machine. Further state is in
 * `<file>.state.<revision>`. Writing a revision creates a file that must not exist, which only one of several
 * writers can do. The state is written before the probes' file, so a crash loses nothing. All files are
 * written aside and renamed; only the owner can read them.
 */
export class FileKeyStore implements KeyStore {
  readonly #path: string;
  readonly #statePrefix: string;
  #isProjected = false;

  constructor(path: string) {
    this.#path = path;
    this.#statePrefix = `${basename(path)}.state.`;
  }

  async read(): Promise<StoredKeys> {
    for (;;) {
      const revision = await this.#newest();
      if (revision === FOREIGN) return this.#readForeign();
      const text = await readBounded(this.#statePath(revision));
      // Removed in between, so a newer revision exists.
      if (text === null) continue;
      const set = readState(text, this.#statePath(revision));
      // A crash may have left the probes' file outdated.
      if (!this.#isProjected) await this.#project();
      return { set, revision: String(revision) };
    }
  }

  async write(set: HmacKeySet, revision: string | null): Promise<string> {
    const next = Number(revision ?? FOREIGN) + 1;
    const temporary = await this.#writeTemporary(
      JSON.stringify({ state: writeKeyState(set), lines: writeKeyLines(set) }),
    );
    try {
      await link(temporary, this.#statePath(next));
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw this.#conflict(next, error);
      throw error;
    } finally {
      await unlink(temporary);
    }
    // A newer revision may have replaced and removed ours before it was created.
    if ((await this.#newest()) > next) {
      await removeIfThere(this.#statePath(next));
      throw this.#conflict(next);
    }
    await this.#project();
    for (const old of await this.#revisions()) if (old < next) await removeIfThere(this.#statePath(old));
    return String(next);
  }

  /** Updates the probes' file to the newest state, even if that changes meanwhile. */
  async #project(): Promise<void> {
    for (let done = -1, newest = await this.#newest(); done !== newest; newest = await this.#newest()) {
      done = newest;
      const text = await readBounded(this.#statePath(newest));
      if (text === null) continue;
      const lines = writeKeyLines(readState(text, this.#statePath(newest)));
      if (lines === (await readBounded(this.#path))) continue;
      await rename(await this.#writeTemporary(lines), this.#path);
    }
    this.#isProjected = true;
  }

  async #readForeign(): Promise<StoredKeys> {
    const lines = await readBounded(this.#path);
    if (lines === null) return { set: null, revision: null };
    return { set: readKeys(lines, null, `file ${this.#path}`), revision: String(FOREIGN) };
  }

  async #newest(): Promise<number> {
    return Math.max(FOREIGN, ...(await this.#revisions()));
  }

  async #revisions(): Promise<number[]> {
    const names = await readdir(dirname(this.#path));
    return names
      .filter((name) => name.startsWith(this.#statePrefix))
      .map((name) => Number(name.slice(this.#statePrefix.length)))
      .filter((revision) => Number.isSafeInteger(revision) && revision > FOREIGN);
  }

  #statePath(revision: number): string {
    return join(dirname(this.#path), `${this.#statePrefix}${revision}`);
  }

  async #writeTemporary(text: string): Promise<string> {
    // Not the process id: containers that share the folder may have the same.
    const path = `${this.#path}.tmp-${randomUUID()}`;
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    return path;
  }

  #conflict(revision: number, cause?: unknown): KeyStoreError {
    return new KeyStoreError(
      "key_store_conflict",
      `keys of file ${this.#path} have been changed: there is a revision ${revision} already`,
      cause,
    );
  }
}

function readState(text: string, path: string): HmacKeySet {
  const subject = `file ${path}`;
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    // Hides the parser's message, which quotes the text.
  }
  const { state, lines } = looseFields<Record<"state" | "lines", unknown>>(parts);
  if (typeof state !== "string" || typeof lines !== "string")
    throw new KeyStoreError("key_store_invalid", `${subject} must be JSON with state and lines`);
  const set = readKeys(lines, state, subject);
  if (set === null) throw new KeyStoreError("key_store_invalid", `${subject} must have at least one key`);
  return set;
}

async function readBounded(path: string): Promise<string | null> {
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) {
      throw new KeyStoreError(
        "key_store_invalid",
        `file ${path} must have at most ${MAX_BYTES} bytes, got ${size}`,
      );
    }
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}
