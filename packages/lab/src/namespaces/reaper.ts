import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { NamespaceError } from "./errors.ts";
import { labOf, startTicksOf, type Owner } from "./names.ts";

const SCRIPT = fileURLToPath(new URL("reaper.sh", import.meta.url));
/** Where ip(8) keeps its names of namespaces. */
export const NAMESPACE_FOLDER = "/run/netns";

/**
 * Removes a lab's namespaces when it is told to, and by itself when the lab's process ends in any way,
 * SIGKILL included: it is a process of its own that waits for the end of a pipe.
 */
export class Reaper {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;

  /** `prefixes`: what the names of the namespaces begin with. */
  constructor(prefixes: readonly string[]) {
    // Detached: a Ctrl-C for the terminal's group of processes must not reach it.
    this.#child = spawn("sh", [SCRIPT, ...prefixes], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#exited = once(this.#child, "exit");
    // Read only by `remove`; until then nobody listens.
    this.#exited.catch(() => undefined);
    this.#child.stdin?.on("error", () => undefined);
    // It ends because this process ends; it must not keep it.
    this.#child.unref();
    (this.#child.stdin as Socket | null)?.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws NamespaceError `command_failed` when something is left */
  async remove(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    const [code] = await this.#exited;
    if (code === 0) return;
    throw new NamespaceError("command_failed", `namespaces could not be removed (exit code ${String(code)})`);
  }
}

/** This process, as it stands in the names of its labs. */
export async function ownerOfThisProcess(): Promise<Owner> {
  const startTicks = startTicksOf(await readFile("/proc/self/stat", "utf8"));
  return { pid: process.pid, startTicks: startTicks ?? 0 };
}

/**
 * Removes what labs of dead processes left, should even their reapers have been killed. Returns their
 * prefixes.
 */
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
