// Without an address, a command uses the servers on the default ports, else the user's only embedded cluster
// on other ports. It never uses another user's cluster and never chooses among several.
import { listLabs, type RunningLab } from "@isochrone/lab/client";
import type { Command } from "commander";
import { connect } from "node:net";
import { usageError } from "./errors.ts";
import { DEFAULT_LAB, DEFAULT_SERVER } from "./program-options.ts";

type Env = Readonly<Record<string, string | undefined>>;

const CONNECT_MS = 1_000;

/**
 * Sets a command's defaulted `--server` and `--lab`. Throws CommandError if several embedded clusters run and
 * none uses the default ports.
 * @param note reports the chosen cluster if it is not on the default ports
 */
export async function findDemo(command: Command, env: Env, note: (text: string) => void): Promise<void> {
  const isUnset = (option: "server" | "lab", address: string): boolean =>
    command.getOptionValueSource(option) === "default" && command.getOptionValue(option) === address;
  const noServer = isUnset("server", DEFAULT_SERVER);
  const noLab = isUnset("lab", DEFAULT_LAB);
  // A named cluster, or one given as a file, is not the embedded one.
  const isNamed = ["kubeconfig", "context", "cluster"].some(
    (option) => command.getOptionValue(option) !== undefined,
  );
  if (isNamed || (!noServer && !noLab)) return;
  const labs = await listLabs(env);
  const set = ({ page, lab }: RunningLab): void => {
    if (noServer) command.setOptionValue("server", page);
    if (noLab) command.setOptionValue("lab", lab ?? undefined);
  };
  const given = givenLab(command, labs);
  if (given !== undefined) return set(given);
  if (hasAddress(command)) {
    // Another cluster's emulator knows other pods.
    if (noLab && command.getOptionValue("server") !== undefined) command.setOptionValue("lab", undefined);
    return;
  }
  if (await answers(noServer ? DEFAULT_SERVER : DEFAULT_LAB)) return;
  // Emulator commands need a cluster with controls.
  const running = await runningOf(noServer ? labs : labs.filter(({ lab }) => lab !== null));
  if (running.length > 1) throw usageError(severalText(running, noServer));
  const [only] = running;
  if (only === undefined) return;
  set(only);
  note(`nothing listens on ${noServer ? DEFAULT_SERVER : DEFAULT_LAB}; asking the demo at ${only.page}`);
}

function hasAddress(command: Command): boolean {
  return ["server", "lab"].some((option) => {
    const source = command.getOptionValueSource(option);
    return source !== undefined && source !== "default";
  });
}

function givenLab(command: Command, labs: readonly RunningLab[]): RunningLab | undefined {
  if (!hasAddress(command)) return undefined;
  const isGiven = (option: "server" | "lab", address: string): boolean => {
    const value: unknown = command.getOptionValue(option);
    return command.getOptionValueSource(option) !== "default" && isSame(value, address);
  };
  return labs.find(({ page, lab }) => isGiven("server", page) || (lab !== null && isGiven("lab", lab)));
}

/** All loopback names are one machine. */
function isSame(value: unknown, address: string): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hostname, port } = new URL(value);
  const host = ["localhost", "[::1]"].includes(hostname) ? "127.0.0.1" : hostname;
  return `${protocol}//${host}:${port}` === address;
}

async function runningOf(labs: readonly RunningLab[]): Promise<RunningLab[]> {
  const live = await Promise.all(labs.map(({ page }) => answers(page)));
  return labs.filter((_, index) => live[index]);
}

function severalText(running: readonly RunningLab[], asksServer: boolean): string {
  const option = asksServer ? "--server" : "--lab";
  const addresses = running.flatMap(({ page, lab }) => (asksServer ? page : (lab ?? [])));
  return `${option} must name one of the embedded clusters that run, got none; give ${option} ${addresses.join(` or ${option} `)}`;
}

function answers(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: CONNECT_MS });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}
