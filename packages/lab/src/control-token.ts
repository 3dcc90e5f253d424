// Access to the emulated network for programs of the user that started it: token and page address are in a
// file that only this user can read.
import { CodedError, isLoopback } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

const TOKEN_BYTES = 32;

export function newControlToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

interface StoredToken {
  readonly file: string;
  /** Only if the file still holds this token: a later lab may use the port. */
  remove(): Promise<void>;
}

export interface RunningLab {
  readonly page: string;
  /** Address of the emulator's controls; null if it has none. */
  readonly lab: string | null;
}

/**
 * Writes the token to the user's runtime folder, else to the state folder. Throws CodedError
 * `token_not_stored` if neither is writable.
 * @param page URL of the lab's page; null without one
 */
export async function storeControlToken(
  port: number,
  token: string,
  env: Env,
  page: string | null = null,
): Promise<StoredToken> {
  return store(fileName(port), token, env, page);
}

/**
 * Writes the address of an embedded cluster whose emulator has no controls, so that commands of this user
 * find it. Throws CodedError `token_not_stored` where no folder can be written.
 */
export async function storePage(page: string, env: Env): Promise<StoredToken> {
  return store(`page-${portOf(page)}.demo`, newControlToken(), env, page);
}

async function store(name: string, token: string, env: Env, page: string | null): Promise<StoredToken> {
  const failures: string[] = [];
  for (const folder of foldersOf(env)) {
    const file = join(folder, name);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // An earlier lab's file may be readable for others.
      await rm(file, { force: true });
      await writeFile(file, `${token}\n${page === null ? "" : `${page}\n`}`, { mode: 0o600, flag: "wx" });
      return {
        file,
        remove: async () => {
          if ((await linesOf(file))[0] === token) await rm(file, { force: true });
        },
      };
    } catch (error) {
      failures.push(`${file}: ${reasonOf(error)}`);
    }
  }
  throw new CodedError(
    "token_not_stored",
    `the token of the emulator's controls must be stored in a folder that this user can write to, got ${failures.join("; ")}`,
  );
}

/** Null if this user has no token for that address, or for addresses of other machines. */
export async function readControlToken(url: string, env: Env): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url);
  if (!isLoopback(hostname.replaceAll(/^\[|\]$/g, ""))) return null;
  const number = Number(port === "" ? (protocol === "https:" ? 443 : 80) : port);
  for (const folder of foldersOf(env)) {
    const [token] = await linesOf(join(folder, fileName(number)));
    if (token) return token;
  }
  return null;
}

export async function listLabs(env: Env): Promise<RunningLab[]> {
  const found = new Map<string, RunningLab>();
  for (const folder of foldersOf(env))
    for (const name of await readdir(folder).catch(() => [])) {
      const match = /^(?:lab-(\d{1,5})\.token|page-\d{1,5}\.demo)$/.exec(name);
      if (match === null || found.has(name)) continue;
      const [, port] = match;
      const [, page] = await linesOf(join(folder, name));
      if (page !== undefined && URL.canParse(page))
        found.set(name, { page, lab: port === undefined ? null : `http://127.0.0.1:${port}` });
    }
  return [...found.values()].sort((a, b) => portOf(a.page) - portOf(b.page));
}

function foldersOf(env: Env): string[] {
  const home = env["HOME"] ?? homedir();
  const folders = [env["XDG_RUNTIME_DIR"], env["XDG_STATE_HOME"], join(home, ".local", "state")];
  return folders
    .filter((folder) => folder !== undefined && isAbsolute(folder))
    .map((folder) => join(folder!, "isochrone"));
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function fileName(port: number): string {
  return `lab-${port}.token`;
}

async function linesOf(file: string): Promise<string[]> {
  try {
    return (await readFile(file, "utf8")).trim().split("\n");
  } catch {
    return [];
  }
}
