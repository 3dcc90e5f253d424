import { execFile, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";

interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
}

/** Runs a program and returns its output. Rejects with the last lines of the output. */
export function run(
  command: string,
  args: readonly string[],
  { cwd, env, timeoutMs }: CommandOptions,
): Promise<string> {
  const settings = {
    cwd: cwd ?? tmpdir(),
    env: env ?? process.env,
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve, reject) => {
    execFile(command, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = `${stdout}\n${stderr}`.trim().split("\n").slice(-20).join("\n");
      const end = error.killed === true ? `didn't end within ${timeoutMs} ms` : "failed";
      return reject(new Error(`${command} ${args[0] ?? ""} ${end}: ${said || error.message}`));
    });
  });
}

/** Returns a program's version output from either stream. Returns null if the program does not exist. */
export function versionOf(command: string, ...args: readonly string[]): string | null {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: 60_000 });
  return status === 0 ? `${stdout}${stderr}` : null;
}
