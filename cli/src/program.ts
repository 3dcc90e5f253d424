// The command line: what can be said, its help, and which function does it.
import { Command, Option } from "commander";
import {
  assignments,
  bitsPerSecond,
  durationMs,
  httpUrl,
  positiveNumber,
  ratio,
  wholeNumber,
} from "./options.ts";

// Each command's code is loaded when it is called: offline scoring needs no web server, and help needs nothing.

const DEFAULT_SERVER = "http://127.0.0.1:8080";
const DEFAULT_LAB = "http://127.0.0.1:8082";

export type Print = (text: string) => void;

const output = (): Option =>
  new Option("-o, --output <format>", "how to print").choices(["table", "json"]).default("table");
const server = (): Option =>
  new Option("--server <url>", "where the graph API is")
    .argParser(httpUrl)
    .default(DEFAULT_SERVER)
    .env("ISOCHRONE_SERVER");
const lab = (): Option =>
  new Option("--lab <url>", "where the emulator's controls are")
    .argParser(httpUrl)
    .default(DEFAULT_LAB)
    .env("ISOCHRONE_LAB");

/** The whole command; `print` writes a line to standard output. */
export function createProgram(print: Print): Command {
  const program = new Command("isochrone")
    .description(
      "Makes a Kubernetes cluster aware of its own network: measures it, draws it, and places pods by it.",
    )
    .version("0.1.0")
    .showHelpAfterError("(isochrone --help lists what can be said)");
  addUp(program, print);
  addGraph(program, print);
  addLab(program, print);
  addScore(program, print);
  return program;
}

function addUp(program: Command, print: Print): void {
  program
    .command("up")
    .description("run an embedded cluster with all services on this machine, until Ctrl-C")
    .option(
      "--port <number>",
      "port of page and graph API; the extender gets the next one, the emulator's controls the one after; 0 = any",
      wholeNumber(0, 65_533),
      8080,
    )
    .option("--nodes <number>", "how many nodes", wholeNumber(2, 16), 8)
    .option(
      "--matrix <file>",
      "round-trip times in ms, n x n, whitespace-separated, instead of the built-in excerpt",
    )
    .option("--manifest <file>", "Deployments of the workflow, instead of the sample of 17 services")
    .option("--rate <number>", "requests per second to the workflow's entry", positiveNumber, 5)
    .option("--window <duration>", "window of the graphs", durationMs, 30_000)
    .option("--seed <number>", "seed of everything random", wholeNumber(0, 2 ** 31), 1)
    .addOption(
      new Option("--placement <how>", "how pods are placed at first: by score, or spread over all regions")
        .choices(["score", "spread"])
        .default("score"),
    )
    .option("--no-replace", "leave the first placement as it is")
    .addOption(output())
    .addHelpText(
      "after",
      "\nExamples:\n  isochrone up\n  isochrone up --placement spread --rate 10\n  isochrone up --manifest my-workflow.yaml --port 9000",
    )
    .action(async (options) => (await import("./commands/up.ts")).upCommand(options, print));
}

function addGraph(program: Command, print: Print): void {
  program
    .command("graph")
    .description("print the cluster graph and the workflows")
    .addOption(server())
    .option("--workflow <namespace/name>", "only this workflow")
    .addOption(output())
    .action(async (options) => (await import("./commands/graph.ts")).graphCommand(options, print));
  program
    .command("explain")
    .description("say why a pod is where it is")
    .argument("<pod>", "name of the pod, or of its workload")
    .option("-n, --namespace <name>", "its namespace", "default")
    .addOption(server())
    .addOption(output())
    .action(async (pod: string, options) =>
      (await import("./commands/explain.ts")).explainCommand(pod, options, print),
    );
}

function addLab(program: Command, print: Print): void {
  const group = program.command("lab").description("the emulated network of a running `isochrone up`");
  group
    .command("link")
    .description("change what the emulator does to the packets between two nodes, both ways unless --one-way")
    .argument("<a>", "node")
    .argument("<b>", "node")
    .option("--delay <duration>", "round-trip time", durationMs)
    .option("--jitter <duration>", "spread around it", durationMs)
    .option("--loss <ratio>", "share of round trips lost, 0.01 or 1%", ratio)
    .option("--bandwidth <rate>", "bits per second each way, e.g. 100M", bitsPerSecond)
    .option("--cut", "let nothing through")
    .option("--heal", "end a cut")
    .option("--one-way", "only what <a> initiates")
    .addOption(lab())
    .addOption(output())
    .action(async (a: string, b: string, options) =>
      (await import("./commands/lab.ts")).labLinkCommand(a, b, options, print),
    );
  group
    .command("matrix")
    .description("print the emulator's truth, round-trip times in ms")
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labMatrixCommand(options, print));
  group
    .command("record")
    .description("print what the emulator did to the packets that passed")
    .option("--last <duration>", "how far back", durationMs, 30_000)
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labRecordCommand(options, print));
}

function addScore(program: Command, print: Print): void {
  program
    .command("score")
    .description("score the nodes of a cluster's dump for a pod, offline")
    .requiredOption(
      "--cluster <file>",
      "a Kubernetes List or several documents, YAML or JSON: nodes, pods, deployments, ...",
    )
    .requiredOption("--pod <file or namespace/name>", "a pod's manifest, or the name of a pod in the dump")
    .option("--strategy <name>", "strategy", "resource-network")
    .option("--mode <mode>", "how parts are combined: raw or normalized", "normalized")
    .option("--set <name=number,...>", "parameters of the strategy, e.g. alpha=0.3,gamma=0.7", assignments)
    .option(
      "--prefix <prefix>",
      'prefix of the annotations; "" for bare names only (default: isochrone.dev/, and bare names where that is missing)',
    )
    .addOption(output())
    .addHelpText(
      "after",
      "\nExample:\n  kubectl get nodes,pods,deployments,replicasets -A -o yaml > dump.yaml\n  isochrone score --cluster dump.yaml --pod default/cart-7c9f -o json",
    )
    .action(async (options) => (await import("./commands/score.ts")).scoreCommand(options, print));
}
