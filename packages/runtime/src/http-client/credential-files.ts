import { codeOf } from "@isochrone/primitives";
import { readFile } from "node:fs/promises";
import type { Clock } from "../clock.ts";
import { CredentialsError } from "../errors.ts";

export class WatchedFile {
  readonly #path: string;
  readonly #clock: Clock;
  #reading: Promise<string> | null = null;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Content, at most seconds old. Throws CredentialsError. */
  async content(): Promise<string> {
    const nowMs = this.#clock.monotonic();
    if (this.#reading === null || nowMs - this.#readMs >= READ_AGAIN_MS) {
      this.#readMs = nowMs;
      this.#reading = readFile(this.#path, "utf8");
    }
    try {
      return await this.#reading;
    } catch (error) {
      this.forget();
      const code = codeOf(error) ?? "unreadable";
      throw new CredentialsError(`${this.#path} must be a readable file (${code})`, error);
    }
  }

  forget(): void {
    this.#reading = null;
  }
}

/** The kubelet replaces a token at 80 % of its life, minutes before its end. */
const READ_AGAIN_MS = 5_000;
const TOKEN = /^[\x21-\x7e]+$/;

/** Throws CredentialsError unless there is exactly one token, without quoting it. */
export function tokenOf(content: string, path: string): string {
  const token = content.trim();
  if (!TOKEN.test(token)) throw new CredentialsError(`${path} must hold one bearer token and nothing else`);
  return token;
}
