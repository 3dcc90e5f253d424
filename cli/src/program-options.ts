import { Option } from "commander";
import type { Command } from "commander";
import { dnsLabel, duration, httpUrl, LONGEST_MS, readableFile } from "./options.ts";
import { FORMATS } from "./output/format.ts";

export type { Print } from "./output/show.ts";

export const DEFAULT_SERVER = "http://127.0.0.1:8080";
export const DEFAULT_LAB = "http://127.0.0.1:8082";
/** Each refresh requests whole graphs. */
const LEAST_WATCH_MS = 1_000;

export const output = (...more: readonly string[]): Option =>
  new Option("-o, --output <format>", "output format").choices([...FORMATS, ...more]).default("table");
export const watch = (): Option =>
  duration(
    "--watch [interval]",
    "refresh at this interval, 2s if none is given; redraws a table, prints other formats again",
    LEAST_WATCH_MS,
    LONGEST_MS,
  ).preset("2s");
export const server = (): Option =>
  new Option("--server <url>", "address of the graph API")
    .argParser(httpUrl)
    .default(DEFAULT_SERVER)
    .env("ISOCHRONE_SERVER");
export const tokenFile = (): Option =>
  new Option("--token-file <file>", "bearer token for the graph API")
    .argParser(readableFile)
    .env("ISOCHRONE_TOKEN_FILE");
export const caFile = (): Option =>
  new Option("--ca-file <file>", "CA certificates (PEM) of the graph API")
    .argParser(readableFile)
    .env("ISOCHRONE_CA_FILE");
export const lab = (): Option =>
  new Option("--lab <url>", "address of the emulator's controls")
    .argParser(httpUrl)
    .default(DEFAULT_LAB)
    .env("ISOCHRONE_LAB");
export const kubeconfig = (
  description = "the cluster (default: $KUBECONFIG, the pod's own, ~/.kube/config)",
): Option => new Option("--kubeconfig <file>", description).argParser(readableFile);
export const context = (): Option =>
  new Option("--context <name>", "context of the kubeconfig (default: its current one)");

export const namespace = (description: string): Option =>
  new Option("-n, --namespace <name>", description).argParser(dnsLabel);
export const systemNamespace = (description: string): Option =>
  new Option("--system-namespace <name>", description).argParser(dnsLabel).default("isochrone");

/** Example lines for the help; `%` is the command's name, which differs in a kubectl plugin. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText("after", ({ command: shown }) => {
    const name = rootOf(shown).name();
    const title = lines.length === 1 ? "Example" : "Examples";
    return [`\n${title}:`, ...lines.map((line) => `  ${line.replaceAll("%", name)}`)].join("\n");
  });
}

function rootOf(command: Command): Command {
  let root = command;
  while (root.parent !== null) root = root.parent;
  return root;
}

/** Throws if there is no such command: a programming error. */
export function commandOf(program: Command, ...words: readonly string[]): Command {
  return words.reduce((command, word) => {
    const found = command.commands.find((each) => each.name() === word);
    if (found === undefined) throw new Error(`${command.name()} must have a command ${word}`);
    return found;
  }, program);
}
