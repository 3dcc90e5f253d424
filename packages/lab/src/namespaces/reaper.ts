import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { NamespaceError } from "./errors.ts";
import { labOf, startTicksOf, type Owner } from "./names.ts";

const SCRIPT = fileURLToPath(new URL("reaper.sh", import.meta.url));
export const NAMESPACE_FOLDER = "/run/netns";

/**
 * Process that removes a lab's namespaces on request, or when the lab's process ends in any way, even
 * SIGKILL: it waits for the end of a pipe.
 */
export class Reaper {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;

  constructor(prefixes: readonly string[]) {
    // Detached, so that a terminal's Ctrl-C doesn't reach it.
    this.#child = spawn("sh", [SCRIPT, ...prefixes], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#exited = once(this.#child, "exit");
    this.#exited.catch(() => undefined);
    this.#child.stdin?.on("error", () => undefined);
    // It ends with this process and must not keep it alive.
    this.#child.unref();
    (this.#child.stdin as Socket | null)?.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async remove(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    const [code] = await this.#exited;
    if (code === 0) return;
    throw new NamespaceError("command_failed", `namespaces could not be removed (exit code ${String(code)})`);
  }
}

export async function ownerOfThisProcess(): Promise<Owner> {
  const startTicks = startTicksOf(await readFile("/proc/self/stat", "utf8"));
  return { pid: process.pid, startTicks: startTicks ?? 0 };
}

/** Removes namespaces of dead processes whose reapers were killed too. Returns their prefixes. */
export async function sweepDeadLabs(): Promise<readonly string[]> {
  const names = await readdir(NAMESPACE_FOLDER).catch(() => []);
  const labs = new Map(
    names.flatMap((name) => labOf(name) ?? []).map(({ prefix, owner }) => [prefix, owner]),
  );
  const dead: string[] = [];
  for (const [prefix, owner] of labs) if (!(await isAlive(owner))) dead.push(prefix);
  if (dead.length > 0) await new Reaper(dead).remove();
  return dead;
}

async function isAlive({ pid, startTicks }: Owner): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return stat !== null && startTicksOf(stat) === startTicks;
}
