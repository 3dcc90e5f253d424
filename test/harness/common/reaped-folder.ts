import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MARK = "ISOCHRONE_TEST_FOLDER";
const REAPER = join(import.meta.dirname, "reaper.ts");

/** A temporary folder with its processes. Both go on removal and when this process ends, even by SIGKILL. */
export class ReapedFolder {
  readonly path: string;
  readonly #reaper: ChildProcess;
  #removing: Promise<void> | null = null;

  constructor(prefix: string) {
    this.path = mkdtempSync(join(tmpdir(), `${prefix}-`));
    // Detached, so that a terminal's Ctrl-C does not reach it.
    this.#reaper = spawn(process.execPath, [REAPER, MARK, this.path], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#reaper.stdin?.on("error", () => undefined);
    this.#reaper.unref();
    (this.#reaper.stdin as Socket | null)?.unref();
  }

  /** Environment for the folder's processes. The reaper finds them by it. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, [MARK]: this.path };
  }

  remove(): Promise<void> {
    this.#removing ??= this.#remove();
    return this.#removing;
  }

  async #remove(): Promise<void> {
    this.#reaper.ref();
    const exited = this.#reaper.exitCode === null ? once(this.#reaper, "exit") : null;
    this.#reaper.stdin?.end();
    await exited;
    if (existsSync(this.path))
      throw new Error(`${this.path} is still there: its reaper ended with ${this.#reaper.exitCode}`);
  }
}
